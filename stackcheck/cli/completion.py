"""`stackcheck completion`: shell completion, made by shtab from the same parsers.

Names of GPUs, instance types and components come from the matrices at hand when the script is made, files from the shell.
"""

from __future__ import annotations

import argparse

from stackcheck.cli import streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_FILES = ("FILE", "FILE|auto", "LOCK", "BEFORE", "AFTER")
_FOLDERS = ("DIR",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of completion."""
    parser.add_argument("shell", choices=["bash", "zsh", "tcsh"], help='eval "$(stackcheck completion bash)"')


def run(options: argparse.Namespace) -> int:
    """Print the completion script."""
    import shtab

    from stackcheck.catalog import open_catalog
    from stackcheck.cli.parser import whole_parser
    from stackcheck.cli.registry import COMMANDS

    catalog = open_catalog()
    names = {"gpu": catalog.gpu_ids, "instance": catalog.instance_ids, "component": catalog.component_ids}
    parser = whole_parser(COMMANDS)
    for owner, action in _actions(parser):
        _tell(action, owner, names, files=shtab.FILE, folders=shtab.DIRECTORY)
    streams.answer(shtab.complete(parser, shell=options.shell))
    return streams.OK


def _actions(parser: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, argparse.Action]]:
    """Yield every action below a parser with the name of the command it belongs to."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to look at a parser
        yield name, action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for word, inner in action.choices.items():
                yield from _actions(inner, word)


def _tell(
    action: argparse.Action,
    owner: str,
    names: Mapping[str, Sequence[str]],
    *,
    files: Mapping[str, object],
    folders: Mapping[str, object],
) -> None:
    """Say how the value of an action completes."""
    kind = owner if action.dest == "name" else action.dest
    kind = {"framework": "component", "wishes": "component", "without": "component"}.get(kind, kind)
    if action.metavar in _FILES:
        action.complete = files  # type: ignore[attr-defined]
    elif action.metavar in _FOLDERS:
        action.complete = folders  # type: ignore[attr-defined]
    elif kind in names and action.choices is None:
        action.choices = names[kind]
