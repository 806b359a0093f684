"""What an export is.

To add one:

1. Write `export/NAME.py` with a function `render`, as `Renderer` asks. It takes a solved stack and returns a text: no file, no clock, no
   environment, no print; the command line writes.
2. Write only what the stack says. What it does not say is left out or stands as a placeholder in a comment.
3. A stack may come from a lock file that somebody edited: pass every text through `quoting`, every pip pin through `packages`.
4. Put a row into `registry.EXPORTERS`; the command line takes its choices from there. The module is imported when it is used.
5. If some stacks have nothing to write in this form, or what is written needs a word beside it, add `refusal` or `doubt`.
6. Give it a test with its own judge (a schema, a parser, `sh -n`), run `pytest tests/export --update-golden` once, and read the
   golden file before you commit it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

from stackcheck.model.stack import Stack


class Renderer(Protocol):
    """What the module of an export offers."""

    def render(self, stack: Stack) -> str:
        """Return a solved stack as text that ends with a newline."""


@dataclass(frozen=True, slots=True)
class Exporter:
    """One row of the registry."""

    name: str
    """The word after --export."""
    title: str
    """What it is for, in one line."""
    default_path: str
    """The file name used if none is given."""
    module: str

    def render(self, stack: Stack) -> str:
        """Return a solved stack in this form, as text that ends with a newline."""
        return cast(Renderer, importlib.import_module(self.module)).render(stack)

    def refusal(self, stack: Stack) -> str:
        """Return why a solved stack has no such form, or an empty text."""
        return self._told("refusal", stack)

    def doubt(self, stack: Stack) -> str:
        """Return what whoever uses the text should know and would not see in it, or an empty text."""
        return self._told("doubt", stack)

    def _told(self, name: str, stack: Stack) -> str:
        tell: Callable[[Stack], str] | None = getattr(importlib.import_module(self.module), name, None)
        return tell(stack) if tell is not None else ""
