"""Which release and build an observed version string means."""

from __future__ import annotations

import re
from typing import Any

from stackcheck.catalog.parse import ATTRIBUTE_TYPES
from stackcheck.model.release import Build, Component, Release
from stackcheck.model.version import Version


def local_attributes(component: Component, version: Version) -> dict[str, Any]:
    """Return the attributes that the local label of a version tells, by the component's own pattern."""
    if not component.local_pattern or not version.local:
        return {}
    match = re.search(component.local_pattern, version.local)
    if match is None:
        return {}
    told: dict[str, Any] = {}
    for name, text in match.groupdict().items():
        kind = component.attribute_types.get(name)
        if text is not None and kind is not None:
            told[name] = ATTRIBUTE_TYPES[kind](int(text) if kind == "int" else text)
    return told


def parsed_version(component: Component, text: str) -> Version | None:
    """Return the version a text means: by the component's scheme, or as another name of a release; None if neither."""
    try:
        return Version(text, component.scheme)
    except ValueError:
        wanted = text.strip().lower()
        return next((r.version for r in component.releases if wanted in (a.lower() for a in r.aka)), None)


def match_release(component: Component, version: Version) -> Release | None:
    """Return the release that a version means: itself, one under whose other names it goes, or without its local label."""
    for release in component.releases:
        if release.version == version or version.text in release.aka:
            return release
    if version.local:
        return next((r for r in component.releases if r.version.public == version.public), None)
    return None


def match_build(release: Release, version: Version, arch: str | None, cuda: str | None) -> Build | None:
    """Return the build that a version means: by its local label, by the CUDA it runs with, or the default one."""
    builds = [b for b in release.builds if not b.arch or arch is None or arch in b.arch]
    by_label = [b for b in builds if b.label == version.local]
    if version.local:
        return by_label[0] if by_label else None
    if cuda:
        wanted = cuda.split(".")
        by_cuda = [
            b
            for b in builds
            if str(b.attributes.get("cuda", "")) == ".".join(wanted[:2])
            or ("cuda" not in b.attributes and str(b.attributes.get("cuda_major", "")) == wanted[0])
        ]
        if (
            by_cuda
        ):  # several builds for one CUDA (an extension built for each torch): which one it is, nobody said
            return by_cuda[0] if len(by_cuda) == 1 else None
        if any("cuda" in b.attributes or "cuda_major" in b.attributes for b in builds):
            return None
    return next((b for b in builds if b.default), None)
