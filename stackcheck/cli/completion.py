"""`stackcheck completion`: shell completion, made by shtab from the same parsers."""

from __future__ import annotations

import argparse

from stackcheck.cli import streams


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of completion."""
    parser.add_argument("shell", choices=["bash", "zsh", "tcsh"], help='eval "$(stackcheck completion bash)"')


def run(options: argparse.Namespace) -> int:
    """Print the completion script."""
    import shtab

    from stackcheck.cli.parser import whole_parser
    from stackcheck.cli.registry import COMMANDS

    streams.answer(shtab.complete(whole_parser(COMMANDS), shell=options.shell))
    return streams.OK
