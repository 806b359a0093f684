"""On-node probes: what is on this node, what would be loaded, what is silently slow. Standard library only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stackcheck_probes.capturing import capture
    from stackcheck_probes.inventory import collect

__all__ = ["capture", "collect"]


def __getattr__(name: str) -> Any:
    """Return ``collect`` or ``capture``, imported at first use so that importing the package costs nothing."""
    if name == "collect":
        from stackcheck_probes.inventory import collect

        return collect
    if name == "capture":
        from stackcheck_probes.capturing import capture

        return capture
    raise AttributeError(name)
