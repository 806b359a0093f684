"""The candidates of a component: its releases and builds, what images hold, absent, and what an image does not state.

A candidate is what one bit of a mask stands for. The order of candidates is the order of preference.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.evaluate import Missing
from stackcheck.catalog.identify import local_attributes, match_build, match_release, parsed_version
from stackcheck.catalog.parse import Layered
from stackcheck.model.release import NOTHING, Build, Component, Image, Release, Requirement
from stackcheck.model.version import Version

_LOCAL_LABEL = re.compile(r"cu\d{3}\Z|cpu\Z")
"""Build labels that stand in the version itself, as in 2.11.0+cu130; cu12 and cu13 name packages instead."""


class Origin(enum.StrEnum):
    """Where a candidate would come from."""

    ABSENT = "absent"
    RELEASE = "release"
    IMAGE = "image"
    UNSTATED = "unstated"
    """In an image that does not say whether or in which version it holds the component."""
    ASKED = "asked"
    """A version that the catalog does not know; takes part by range."""


class Candidate(NamedTuple):
    """One possible value of one component."""

    component: str
    origin: Origin
    version: Version | None = None
    release: Release | None = None
    build: Build | None = None
    attributes: Mapping[str, Any] = NOTHING
    requires: tuple[Requirement, ...] | None = None
    """None if unknown."""

    @property
    def text(self) -> str:
        """The version as people write it, with the build as local label: `2.11.0+cu130`."""
        if self.version is None:
            return str(self.origin)
        if self.build is None or self.version.local or not _LOCAL_LABEL.match(self.build.label):
            return self.version.text
        return f"{self.version.text}+{self.build.label}"

    def is_unread(self, catalog: Catalog) -> bool:
        """Whether it is a package whose requirements nobody has read."""
        if self.requires is not None or self.origin is not Origin.RELEASE:
            return False
        component = catalog.component(self.component)
        return component is not None and any(p.startswith("pkg:pypi/") for p in component.packages)

    @property
    def index_build(self) -> bool | None:
        """Whether a plain install by name and version takes this build; None if the release has no builds."""
        if self.build is None:
            return None
        return self.build.default or not _LOCAL_LABEL.match(self.build.label)

    def value(self, attribute: str) -> Any:
        """Return the version for an empty attribute, else the attribute's value, or a `Missing`."""
        if self.origin is Origin.ABSENT:
            return Missing.ABSENT
        if self.origin is Origin.UNSTATED or self.version is None:
            return Missing.UNKNOWN
        if not attribute:
            return self.version
        if attribute == "copies":
            return 1
        if attribute == "local":
            return self.version.local or (self.build.label if self.build else "")
        return self.attributes.get(attribute, Missing.UNKNOWN)


def absent(component: str) -> Candidate:
    """Return the candidate that stands for not being there."""
    return Candidate(component, Origin.ABSENT)


def unstated(component: str) -> Candidate:
    """Return the candidate that stands for whatever the image holds."""
    return Candidate(component, Origin.UNSTATED)


def asked(component: Component, text: str) -> Candidate:
    """Return a candidate for a version that no matrix knows.

    Raises:
        ValueError: the text is no version of the component's scheme.
    """
    version = Version(text, component.scheme)
    return Candidate(component.id, Origin.ASKED, version, attributes=local_attributes(component, version))


def released(component: Component, arch: str) -> list[Candidate]:
    """Return a candidate per release and build that exists for `arch`, newest first, the default build first."""
    found: list[Candidate] = []
    for release in reversed(component.releases):
        builds = [b for b in release.builds if b.exists is not None and (not b.arch or arch in b.arch)]
        if release.builds and not builds:
            continue
        if not release.builds:
            found.append(_candidate(component, Origin.RELEASE, release.version, release, None))
        found += [
            _candidate(component, Origin.RELEASE, release.version, release, build)
            for build in sorted(builds, key=lambda b: not b.default)
        ]
    return found


def _candidate(
    component: Component, origin: Origin, version: Version, release: Release | None, build: Build | None
) -> Candidate:
    layers: list[Mapping[str, Any]] = [local_attributes(component, version)]
    requires: tuple[Requirement, ...] | None = None
    if build is not None:
        layers.append(build.attributes)
    if release is not None:
        layers.append(release.attributes)
        requires = release.requires
    if build is not None:
        requires = (
            build.requires if requires is None and build.requires else _joined(requires, build.requires)
        )
    told = [layer for layer in layers if layer]
    attributes = Layered(told) if len(told) > 1 else (told[0] if told else NOTHING)
    return Candidate(component.id, origin, version, release, build, attributes, requires)


def _joined(
    base: tuple[Requirement, ...] | None, more: tuple[Requirement, ...]
) -> tuple[Requirement, ...] | None:
    """A build's requirement on a component replaces the release's on the same one."""
    if base is None:
        return None
    overridden = {r.component for r in more}
    return tuple(r for r in base if r.component not in overridden or r.extra) + more


def shipped(
    component: Component,
    text: str,
    image: Image,
    arch: str,
    releases: Mapping[Version, Release] | None = None,
) -> Candidate | None:
    """Return the candidate for the version `text` of a component that `image` holds; None if it is no version.

    `releases` is the component's releases by version, where the caller asks often.
    """
    if not text:
        return None
    version = parsed_version(component, text)
    if version is None:
        return None
    release = (releases.get(version) if releases else None) or match_release(component, version)
    build = match_build(release, version, arch, image.contents.get("cuda")) if release else None
    candidate = _candidate(component, Origin.IMAGE, version, release, build)
    targets = image.attributes.get("targets")
    if targets and component.id == "torch" and "targets" not in candidate.attributes:
        attributes = {**candidate.attributes, "targets": targets}
        return Candidate(component.id, Origin.IMAGE, version, release, build, attributes, candidate.requires)
    return candidate


def same_shipment(one: Candidate, other: Candidate) -> bool:
    """Whether two image candidates are the same thing: same version and same build."""
    return one.version == other.version and one.build is other.build


def newest_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates by falling version; ties keep their order."""
    return sorted(candidates, key=lambda c: c.version.key if c.version else (), reverse=True)
