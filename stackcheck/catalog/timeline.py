"""When each release of a component came, how long it is looked after, and what its place among the others is."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from stackcheck.model.release import Component, Release


class State(enum.StrEnum):
    """How a release stands on a day."""

    CURRENT = "current"
    """The newest of its series."""
    SUPERSEDED = "superseded"
    """A newer one of its series is out."""
    ENDED = "ended"
    """Past the end of its support."""
    YANKED = "yanked"
    PRERELEASE = "pre-release"


@dataclass(frozen=True, slots=True)
class Span:
    """The life of one release; days as ISO text, empty where nobody says."""

    version: str
    series: str
    start: str
    end: str
    """The end of support if one is stated, else the day its successor in the series came; empty while neither is known."""
    stated: bool
    """Whether `end` is a stated end of support."""
    state: State
    builds: tuple[str, ...]
    notes: tuple[str, ...]
    sources: tuple[str, ...]


def timeline(component: Component, today: str) -> tuple[Span, ...]:
    """Return the lives of all releases, newest first, as they stand on a day (ISO text)."""
    spans: list[Span] = []
    successor: dict[str, str] = {}
    for release in reversed(component.releases):
        series = series_of(release)
        newer = successor.get(series)
        ended = bool(release.eol and release.eol < today) or release.attributes.get("end_of_life") is True
        spans.append(
            Span(
                version=release.version.text,
                series=series,
                start=release.date,
                end=release.eol or newer or "",
                stated=bool(release.eol),
                state=_state(release, ended=ended, superseded=newer is not None),
                builds=tuple(dict.fromkeys(b.label for b in release.builds)),
                notes=release.notes,
                sources=tuple(component.source(k).ref for k in release.sources),
            )
        )
        if not release.prerelease:
            successor[series] = release.date
    return tuple(spans)


def series_of(release: Release) -> str:
    """Return the series of a release: its branch where it has one, else its first two numbers."""
    branch = release.attributes.get("branch")
    return str(branch) if branch is not None else ".".join(map(str, release.version.minor))


def _state(release: Release, *, ended: bool, superseded: bool) -> State:
    if release.yanked:
        return State.YANKED
    if release.prerelease:
        return State.PRERELEASE
    if ended:
        return State.ENDED
    return State.SUPERSEDED if superseded else State.CURRENT
