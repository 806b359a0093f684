"""What requires what, as a graph: the answer of `stackcheck graph`."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class EdgeKind(enum.StrEnum):
    """What an edge means."""

    REQUIRES = "requires"
    """The source asks for the target."""
    BRINGS = "brings"
    """The target comes inside the source."""
    RULE = "rule"
    """A cross-component fact ties the two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """One component."""

    id: str
    name: str
    version: str
    layer: str
    origin: str = ""
    """`image`, `install` or `host` in a stack; empty outside one."""


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """One tie, from what asks to what is asked for; `label` is the range, version or relation."""

    source: str
    target: str
    kind: EdgeKind
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Components and their ties, in a fixed order."""

    title: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    order: tuple[tuple[str, ...], ...] = ()
    """Node ids in steps such that everything a step requires stands in earlier ones or in the same cycle."""
    cycles: tuple[tuple[str, ...], ...] = ()
    """Groups of components that require each other, each sorted."""
