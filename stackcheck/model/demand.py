"""Who asks for a component, told once per asking component, and what is shown of one."""

from __future__ import annotations

from dataclasses import dataclass

from stackcheck.model.release import Component, Gpu, GpuRow, Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirer:
    """A component some releases of which ask for another one."""

    component: str
    version: str
    """The newest release that asks."""
    build: str = ""
    """Its build, if only builds ask."""
    range: str
    """What that release asks for; empty for any version."""
    extra: str = ""
    releases: int = 1
    """How many releases ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bringer:
    """A component that brings another one inside it, such as an installer its library."""

    component: str
    version: str
    """The newest release that brings it."""
    brings: str
    """The version it brings."""
    releases: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RowReleases:
    """The releases on which one row of a GPU's matrix decides; `row` is None for those in no row, of which nothing is known."""

    row: GpuRow | None
    releases: tuple[Release, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentView:
    """What is shown of a component."""

    component: Component
    releases: tuple[Release, ...]
    """Those to list, newest first."""
    required_by: tuple[Requirer, ...] = ()
    brought_by: tuple[Bringer, ...] = ()
    every: bool = False
    """Whether to list all of `releases` and show each in full."""
    gpu: Gpu | None = None
    """The GPU on which the releases were asked for."""
    on_gpu: tuple[RowReleases, ...] = ()
    """What the matrix of that GPU says of `releases`."""
