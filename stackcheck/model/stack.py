"""The answer of resolve: a stack, or a conflict with alternatives (`stackcheck.stack/1`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from stackcheck.model.kinds import Grade

_NOTHING: Mapping[str, Any] = {}

SCHEMA = "stackcheck.stack/1"

CHOSEN_BY_BACKEND = ("torch", "pytorch-")
"""How the names of distributions begin whose build uv's `--torch-backend` selects."""


class Target(NamedTuple):
    """What the stack is for."""

    gpu: str
    instance: str | None = None
    arch: str = "x86_64"
    gpu_name: str = ""
    gpu_count: int | None = None
    efa_interfaces: int | None = None


class HeldBack(NamedTuple):
    """A newer release that was not taken, and the facts that exclude it."""

    version: str
    because: tuple[str, ...]


class Pin(NamedTuple):
    """One component of a stack: its version, why this one, and why no newer one."""

    component: str
    version: str
    scope: str
    layer: str
    name: str = ""
    build: str = ""
    index_build: bool | None = None
    """Whether this build is the one that a plain install takes; None if the release has no builds."""
    builds_against: str = ""
    """The component that has to be there when it is built from sources."""
    accepts: str = ""
    """The range of versions that would do as well, as far as the facts say."""
    grade: Grade = Grade.UNKNOWN
    origin: str = ""
    """`image` if it comes inside the image, `install` if it is added, `host` for the node itself."""
    purl: str = ""
    why: tuple[str, ...] = ()
    held_back: tuple[HeldBack, ...] = ()
    caveats: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


class StackImage(NamedTuple):
    """The container image chosen; `reference` is empty if no source says that the tag exists."""

    reference: str
    family: str
    grade: Grade
    tag: str = ""
    repository: str = ""
    digest: str = ""
    verified: bool = False
    why: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    environment: Mapping[str, str] = _NOTHING
    os: str = ""
    date: str = ""
    sources: tuple[str, ...] = ()


class StackConflict(NamedTuple):
    """Why there is no stack: a minimal set of requirements and facts, told as a chain."""

    requirements: tuple[str, ...]
    facts: tuple[str, ...]
    chain: tuple[str, ...]
    sources: tuple[str, ...] = ()


class Change(NamedTuple):
    """One requirement to relax, and to what."""

    requirement: str
    to: str


class Alternative(NamedTuple):
    """A proved way out of a conflict: change these, and this is the result."""

    change: tuple[Change, ...]
    result: Mapping[str, str]
    image: str = ""


class Stack(NamedTuple):
    """A solved stack or a conflict; never both."""

    target: Target
    image: StackImage | None = None
    pins: tuple[Pin, ...] = ()
    conflict: StackConflict | None = None
    alternatives: tuple[Alternative, ...] = ()
    environment: Mapping[str, str] = _NOTHING
    """Environment variables the target needs set."""
    notes: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    policy: str = "newest"
    data_version: str = ""
    request: Mapping[str, Any] = _NOTHING
    """The flags that were asked, as `stackcheck.solver.request` writes them; empty in a lock of an older version."""

    @property
    def solved(self) -> bool:
        """Whether there is a stack."""
        return self.conflict is None

    def pin(self, component: str) -> Pin | None:
        """Return the pin of a component, if the stack has one."""
        return next((p for p in self.pins if p.component == component), None)
