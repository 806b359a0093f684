"""Lines known by a literal part: a table of literal, pattern and what to record, shared by the formats that are made of such lines.

A pattern is compiled when its literal first occurs, so that importing a long table costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.interface import Line

Handler = Callable[[Draft, re.Match[str], Line], None]
Row = tuple[str, str, Handler]


class Table:
    """Rows in order; several may apply to one line."""

    def __init__(self, rows: Sequence[Row]) -> None:
        """Take (literal, pattern, handler) rows."""
        self._rows = tuple(rows)
        self._compiled: dict[str, re.Pattern[str]] = {}

    @property
    def anchors(self) -> tuple[str, ...]:
        """The literals, without repetition."""
        return tuple(dict.fromkeys(anchor for anchor, _, _ in self._rows))

    def sniff(self, text: str) -> bool:
        """Whether one of the literals occurs."""
        return any(anchor in text for anchor in self.anchors)

    def read(self, draft: Draft) -> None:
        """Apply the table to all open lines."""
        text = draft.source.text
        present = [row for row in self._rows if row[0] in text]
        for line in draft.source.holding({anchor for anchor, _, _ in present}):
            self._apply(present, draft, line.text, line)

    def apply(self, draft: Draft, text: str, line: Line) -> None:
        """Apply the table to `text`, a part of `line`."""
        self._apply(self._rows, draft, text, line)

    def _apply(self, rows: Sequence[Row], draft: Draft, text: str, line: Line) -> None:
        for anchor, pattern, handle in rows:
            if anchor in text:
                compiled = self._compiled.get(pattern)
                if compiled is None:
                    compiled = self._compiled[pattern] = re.compile(pattern)
                match = compiled.search(text)
                if match:
                    handle(draft, match, line)


def text(name: str) -> Handler:
    """Return a handler that sets a fact to the first group."""

    def handle(draft: Draft, match: re.Match[str], line: Line) -> None:
        draft.fact(name, match[1], line)

    return handle


def number(name: str) -> Handler:
    """Return a handler that sets a fact to the first group as a number."""

    def handle(draft: Draft, match: re.Match[str], line: Line) -> None:
        draft.fact(name, float(match[1]) if "." in match[1] else int(match[1]), line)

    return handle


def largest(name: str) -> Handler:
    """Return a handler that keeps the largest number seen."""

    def handle(draft: Draft, match: re.Match[str], line: Line) -> None:
        before = draft.facts.get(name)
        if not isinstance(before, int) or int(match[1]) > before:
            draft.fact(name, int(match[1]), line)

    return handle


def member(name: str) -> Handler:
    """Return a handler that adds the first group to a list fact."""

    def handle(draft: Draft, match: re.Match[str], line: Line) -> None:
        draft.add(name, match[1], line)

    return handle


def member_number(name: str) -> Handler:
    """Return a handler that adds the first group to a list fact as an integer."""

    def handle(draft: Draft, match: re.Match[str], line: Line) -> None:
        draft.add(name, int(match[1]), line)

    return handle


def flag(name: str) -> Handler:
    """Return a handler that sets a fact to whether the first group says yes."""

    def handle(draft: Draft, match: re.Match[str], line: Line) -> None:
        draft.fact(name, match[1].lower() in ("true", "1", "yes", "on", "enabled"), line)

    return handle


def truth(name: str, value: bool | int | str) -> Handler:
    """Return a handler that sets a fact to `value`."""

    def handle(draft: Draft, _: re.Match[str], line: Line) -> None:
        draft.fact(name, value, line)

    return handle


def member_of(name: str, value: str | int) -> Handler:
    """Return a handler that adds `value` to a list fact."""

    def handle(draft: Draft, _: re.Match[str], line: Line) -> None:
        draft.add(name, value, line)

    return handle


def component(component_id: str, *, loaded: bool | None = None, scope: str = "") -> Handler:
    """Return a handler that adds a component whose version is the first group."""

    def handle(draft: Draft, match: re.Match[str], line: Line) -> None:
        draft.component(component_id, match[1], line, loaded=loaded, scope=scope)

    return handle


def understood(draft: Draft, _: re.Match[str], line: Line) -> None:
    """Claim the line and record nothing: its meaning is the business of the catalog's line signatures."""
    draft.claim(line)
