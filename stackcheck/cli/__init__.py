"""The command line: which command, then only that command's module.

Start-up is a feature: the parser of one command is built, the modules of the others are never imported.
"""

from __future__ import annotations

import gc
import sys

from stackcheck.cli import streams
from stackcheck.cli.registry import COMMANDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def entry() -> None:
    """Run as a console script.

    Cyclic garbage is not collected: a command makes some hundred thousand small values that live to its end, and looking through
    them again and again cost a seventh of a resolve. The TUI, which lives long, turns collection on again.
    """
    gc.disable()
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit code; never raises for bad input."""
    return streams.guarded(lambda: _dispatch(list(argv)))


def _dispatch(argv: list[str]) -> int:
    from stackcheck.cli.parser import parser_for, top_parser

    name = next((a for a in argv if not a.startswith("-")), None)
    command = next((c for c in COMMANDS if c.name == name), None)
    if command is None or argv[0] != name:
        top_parser(COMMANDS).parse_known(argv)  # prints help or version, or exits 2
        from stackcheck.cli.hints import unknown_command  # after that: help needs none of it

        raise unknown_command(argv, [c.name for c in COMMANDS])
    options = parser_for(command).parse(argv[1:])
    return command.load().run(options)
