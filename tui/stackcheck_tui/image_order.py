"""Images newest first, those without a date too: an image is not older than the newest release inside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.identify import parsed_version
from stackcheck.model.kinds import Grade
from stackcheck.model.release import Image
from stackcheck.solver.image_search import Hit

_NUMBER = re.compile(r"(\d{1,18})")


def earliest(catalog: Catalog, image: Image, components: Iterable[str]) -> str:
    """Return the day (ISO) before which an image cannot have been made, by its contents; empty if they do not tell."""
    days = [_released(catalog, name, image.contents.get(name, "")) for name in components]
    return max(days, default="")


def _released(catalog: Catalog, name: str, text: str) -> str:
    component = catalog.component(name) if text else None
    version = parsed_version(component, text.partition("+")[0]) if component is not None else None
    if component is None or version is None:
        return ""
    return next((r.date for r in component.releases if r.version == version), "")


def newest_first(hits: Sequence[Hit], days: Sequence[str], *, unknown_last: bool) -> tuple[int, ...]:
    """Return places in `hits`, newest first by `days`; images of one day, or of none, by repository and then by the numbers in the tag."""

    def key(place: int) -> tuple[str, str, tuple[tuple[int, str], ...]]:
        image = hits[place].image
        return (days[place], image.repository, _natural(image.tag))

    places = sorted(range(len(hits)), key=key, reverse=True)
    if unknown_last:
        places.sort(key=lambda p: hits[p].grade is Grade.UNKNOWN)
    return tuple(places)


def _natural(tag: str) -> tuple[tuple[int, str], ...]:
    """Return a tag so that its numbers compare as numbers: 0.10 after 0.9."""
    return tuple((int(p), "") if p.isdecimal() and p.isascii() else (-1, p) for p in _NUMBER.split(tag))


def cut(text: str, width: int) -> str:
    """Return a text of at most `width` characters (two at least); where something is left out of its middle, an ellipsis says so."""
    if len(text) <= width:
        return text
    head = max(1, (width - 1) * 2 // 5)
    tail = max(0, width - 1 - head)
    return f"{text[:head]}…{text[len(text) - tail :]}"
