"""What a report format is.

To add a format:

1. Write `report/NAME.py` with a function `render`, as `Renderer` asks. It takes values and returns a text: no file, no clock, no
   environment, no print. Words, signs and colours come from `style`, shared phrases from `wording`.
2. Pass everything observed through `style.visible` or the escaping of your format; observed text is hostile.
3. Put a row into `registry.FORMATS`; the command line takes its choices from there. The module is imported when it is used.
4. Give it a test with its own judge (a schema, a strict parser) and run `pytest tests/report --update-golden` once; read the
   golden file before you commit it.
"""

from __future__ import annotations

import importlib
from typing import NamedTuple, Protocol, cast

from stackcheck.model.finding import Finding, Report, Severity


class Options(NamedTuple):
    """What the caller knows and a format may use."""

    colour: bool = False
    ascii_only: bool = False
    width: int = 100
    """Columns of the terminal."""
    verbose: bool = False
    fail_on: Severity | None = Severity.ERROR
    """Findings at or above this count as failed tests; None: none does."""
    tool_version: str = ""
    data_version: str = ""
    """The edition of the matrices that judged."""
    time_ms: int = 0
    """When the check ran, in milliseconds since 1970; formats that demand a time write this."""
    base: str = ""
    """A directory; formats that name files by address tell those below it relative to it."""

    def fails(self, finding: Finding) -> bool:
        """Whether a finding counts as a failure."""
        return self.fail_on is not None and finding.severity.rank <= self.fail_on.rank


class Renderer(Protocol):
    """What the module of a format offers."""

    def render(self, report: Report, options: Options) -> str:
        """Return the report as text that ends with a newline."""


class Format(NamedTuple):
    """One row of the registry."""

    name: str
    """The word after --format."""
    title: str
    """What it is for, in one line."""
    suffix: str
    """The usual ending of a file that holds it, with the dot."""
    module: str

    def render(self, report: Report, options: Options) -> str:
        """Return the report in this format, as text that ends with a newline."""
        return cast(Renderer, importlib.import_module(self.module)).render(report, options)
