"""Which rows and columns of a picture are shown, and in which order."""

from __future__ import annotations

import enum

from stackcheck.model.kinds import Grade
from stackcheck.solver.pairing import GRADES, Pairing

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
    """
    words = text.lower().split()
    row_words = [w for w in words if ":" not in w or w.startswith("row:")]
    column_words = [w.partition(":")[2] for w in words if w.startswith("col:")]
    wanted = {w.partition(":")[2] for w in words if w.startswith("is:")}
    columns = tuple(i for i, e in enumerate(picture.columns.entries) if all(_has(e, w) for w in column_words))
    rows = [
        i
        for i, e in enumerate(picture.rows.entries)
        if all(_has(e, w.removeprefix("row:")) for w in row_words)
    ]
    grades = {i for i, g in enumerate(GRADES) if any(g.startswith(w) for w in wanted)}
    if grades:
        looked = (column,) if column in columns else columns
        rows = [r for r in rows if any(picture.cells[r][c] in grades for c in looked)]
    return tuple(_sorted(picture, rows, order, column)), columns


def _has(entry: object, word: str) -> bool:
    texts = (getattr(entry, n) for n in ("label", "note", "group"))
    return any(word in str(t).lower() for t in texts)


def _sorted(picture: Pairing, rows: list[int], order: Order, column: int) -> list[int]:
    if order is Order.OLDEST:
        return rows[::-1]
    if order is Order.BEST_HERE and column < len(picture.columns.entries):
        return sorted(rows, key=lambda r: _RANK.index(picture.grade(r, column)))
    if order is Order.MOST_SUPPORTED:
        good = [GRADES.index(g) for g in (Grade.SUPPORTED, Grade.TESTED)]
        return sorted(rows, key=lambda r: -sum(picture.cells[r].count(g) for g in good))
    return rows
