"""Which rows and columns of a picture are shown, and in which order."""

from __future__ import annotations

import enum
import re

from stackcheck.model.kinds import Grade
from stackcheck.solver.axes import Entry
from stackcheck.solver.pairing import GRADES, Pairing

_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_RANK = (Grade.SUPPORTED, Grade.TESTED, Grade.CAVEAT, Grade.DEGRADED, Grade.UNKNOWN, Grade.BROKEN)


class Order(enum.StrEnum):
    """Orders of rows."""

    NEWEST = "newest first"
    OLDEST = "oldest first"
    BEST_HERE = "best in this column"
    MOST_SUPPORTED = "most supported"


def arranged(
    picture: Pairing, text: str, order: Order, column: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the rows and columns that a filter leaves, by place in the picture, rows in an order.

    The filter's words all have to hold: a plain word is part of a row's label, note or group, `col:WORD` of a column's,
    `is:GRADE` keeps rows that have this grade in `column` (or, if `column` is filtered away, anywhere that is left).
    A word in quotes, or after `=`, is the whole of a label, note or group: `col:=b300` leaves gb300 out.
    """
    row_words, column_words, wanted = _words(text)
    columns = tuple(i for i, e in enumerate(picture.columns.entries) if all(_has(e, w) for w in column_words))
    rows = [i for i, e in enumerate(picture.rows.entries) if all(_has(e, w) for w in row_words)]
    grades = {i for i, g in enumerate(GRADES) if any(g.startswith(w) for w in wanted)}
    if wanted:
        looked = (column,) if column in columns else columns
        rows = [r for r in rows if any(picture.cells[r][c] in grades for c in looked)]
    return tuple(_sorted(picture, rows, order, column)), columns


def turned(text: str) -> str:
    """Return a filter for the same picture with rows and columns exchanged; what asks for a grade of a row has no other side."""
    row_words, column_words, _ = _words(text)
    return " ".join((*column_words, *(f"col:{w}" for w in row_words)))


def _words(text: str) -> tuple[list[str], list[str], list[str]]:
    """Return what a filter says of rows, of columns and of grades."""
    said: dict[str, list[str]] = {"row": [], "col": [], "is": []}
    for word in _WORD.findall(text.lower()):
        head, colon, rest = word.partition(":")
        known = bool(colon) and head in said
        said[head if known else "row"].append(rest if known else word)
    return said["row"], said["col"], said["is"]


def _has(entry: Entry, word: str) -> bool:
    texts = [t.lower() for t in (entry.label, entry.note, entry.group)]
    whole = word.removeprefix("=")
    if len(whole) > 1 and whole[0] == whole[-1] == '"':
        return whole[1:-1] in texts
    if whole != word and whole:
        return whole in texts
    return any(whole.strip('"') in t for t in texts)


def _sorted(picture: Pairing, rows: list[int], order: Order, column: int) -> list[int]:
    if order is Order.OLDEST:
        return rows[::-1]
    if order is Order.BEST_HERE and column < len(picture.columns.entries):
        return sorted(rows, key=lambda r: _RANK.index(picture.grade(r, column)))
    if order is Order.MOST_SUPPORTED:
        good = [GRADES.index(g) for g in (Grade.SUPPORTED, Grade.TESTED)]
        return sorted(rows, key=lambda r: -sum(picture.cells[r].count(g) for g in good))
    return rows
