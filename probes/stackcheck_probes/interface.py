"""What a probe is: a record, a function of a ``Look``, and nothing else.

To add a probe:

1. Write ``def name(look: Look) -> None`` in a module of ``stackcheck_probes.probes``. Read through
   ``look`` only (never ``open``, never ``subprocess``), and say every result through ``look``.
2. Say what was looked for and is not there (``look.looked_for``), and what could not be looked at
   (``look.note``): unknown must stay apart from absent.
3. Add one ``Probe`` record to the tuple in ``registry.py``.
4. If it needs a program, add it to the closed list in ``commands.py``.
5. Add a node tree or a changed file in ``tests/nodes`` and a test that says what must be found.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Callable, NamedTuple

if TYPE_CHECKING:
    from stackcheck_probes.ahead import Unit
    from stackcheck_probes.look import Look


class Probe(NamedTuple):
    """One probe: its name (for ``--only``), what it looks at, and how long it may take, in seconds.

    ``ahead`` gives pieces of its work that a second process may do meanwhile; the probe asks for their results with ``Shared.ahead``.
    """

    name: str
    title: str
    run: Callable[[Look], None]
    timeout: float = 3.0
    ahead: Callable[[Look], Iterable[Unit]] | None = None


class HostError(Exception):
    """A path or command could not be looked at; ``reason`` is fit for a note."""

    def __init__(self, subject: str, reason: str) -> None:
        super().__init__(f"{subject}: {reason}")
        self.subject = subject
        self.reason = reason


class AbsentError(HostError):
    """There is no such path, or no such command."""


class RefusedError(HostError):
    """It is there, but may not be read, is no regular file, or is larger than the limit."""
