"""Beginning to look at this machine, with what it needs and no more: a second process looks while the rest is imported."""

from __future__ import annotations

from stackcheck.model.errors import InputError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from stackcheck_probes.inventory import Collection


def begin(**options: Any) -> Collection:
    """Return a probe that has begun; the options are those of `stackcheck_probes.inventory.begin`.

    Raises:
        UsageError: a name is no probe.
        InputError: the root, the process or the file of variables cannot be read.
    """
    from stackcheck_probes.interface import HostError
    from stackcheck_probes.inventory import UnknownProbeError
    from stackcheck_probes.inventory import begin as begin_inventory

    try:
        return begin_inventory(**options)
    except UnknownProbeError as fault:
        raise UsageError(str(fault), fix="see `stackcheck probe --list`") from fault
    except HostError as fault:
        raise InputError(fault.reason, where=fault.subject, fix="check the path, or run it there") from fault
