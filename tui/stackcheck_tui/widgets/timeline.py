"""Releases of a component on a time line."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from stackcheck.catalog.timeline import Span, State

_LOOKS = {
    State.CURRENT: "$text-success",
    State.SUPERSEDED: "$foreground-muted",
    State.ENDED: "$text-error",
    State.YANKED: "$text-error",
    State.PRERELEASE: "$text-warning",
}
_SIGNS = {
    State.CURRENT: "●",
    State.SUPERSEDED: "○",
    State.ENDED: "✗",
    State.YANKED: "⊘",
    State.PRERELEASE: "△",
}


def look(state: State) -> str:
    """Return the colour of a state."""
    return _LOOKS[state]


def sign(state: State) -> str:
    """Return the sign of a state."""
    return _SIGNS[state]


def bars(spans: Sequence[Span], today: str, width: int) -> tuple[str, list[str]]:
    """Return an axis of years and one bar a release; `┄` is an end that nobody states, `┃` is today."""
    days = [_day(d) for s in spans for d in (s.start, s.end) if _day(d)]
    now = _day(today)
    if not days or not now or width < 10:
        return "", ["" for _ in spans]
    first, last = min(days), max(*days, now)
    scale = (width - 1) / max(1, last - first)

    def place(day: int) -> int:
        return round((day - first) * scale)

    axis = [" "] * width
    for year in range(date.fromordinal(first).year, date.fromordinal(last).year + 1):
        at = place(max(date(year, 1, 1).toordinal(), first))
        if all(c == " " for c in axis[at : at + 3]) and at + 2 < width:
            axis[at : at + 2] = f"{year % 100:02d}"
    return "".join(axis), [_bar(s, place, place(now), width) for s in spans]


def _bar(span: Span, place: object, now: int, width: int) -> str:
    line = [" "] * width
    line[now] = "┊"
    start = _day(span.start)
    if start:
        begin: int = place(start)  # type: ignore[operator]
        end_day = _day(span.end)
        end: int = place(end_day) if end_day else now  # type: ignore[operator]
        fill = "━" if span.stated else ("─" if end_day else "┄")
        for at in range(begin, min(max(end, begin) + 1, width)):
            line[at] = fill
        line[begin] = "●"
        if span.stated and end > begin:
            line[min(end, width - 1)] = "┤"
    elif _day(span.end) and span.stated:
        line[min(place(_day(span.end)), width - 1)] = "┤"  # type: ignore[operator]
    return "".join(line)


def _day(text: str) -> int:
    try:
        return date.fromisoformat(text).toordinal()
    except ValueError:
        return 0
