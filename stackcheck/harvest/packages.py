"""Releases of the components that are Python packages: which to read, and what they say as candidate facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion
from packaging.version import Version as PackageVersion

from stackcheck.harvest import simple_index
from stackcheck.harvest.door import Door, Read
from stackcheck.harvest.interface import Candidate, HarvestError, Value
from stackcheck.harvest.requirement_rows import Names, rows_of
from stackcheck.harvest.wheel_tags import variants
from stackcheck.model.release import Component, Release
from stackcheck.model.version import Version

_FIRST_READ = 5  # releases of a component that has none yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What to read of each component: releases since a day, and the newest so many whatever their day."""

    since: str
    newest: int = 0
    again: bool = False
    """Read also what was read before, to compare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Something a reader of the harvest should know: what could not be read, and why."""

    component: str
    release: str
    text: str


def packages_of(component: Component) -> tuple[str, ...]:
    """Return the canonical names of a component's packages on the Python index."""
    purls = (p.removeprefix("pkg:pypi/") for p in component.packages if p.startswith("pkg:pypi/"))
    return tuple(str(canonicalize_name(p)) for p in purls)


def wanted(component: Component, wish: Wish, *, offered: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the versions to read, newest first: known ones with unread requirements, and offered ones nobody knows yet.

    An offered version counts as new if it is newer than the oldest release that the wish reaches back to and no other name of a known one.
    """
    known = {r.version: r for r in component.releases}
    recent = sorted(known, reverse=True)
    newest = set(recent[: wish.newest])
    reach = [v for v, r in known.items() if v in newest or r.date >= wish.since]
    chosen = {v for v in reach if wish.again or known[v].requires is None}
    floor = min(reach) if reach else max(known, default=None)
    named = set(known).union(*(_other_names(r, component) for r in component.releases))
    news: set[Version] = set()
    for text in offered:
        try:
            version = Version(text, component.scheme)
        except ValueError:
            continue
        if version not in named and (floor is None or version > floor) and not _preliminary(text):
            news.add(version)
    if floor is None:  # a component nobody has read yet: its present, not its history
        news = set(sorted(news, reverse=True)[: max(wish.newest, _FIRST_READ)])
    chosen |= news
    return tuple(v.text for v in sorted(chosen, reverse=True))


def _other_names(release: Release, component: Component) -> set[Version]:
    return {Version(a, component.scheme) for a in release.aka}


def _preliminary(text: str) -> bool:
    """Whether a version of the Python index is a candidate or a nightly, whatever scheme orders the component."""
    try:
        return PackageVersion(text).is_prerelease
    except InvalidVersion:
        return True


def package_for(component: Component, version: str) -> str:
    """Return under which of its packages a release was published: the one its sources name, else the first."""
    release = _release(component, version)
    names = packages_of(component)
    for source in release.sources if release else ():
        name, at, _ = source.removeprefix("pkg:pypi/").partition("@")
        if at and str(canonicalize_name(name)) in names:
            return str(canonicalize_name(name))
    return names[0]


def harvest(
    components: Sequence[Component], door: Door, names: Names, wish: Wish, today: str
) -> Iterator[Candidate | Remark]:
    """Yield what the index says about the wanted releases of these components."""
    pairs: dict[tuple[str, str], Component] = {}
    for component in components:
        try:
            offered, listed = _offered(component, door, names, today)
        except HarvestError as fault:
            yield Remark(component=component.id, release="", text=str(fault))
            continue
        yield from listed
        for version in wanted(component, wish, offered=offered):
            pairs[package_for(component, version), version] = component
    for read in door.read(tuple(pairs)):
        yield from said(pairs[read.package, read.version], read, names, today)


def _offered(component: Component, door: Door, names: Names, today: str) -> tuple[set[str], list[Candidate]]:
    offered: set[str] = set()
    listed: list[Candidate] = []
    for package in packages_of(component):
        offered.update(door.versions(package))
        listing = door.listing(package)
        if listing is not None:
            listed += from_listing(component, listing, names.pythons, today)
    return offered, listed


def said(component: Component, read: Read, names: Names, today: str) -> Iterator[Candidate | Remark]:
    """Yield the candidates of one distribution's metadata."""
    if read.metadata is None:
        yield Remark(component=component.id, release=read.version, text=read.fault)
        return
    source = f"pkg:pypi/{read.package}@{read.version}"

    def candidate(field: str, value: Value) -> Candidate:
        return Candidate(
            component=component.id,
            release=read.version,
            field=field,
            value=value,
            source=source,
            date=today,
            extractor=read.extractor,
            detail=read.file,
        )

    yield candidate("exists", True)
    if read.yanked:
        yield candidate("yanked", True)
    try:
        rows = rows_of(read.metadata, names, keep_extras=known_extras(component))
    except HarvestError as fault:
        yield Remark(component=component.id, release=read.version, text=str(fault))
        return
    yield candidate("requires", rows.rows)


def known_extras(component: Component) -> frozenset[str]:
    """Return the extras that the reviewed releases of a component list: these are worth keeping, others are for developers."""
    return frozenset(row.extra for r in component.releases for row in r.requires or () if row.extra)


def from_listing(
    component: Component, listing: simple_index.Listing, pythons: Sequence[str], today: str
) -> list[Candidate]:
    """Return what a project page says about each release: its day, whether it was withdrawn, the tags of its wheels."""
    found: list[Candidate] = []
    for version in listing.versions():
        files = listing.of(version)
        days = sorted(f.uploaded for f in files if f.uploaded)
        source = f"pkg:pypi/{listing.name}@{version}"
        facts: list[tuple[str, Value]] = [("exists", True)]
        if days:
            facts.append(("date", days[0]))
        if files and all(f.yanked for f in files):
            facts.append(("yanked", True))
        for variant in variants(files, _installable(files, pythons)):
            facts.append((f"python:{variant.arch}", variant.pythons))
            if variant.glibc:
                facts.append((f"glibc:{variant.arch}", variant.glibc))
        found += [
            Candidate(
                component=component.id,
                release=version,
                field=field,
                value=value,
                source=source,
                date=today,
                extractor=simple_index.EXTRACTOR,
            )
            for field, value in facts
        ]
    return found


def _installable(files: Sequence[simple_index.File], pythons: Sequence[str]) -> tuple[str, ...]:
    """Return the minors of `pythons` that a release's Requires-Python allows."""
    text = next((f.requires_python for f in files if f.wheel), "")
    try:
        allowed = SpecifierSet(text)
    except InvalidSpecifier:
        allowed = SpecifierSet()
    return tuple(p for p in pythons if any(allowed.contains(f"{p}.{n}") for n in (0, 9, 99)))


def _release(component: Component, version: str) -> Release | None:
    try:
        asked = Version(version, component.scheme)
    except ValueError:
        return None
    return next((r for r in component.releases if r.version == asked), None)
