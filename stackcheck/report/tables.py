"""Plain columns: no boxes, no lines, the first row a dim heading; numbers to the right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stackcheck.report.style import Style, visible, wrapped

_GAP = "  "
_LONGEST_CELL = 300


def table(
    heading: Sequence[str],
    rows: Sequence[Sequence[str]],
    style: Style,
    *,
    right: frozenset[int] = frozenset(),
) -> Iterator[str]:
    """Yield the lines of a table; columns whose number is in `right` are set to the right, the last is never padded."""
    cells = [[visible(cell, _LONGEST_CELL) for cell in row] for row in rows]
    widths = [max([len(h), *(len(row[i]) for row in cells)]) for i, h in enumerate(heading)]
    yield style.paint(_line(heading, widths, right), "dim")
    for row in cells:
        yield _line(row, widths, right)


def _line(cells: Sequence[str], widths: Sequence[int], right: frozenset[int]) -> str:
    padded = [
        f"{cell:>{width}}" if i in right else f"{cell:<{width}}"
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return _GAP.join(padded).rstrip()


def pairs(
    items: Sequence[tuple[str, str]], style: Style, width: int, *, indent: str = "  ", least: int = 0
) -> Iterator[str]:
    """Yield lines of a name and a value, the names in one column of at least `least` characters, long values folded."""
    column = max([least, *(len(visible(name, 60)) for name, _ in items)], default=least)
    for name, value in items:
        shown = visible(name, 60)
        first = f"{indent}{shown:<{column}}{_GAP}"
        lines = wrapped(visible(value), width, first, " " * len(first))
        yield f"{indent}{style.paint(shown, 'dim')}{lines[0].removeprefix(indent + shown)}".rstrip()
        yield from lines[1:]
