"""Releases as projects announce them: the release list of a git host, a changelog, a raw file.

Pure readers, bytes to candidates. Patterns are data (`matrices/upstreams.json`); they see one line at a time, of bounded length, so that a
hostile page cannot make them slow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from typing import Any

from stackcheck.harvest.interface import Candidate, HarvestError
from stackcheck.harvest.upstreams import ReleasePage

EXTRACTOR = "release-pages/1"
_LONGEST_LINE = 500
_MOST_LINES = 200_000
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def git_releases(data: bytes, page: ReleasePage, today: str) -> Iterator[Candidate]:
    """Yield existence and day of each release of a git host's list: JSON rows with `tag_name`, `published_at`, `draft`, `prerelease`."""
    try:
        rows = json.loads(data)
    except (ValueError, RecursionError) as fault:
        raise HarvestError(f"no JSON: {fault}", where=page.url) from fault
    if not isinstance(rows, list):
        said = rows.get("message") if isinstance(rows, dict) else ""
        raise HarvestError(f"no list of releases {str(said)[:80]}", where=page.url)
    for row in rows[:5_000]:
        if not isinstance(row, dict) or row.get("draft") or row.get("prerelease"):
            continue
        told = _matched(page, str(row.get("tag_name", "")))
        day = str(row.get("published_at") or "")[:10]
        if told:
            yield from _candidates(page, told | ({"date": day} if _DAY.fullmatch(day) else {}), today)


def changelog(data: bytes, page: ReleasePage, today: str) -> Iterator[Candidate]:
    """Yield what each line that fits the page's pattern says; named groups other than `version` and `date` are attributes."""
    yield from _from_lines(data.decode("utf-8", "replace").splitlines(), page, today)


def web_page(data: bytes, page: ReleasePage, today: str) -> Iterator[Candidate]:
    """Yield the same from the text of an HTML page, a line per block."""
    text = _Text()
    text.feed(data.decode("utf-8", "replace"))
    text.close()
    yield from _from_lines(text.lines(), page, today)


def _from_lines(lines: list[str], page: ReleasePage, today: str) -> Iterator[Candidate]:
    found = False
    for line in lines[:_MOST_LINES]:
        told = _matched(page, line)
        if told:
            found = True
            yield from _candidates(page, told, today)
    if not found:
        raise HarvestError("no line fits its pattern", where=page.url, fix="has the page changed its form?")


def _matched(page: ReleasePage, line: str) -> dict[str, str]:
    match = re.search(page.pattern, line[:_LONGEST_LINE].strip())
    return {k: v for k, v in match.groupdict().items() if v} if match else {}


def _candidates(page: ReleasePage, told: Mapping[str, str], today: str) -> Iterator[Candidate]:
    version = told.get("version", "")
    if not version:
        return
    fields: dict[str, Any] = {"exists": True}
    for name, value in told.items():
        if name == "date" and _DAY.fullmatch(value):
            fields["date"] = value
        elif name not in ("version", "date"):
            fields[f"attribute:{name}"] = value
    for field, value in fields.items():
        yield Candidate(
            component=page.component,
            release=version,
            field=field,
            value=value,
            source=page.source or page.url,
            date=today,
            extractor=EXTRACTOR,
        )


class _Text(HTMLParser):
    """The text of a page, one line per block."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        """Begin a line at blocks; skip scripts and styles."""
        if tag in ("script", "style"):
            self._hidden += 1
        elif tag not in ("a", "b", "i", "em", "strong", "code", "span", "td", "th"):
            self._parts.append("\n")
        elif tag in ("td", "th"):
            self._parts.append(" | ")

    def handle_endtag(self, tag: str) -> None:
        """End what was skipped."""
        if tag in ("script", "style") and self._hidden:
            self._hidden -= 1

    def handle_data(self, data: str) -> None:
        """Keep visible text."""
        if not self._hidden:
            self._parts.append(data)

    def lines(self) -> list[str]:
        """Return the lines that are not blank."""
        return [" ".join(line.split()) for line in "".join(self._parts).split("\n") if line.strip()]


Reader = Callable[[bytes, ReleasePage, str], Iterator[Candidate]]
READERS: Mapping[str, Reader] = {"git-releases": git_releases, "changelog": changelog, "web-page": web_page}
"""Names that `upstreams.json` may give as a page's reader."""
