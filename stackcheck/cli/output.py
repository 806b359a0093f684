"""The two formats that all questions about the data share: a text for people, one JSON document for programs."""

from __future__ import annotations

import argparse

from stackcheck.cli import streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypedDict

    class Signs(TypedDict):
        """What the renderer of a table wants to know of the terminal: its lines are never cut or folded."""

        colour: bool
        ascii_only: bool

    class Looks(Signs):
        """What the renderer of a text wants to know of the terminal."""

        width: int


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add `--format text|json`."""
    parser.add_argument("--format", choices=["text", "json"], default="text")


def signs() -> Signs:
    """Return which characters stdout can show."""
    return {"colour": streams.colour(), "ascii_only": not streams.unicode()}


def looks() -> Looks:
    """Return what stdout can show, and how wide it is."""
    return {"width": streams.width(), **signs()}


def deliver(options: argparse.Namespace, text: Callable[[], str], body: Callable[[], Any]) -> None:
    """Write one of the two, made only if it is asked for."""
    if options.format == "json":
        import json

        streams.answer(json.dumps(body(), indent=2))
    else:
        streams.answer(text())
