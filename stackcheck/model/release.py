"""The things matrices describe: components with releases and builds, GPUs, instance types, images.

Built by `stackcheck.catalog.parse`; the file formats are in docs/data-model.md. They are named tuples and not data classes because every
command makes them at start-up, and a named tuple class costs a seventh of a frozen data class to define (docs/decisions.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from stackcheck.model.version import Scheme, Version

NOTHING: Mapping[str, Any] = {}


class Source(NamedTuple):
    """Where a fact stands, when it was read, and whose word it is."""

    ref: str
    read: str = ""
    word: str = ""
    note: str = ""


class Requirement(NamedTuple):
    """What a release asks of another component; `extra`, `python` and `arch` say when it holds."""

    component: str
    range: str
    extra: str = ""
    python: str = ""
    arch: tuple[str, ...] = ()
    optional: bool = False
    sources: tuple[str, ...] = ()


class Build(NamedTuple):
    """One variant of a release: torch 2.11.0 exists as cu126, cu128, cu130."""

    label: str
    arch: tuple[str, ...]
    attributes: Mapping[str, Any]
    requires: tuple[Requirement, ...] = ()
    default: bool = False
    exists: bool | None = True
    sources: tuple[str, ...] = ()


class Release(NamedTuple):
    """One version of a component. `requires` is None if its requirements were not read."""

    version: Version
    attributes: Mapping[str, Any]
    requires: tuple[Requirement, ...] | None = ()
    bundles: Mapping[str, str] | None = None
    builds: tuple[Build, ...] = ()
    date: str = ""
    eol: str = ""
    yanked: bool = False
    prerelease: bool = False
    aka: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Component(NamedTuple):
    """Something with versions, and all its releases, oldest first."""

    id: str
    name: str
    scope: str
    layer: str
    scheme: Scheme
    description: str = ""
    aliases: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    attribute_types: Mapping[str, str] = NOTHING
    local_pattern: str = ""
    builds_against: str = ""
    """The component that has to be there when this one is built from the sources of the index."""
    releases: tuple[Release, ...] = ()
    sources: Mapping[str, Source] = NOTHING
    read: str = ""

    def source(self, key: str) -> Source:
        """Return the source behind a key; a key that is itself a URL or purl stands for itself."""
        known = self.sources.get(key)
        if known is not None:
            return known
        return Source(key, self.read, "package" if key.startswith("pkg:") else "vendor")


class GpuRow(NamedTuple):
    """One row of a GPU's compatibility matrix: these versions of this component have this grade on it."""

    component: str
    range: str
    grade: str
    why: str
    sources: tuple[str, ...]


class Gpu(NamedTuple):
    """A GPU model and its compatibility matrix."""

    id: str
    name: str
    architecture: str
    aliases: tuple[str, ...]
    pci_ids: tuple[str, ...]
    attributes: Mapping[str, Any]
    rows: tuple[GpuRow, ...]
    sources: Mapping[str, Source]
    notes: tuple[str, ...] = ()


class Instance(NamedTuple):
    """A cloud instance type."""

    id: str
    gpu: str
    gpu_count: int | None
    family: str
    aliases: tuple[str, ...]
    attributes: Mapping[str, Any]
    sources: Mapping[str, Source]
    notes: tuple[str, ...] = ()


class Image(NamedTuple):
    """One tag of a container repository; `contents` are exact pins, `absent` what it surely lacks."""

    repository: str
    tag: str
    family: str
    reference: str
    public_reference: str = ""
    verified: bool = False
    digest: str = ""
    other_tags: tuple[str, ...] = ()
    arch: tuple[str, ...] = ()
    """Empty if unknown."""
    date: str = ""
    eop: str = ""
    platform: str = ""
    purpose: tuple[str, ...] = ()
    os: str = ""
    contents: Mapping[str, str] = NOTHING
    derived: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = NOTHING
    environment: Mapping[str, str] = NOTHING
    grade: str = "supported"
    sources: tuple[str, ...] = ()
    source_table: Mapping[str, Source] = NOTHING
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """`repository:tag`."""
        return f"{self.repository}:{self.tag}"
