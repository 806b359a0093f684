"""Hits of a search newest first, and names cut to a width."""

from __future__ import annotations

from collections.abc import Sequence

from stackcheck.catalog import image_age
from stackcheck.model.kinds import Grade
from stackcheck.solver.image_search import Hit


def newest_first(hits: Sequence[Hit], days: Sequence[str], *, unknown_last: bool) -> tuple[int, ...]:
    """Return places in `hits`, newest first by `days`; those of which nobody says whether they fit last, if asked."""
    places = image_age.newest_first([h.image for h in hits], days)
    if unknown_last:
        places.sort(key=lambda p: hits[p].grade is Grade.UNKNOWN)
    return tuple(places)


def cut(text: str, width: int) -> str:
    """Return a text of at most `width` characters (two at least); where something is left out of its middle, an ellipsis says so."""
    if len(text) <= width:
        return text
    head = max(1, (width - 1) * 2 // 5)
    tail = max(0, width - 1 - head)
    return f"{text[:head]}…{text[len(text) - tail :]}"
