"""What differs between two locks, images or nodes: the answer of `stackcheck diff`."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from stackcheck.model.finding import Finding

Versions = tuple[str, ...] | None
"""The versions seen of a component, `()` if it is surely not there, None if nothing is said of it."""


class Direction(enum.StrEnum):
    """Which way a component went."""

    NEWER = "newer"
    OLDER = "older"
    ADDED = "added"
    """Surely not there before."""
    REMOVED = "removed"
    """Surely not there any more."""
    STATED = "stated"
    """Only the second side says anything of it."""
    UNSTATED = "unstated"
    """Only the first side says anything of it."""
    CHANGED = "changed"
    """Otherwise different: several versions, or versions without an order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentChange:
    """One component that differs."""

    component: str
    name: str
    layer: str
    before: Versions
    after: Versions
    direction: Direction


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One value that differs: `gpu`, `image`, `env:NCCL_PROTO`, `fact:xid` ...; None if the side does not have it."""

    subject: str
    before: str | None
    after: str | None

    @property
    def is_fact(self) -> bool:
        """Whether it is a fact of the node: no variable and nothing that a node has one of."""
        return ":" in self.subject and not self.subject.startswith("env:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """All that differs between two sides."""

    before: str
    after: str
    components: tuple[ComponentChange, ...] = ()
    """In the order of the layers."""
    settings: tuple[SettingChange, ...] = ()
    appeared: tuple[Finding, ...] = ()
    gone: tuple[Finding, ...] = ()
    remaining: int = 0
    """Findings on both sides."""
    checked: bool = False
    """Whether findings were looked for."""

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not (self.components or self.settings or self.appeared or self.gone)
