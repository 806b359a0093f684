"""What stands around a component: what it asks for, what asks for it, what it brings, what brings it, which rules speak of it."""

from __future__ import annotations

from dataclasses import dataclass

from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.queries import brought_by, required_by
from stackcheck.model.demand import Bringer, Requirer
from stackcheck.model.release import Component, Release
from stackcheck.model.rule import head_of


@dataclass(frozen=True, slots=True)
class Asked:
    """One component that a release asks for, in which range, and for which build or extra (empty: always)."""

    component: str
    range: str
    when: str = ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The neighbourhood of one component; what it asks for is that of one release."""

    component: str
    release: str
    requires: tuple[Asked, ...]
    read: bool
    """Whether the release's requirements were read at all."""
    bundles: tuple[tuple[str, str], ...]
    required_by: tuple[Requirer, ...]
    brought_by: tuple[Bringer, ...]
    rules: tuple[str, ...]
    """Ids of the rules that look at it."""


def surroundings(catalog: Catalog, component: Component, version: str = "") -> Surroundings:
    """Return what stands around a component, seen from one of its releases (the newest, if none is named)."""
    release = next((r for r in component.releases if r.version.text == version), None)
    release = release or (component.releases[-1] if component.releases else None)
    return Surroundings(
        component=component.id,
        release=release.version.text if release else "",
        requires=_requires(release) if release else (),
        read=release is not None and release.requires is not None,
        bundles=tuple((release.bundles or {}).items()) if release else (),
        required_by=required_by(catalog, component.id),
        brought_by=brought_by(catalog, component.id),
        rules=tuple(
            r.id for r in catalog.rules if any(head_of(s) == component.id for s in r.subject_names())
        ),
    )


def _requires(release: Release) -> tuple[Asked, ...]:
    found: dict[Asked, None] = {}
    for row in release.requires or ():
        when = f"with {row.extra}" if row.extra else ("if there" if row.optional else "")
        found[Asked(row.component, row.range, when)] = None
    builds: dict[tuple[str, str], list[str]] = {}
    for build in release.builds:
        for row in build.requires:
            labels = builds.setdefault((row.component, row.range), [])
            if build.label not in labels:
                labels.append(build.label)
    everywhere = len({b.label for b in release.builds})
    for (name, bounds), labels in builds.items():
        found[Asked(name, bounds, "" if len(labels) == everywhere else ", ".join(labels))] = None
    return tuple(sorted(found, key=lambda a: (a.component, a.range)))
