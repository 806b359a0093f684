"""What an export is.

To add one:

1. Write `export/NAME.py` with a class that has `name`, `title`, `default_path` and `render`, as `Exporter` asks. It takes a stack and
   returns a text: no file, no clock, no environment, no print; the command line writes.
2. Write only what the stack says. What it does not say is left out or stands as a placeholder in a comment.
3. A stack may come from a lock file that somebody edited: pass every text through `quoting`, every pip pin through `packages`.
4. Put an instance into `registry.EXPORTERS`; the command line takes its choices from there.
5. Give it a test with its own judge (a schema, a parser, `sh -n`), run `pytest tests/export --update-golden` once, and read the
   golden file before you commit it.
"""

from __future__ import annotations

from typing import Protocol

from stackcheck.model.stack import Stack


class Exporter(Protocol):
    """One target of --export."""

    @property
    def name(self) -> str:
        """Return the word after --export."""

    @property
    def title(self) -> str:
        """Return what it is for, in one line."""

    @property
    def default_path(self) -> str:
        """Return the file name used if none is given."""

    def render(self, stack: Stack) -> str:
        """Return a solved stack as text that ends with a newline."""
