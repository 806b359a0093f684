"""All exports, in the order in which help shows them."""

from __future__ import annotations

import difflib

from stackcheck.export.constraints import Constraints
from stackcheck.export.dockerfile import Dockerfile
from stackcheck.export.interface import Exporter
from stackcheck.export.lock import Lock
from stackcheck.model.errors import UsageError
from stackcheck.model.stack import Stack

EXPORTERS: tuple[Exporter, ...] = (Lock(), Constraints(), Dockerfile())


def exporter(name: str) -> Exporter:
    """Return the export of that name.

    Raises:
        UsageError: there is none; the message names the nearest.
    """
    for known in EXPORTERS:
        if known.name == name:
            return known
    names = [known.name for known in EXPORTERS]
    near = difflib.get_close_matches(name, names, n=1) or names
    raise UsageError(f"no export {name[:40]!r}", fix=f"try {', '.join(near)}")


def export(name: str, stack: Stack) -> str:
    """Return a stack in the form of that name.

    Raises:
        UsageError: there is no such export, or the stack is a conflict: nothing half-true is ever written.
    """
    chosen = exporter(name)
    if not stack.solved:
        raise UsageError(
            f"no {name} can be written: there is no stack", fix="change a requirement as the conflict says"
        )
    return chosen.render(stack)
