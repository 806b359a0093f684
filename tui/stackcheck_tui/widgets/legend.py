"""Signs, grades and how often each occurs, in as much of that as there is room for."""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content
from textual.widgets import Static

from stackcheck.model.kinds import Grade


class Legend(Static):
    """One line of counts that is never cut in the middle of a number."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._counts: Mapping[Grade, int] = {}

    def count(self, counts: Mapping[Grade, int]) -> None:
        """Show other counts."""
        self._counts = counts
        self._write()

    def on_resize(self) -> None:
        """Say as much as there is room for now."""
        self._write()

    def _write(self) -> None:
        if not self._counts:
            return
        from stackcheck_tui.telling import GRADE_STYLES, graded, sign  # the first paint has no signs yet

        there = [g for g in Grade if self._counts[g]]
        whole = [graded(g, f"{g} {self._counts[g]}") for g in Grade]
        worded = [graded(g, f"{g} {self._counts[g]}") for g in there]
        bare = [Content.styled(f"{sign(g)} {self._counts[g]}", GRADE_STYLES[g]) for g in there]
        lines = [
            Content(gap).join([Content(), *p]) for p, gap in ((whole, "   "), (worded, "  "), (bare, "  "))
        ]
        room = self.size.width or self.app.size.width
        self.update(next((line for line in lines if len(line.plain) <= room), lines[-1]))
