"""How old an image is: its date, or where no source dates it, the day before which it cannot have been made."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.identify import parsed_version
from stackcheck.model.release import Image

DATED_BY = "dated_by"
"""Key of policy.json: contents whose releases date an image, which is not older than the newest of them."""
_NUMBER = re.compile(r"(\d{1,18})")
_MONTH = re.compile(r"([23]\d)\.(0[1-9]|1[0-2])(?![\d])")


def days(catalog: Catalog, images: Sequence[Image]) -> tuple[str, ...]:
    """Return by image its date, or the earliest day (or month) it can be of; empty where nothing tells."""
    known: dict[tuple[str, str], str] = {}
    return tuple(i.date or _earliest(catalog, i, known) for i in images)


def newest_first(images: Sequence[Image], known: Sequence[str]) -> list[int]:
    """Return places in `images`, newest first by their days; of one day, or of none, by repository and the numbers in the tag."""

    def key(place: int) -> tuple[str, str, tuple[tuple[int, str], ...]]:
        image = images[place]
        return (known[place], image.repository, _natural(image.tag))

    return sorted(range(len(images)), key=key, reverse=True)


def _earliest(catalog: Catalog, image: Image, known: dict[tuple[str, str], str]) -> str:
    found = [_month(image.tag)]
    for name in catalog.policy.get(DATED_BY, ()):
        text = image.contents.get(name, "").partition("+")[0]
        if text and (name, text) not in known:
            known[name, text] = _released(catalog, name, text)
        found.append(known[name, text] if text else "")
    return max(found)


def _month(tag: str) -> str:
    """Return the month that a tag such as 25.11-py3 is named after."""
    named = _MONTH.match(tag)
    return f"20{named[1]}-{named[2]}" if named else ""


def _released(catalog: Catalog, name: str, text: str) -> str:
    component = catalog.component(name)
    version = parsed_version(component, text) if component is not None else None
    if component is None or version is None:
        return ""
    return next((r.date for r in component.releases if r.version == version), "")


def _natural(tag: str) -> tuple[tuple[int, str], ...]:
    """Return a tag so that its numbers compare as numbers: 0.10 after 0.9."""
    return tuple((int(p), "") if p.isdecimal() and p.isascii() else (-1, p) for p in _NUMBER.split(tag))
