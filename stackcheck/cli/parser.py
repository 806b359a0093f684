"""Parsers: one for the list of commands, one per command, and the flags that several share."""

from __future__ import annotations

import argparse
import itertools

from stackcheck import __version__
from stackcheck.cli.registry import Command
from stackcheck.cli.streams import say
from stackcheck.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

EXIT_CODES = (
    "exit codes: 0 solved, or nothing at or above --fail-on; 1 findings, or no solution; "
    "2 wrong usage or unreadable input; 3 a fault of our own; 130 interrupted"
)


_LONGEST_MESSAGE = 400  # argparse repeats what it was given
_WIDTH = 80  # of help: what the narrowest usual terminal shows without cutting words


def fold(text: str) -> list[str]:
    """Return a text in lines that any terminal shows whole."""
    import textwrap

    return textwrap.wrap(text, _WIDTH - 2)


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line and exit 2."""

    def _get_formatter(self) -> argparse.HelpFormatter:
        # argparse asks the terminal for its width at every add_argument; a fixed width spares a tenth of the start-up
        raw = self.formatter_class is argparse.RawDescriptionHelpFormatter
        kind = argparse.RawDescriptionHelpFormatter if raw else argparse.HelpFormatter
        return kind(self.prog, width=_WIDTH)

    def parse(self, argv: Sequence[str]) -> argparse.Namespace:
        """Parse as `parse_args` does, and say of what is not recognised what it was meant to be."""
        options, rest = self.parse_known(argv)
        if rest:
            from stackcheck.cli.hints import unrecognised

            raise unrecognised(self._inner(options), rest)
        return options

    def parse_known(self, argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
        """Parse what is known, but refuse `--flag=--`: before Python 3.13 argparse makes an empty list of it."""
        for argument in itertools.takewhile(lambda a: a != "--", argv):
            if argument.startswith("--") and argument.endswith("=--"):
                self.error(f"argument {argument.removesuffix('=--')}: expected one argument")
        options, rest = self.parse_known_args(argv)
        return options, rest

    def _inner(self, options: argparse.Namespace) -> argparse.ArgumentParser:
        """Return the parser of the kind or action that was chosen, or this one if it has none."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - argparse has no other way
                chosen: argparse.ArgumentParser = action.choices.get(
                    str(getattr(options, action.dest, "")), self
                )
                return chosen
        return self

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """See `ArgumentParser.parse_known_args`; sub-parsers come here too.

        Raises:
            UsageError: a flag has an empty value, as an unset variable of somebody's script gives it; it is no flag left out.
        """
        options, rest = super().parse_known_args(args, namespace)
        for action in self._actions:
            if action.option_strings and action.default != "" and getattr(options, action.dest, None) == "":
                raise UsageError(
                    f"{action.option_strings[-1]} is empty", fix="give it a value, or leave it out"
                )
        return options, rest

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line and exit 2."""
        hint = ""
        if "invalid choice: " in message:
            from stackcheck.cli.hints import for_choice

            hint = for_choice(self, message)
        say(f"{message[:_LONGEST_MESSAGE]}; {hint or f'see `{self.prog} --help`'}")
        self.exit(2)


def top_parser(commands: Sequence[Command]) -> Parser:
    """Return the parser that knows the commands by name only."""
    parser = Parser(
        prog="stackcheck",
        description="Resolve, check and probe the software stack of GPU nodes.",
        epilog="\n".join(
            ["commands:", *(f"  {c.name:<12}{c.help}" for c in commands), "", *fold(EXIT_CODES)]
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="stackcheck COMMAND ...",
    )
    parser.add_argument("--version", action="version", version=f"stackcheck {__version__}")
    parser.add_argument("command", metavar="COMMAND")
    return parser


def parser_for(command: Command) -> Parser:
    """Return the parser of one command."""
    parser = Parser(
        prog=f"stackcheck {command.name}", description=f"{command.help[0].upper()}{command.help[1:]}."
    )
    parser.epilog = EXIT_CODES
    command.load().add_arguments(parser)
    return parser


def whole_parser(commands: Sequence[Command]) -> argparse.ArgumentParser:
    """Return one parser with a sub-parser per command, for shell completion."""
    parser = argparse.ArgumentParser(prog="stackcheck")
    parser.add_argument("--version", action="version", version=f"stackcheck {__version__}")
    groups = parser.add_subparsers(dest="command")
    for command in commands:
        command.load().add_arguments(groups.add_parser(command.name, help=command.help))
    return parser


def add_matrices(parser: argparse.ArgumentParser) -> None:
    """Add the flag that chooses the data."""
    parser.add_argument(
        "--matrices", metavar="DIR", help="an overlay over the shipped matrices, or a whole data set"
    )


def add_target(
    parser: argparse.ArgumentParser,
    *,
    lock: str = "keep what can stay of this lock; its GPU or instance type unless another is given",
) -> None:
    """Add the flags that describe the stack asked for; shared by resolve, why and graph. `lock` says what --lock does there."""
    parser.add_argument("--gpu", help="GPU model, e.g. b200 (see `stackcheck show gpu`)")
    parser.add_argument(
        "--instance", help="cloud instance type, e.g. p5en.48xlarge; implies GPU, CPU and fabric"
    )
    parser.add_argument(
        "--framework",
        action="append",
        default=[],
        metavar="NAME[SPEC]",
        help="what must run: torch, 'vllm>=0.30', verl[vllm] ...",
    )
    parser.add_argument(
        "--with",
        dest="wishes",
        action="append",
        default=[],
        metavar="COMPONENT[SPEC]",
        help="a further pin: 'cuda>=13', driver==580.95.05",
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="COMPONENT",
        help="a component that must not be there",
    )
    parser.add_argument(
        "--images",
        choices=["dlc", "ngc", "upstream", "any", "none"],
        default="any",
        help="image families to choose from",
    )
    parser.add_argument("--image", metavar="REF", help="this very image")
    parser.add_argument(
        "--host",
        metavar="FILE|auto",
        help="an inventory of the host, whose driver and kernel modules cannot change",
    )
    parser.add_argument("--python", metavar="V", help="Python minor, e.g. 3.12")
    parser.add_argument("--arch", choices=["x86_64", "aarch64"], help="CPU architecture")
    parser.add_argument(
        "--policy",
        choices=["newest", "tested", "stable"],
        default="newest",
        help="what to prefer (docs/solver.md)",
    )
    parser.add_argument("--lock", metavar="FILE", help=lock)
    add_matrices(parser)
