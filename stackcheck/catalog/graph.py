"""The component graph of a stack or of the whole catalog: order, reachability and cycles come from networkx, nothing else does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import networkx as nx

from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.identify import match_build, match_release, parsed_version
from stackcheck.model.graph import EdgeKind, Graph, GraphEdge, GraphNode
from stackcheck.model.kinds import Grade
from stackcheck.model.release import Build, Component, Release
from stackcheck.model.rule import Relation, Rule, head_of, subjects_of
from stackcheck.model.stack import Pin, Stack

_NEWEST_READ = "newest releases with read requirements"
_SIGNS = {
    "at_least": ">=",
    "at_most": "<=",
    "equal": "equal",
    "same_major": "same major",
    "same_minor": "same minor",
    "overlap": "overlap",
    "within": "among",
    "covers": "code runs",
    "covers_natively": "code runs natively",
}


def stack_graph(catalog: Catalog, stack: Stack) -> Graph:
    """Return the graph of a solved stack: what its releases require and bring, and which rules tie two of its components."""
    nodes = [
        GraphNode(
            id=p.component, name=p.name or p.component, version=p.version, layer=p.layer, origin=p.origin
        )
        for p in stack.pins
    ]
    inside = {n.id for n in nodes}
    edges = [
        edge
        for pin in stack.pins
        for edge in _edges_of_pin(catalog, pin, stack.target.arch)
        if edge.target in inside and not _is_replaced(edge, stack.pin(edge.target))
    ]
    tied = {(e.source, e.target) for e in edges}
    edges += [e for e in _rule_edges(catalog.rules, inside) if (e.source, e.target) not in tied]
    target = stack.target.instance or stack.target.gpu_name or stack.target.gpu
    return _finished(f"{target}, {stack.target.arch}", nodes, edges)


def catalog_graph(catalog: Catalog) -> Graph:
    """Return the graph of all components, each as its newest release whose requirements were read; reads every component."""
    nodes: list[GraphNode] = []
    edges: list[GraphEdge] = []
    for component in catalog.components():
        release = _representative(component)
        version = release.version.text if release else ""
        nodes.append(GraphNode(id=component.id, name=component.name, version=version, layer=component.layer))
        if release is not None:
            build = next((b for b in release.builds if b.default), None)
            edges += _edges(component.id, release, build, "")
    known = {n.id for n in nodes}
    return _finished(
        f"{_NEWEST_READ}, matrices {catalog.edition}", nodes, [e for e in edges if e.target in known]
    )


def around(graph: Graph, component: str) -> Graph:
    """Return the part of a graph that a component requires, directly or not, and that requires it; ties among those included."""
    ties = _directed(graph.nodes, graph.edges)
    if component not in ties:
        return Graph(title=graph.title, nodes=(), edges=())
    kept = nx.ancestors(ties, component) | nx.descendants(ties, component) | {component}
    return _finished(
        f"{component} in {graph.title}",
        [n for n in graph.nodes if n.id in kept],
        [e for e in graph.edges if e.source in kept and e.target in kept],
    )


def _representative(component: Component) -> Release | None:
    """Return the newest release whose requirements were read, else the newest."""
    read = (r for r in reversed(component.releases) if r.requires is not None)
    return next(read, component.releases[-1] if component.releases else None)


def _edges_of_pin(catalog: Catalog, pin: Pin, arch: str) -> Iterator[GraphEdge]:
    component = catalog.component(pin.component)
    version = parsed_version(component, pin.version) if component else None
    release = match_release(component, version) if component and version else None
    if release is None or version is None:
        return
    labelled = (b for b in release.builds if b.label == pin.build and (not b.arch or arch in b.arch))
    build = next(labelled, None) or match_build(release, version, arch or None, None)
    yield from _edges(pin.component, release, build, arch)


def _is_replaced(edge: GraphEdge, pin: Pin | None) -> bool:
    """Whether what the source brings is not what the stack uses: an installer's copy on the host beside the image's own."""
    return edge.kind is EdgeKind.BRINGS and pin is not None and pin.version != edge.label


def _edges(source: str, release: Release, build: Build | None, arch: str) -> Iterator[GraphEdge]:
    """Yield what a release and its build require (the build's word on a component replaces the release's) and bring."""
    overridden = {r.component for r in (build.requires if build else ())}
    asked = [r for r in release.requires or () if r.component not in overridden]
    ranges: dict[str, dict[str, None]] = {}
    for row in (*asked, *(build.requires if build else ())):
        if not row.extra and row.component != source and (not row.arch or not arch or arch in row.arch):
            told = f"{row.range}{' if there' if row.optional else ''}"
            ranges.setdefault(row.component, {})[told] = None
    for target, told_ranges in sorted(ranges.items()):
        yield GraphEdge(source, target, EdgeKind.REQUIRES, ", ".join(r for r in told_ranges if r))
    for target, version in sorted((release.bundles or {}).items()):
        yield GraphEdge(source, target, EdgeKind.BRINGS, version)


def _rule_edges(rules: Iterable[Rule], inside: set[str]) -> list[GraphEdge]:
    """Return one edge per pair of components that a relation of a rule ties, if all it looks at is in the graph."""
    found: dict[tuple[str, str], GraphEdge] = {}
    for rule in rules:
        if not rule.solver or rule.grade is not Grade.BROKEN or not isinstance(rule.require, Relation):
            continue
        left, right = head_of(rule.require.left), head_of(rule.require.right)
        looked_at = {head_of(s) for s in subjects_of(rule.when)} - {"gpu", "instance", "arch", "image"}
        if left != right and left in inside and right in inside and looked_at <= inside:
            pair = (right, left) if _asks_from_the_right(rule.require) else (left, right)
            sign = _SIGNS.get(rule.require.name, rule.require.name)
            found.setdefault(pair, GraphEdge(*pair, EdgeKind.RULE, f"{sign} ({rule.id})"))
    return [found[pair] for pair in sorted(found)]


def _asks_from_the_right(relation: Relation) -> bool:
    """Whether the right side is the one that asks: it states a floor, a set, or an attribute that the left one has to meet."""
    return relation.name in ("at_least", "within") or ("." in relation.right and "." not in relation.left)


def _finished(title: str, nodes: Iterable[GraphNode], edges: Iterable[GraphEdge]) -> Graph:
    ordered = tuple(sorted(nodes, key=lambda n: n.id))
    tied = tuple(dict.fromkeys(edges))
    asking = _directed(ordered, (e for e in tied if e.kind is not EdgeKind.RULE))
    groups = nx.condensation(asking)
    steps = [
        tuple(sorted(n for group in generation for n in groups.nodes[group]["members"]))
        for generation in nx.topological_generations(groups.reverse())
    ]
    cycles = sorted(tuple(sorted(c)) for c in nx.strongly_connected_components(asking) if len(c) > 1)
    return Graph(title=title, nodes=ordered, edges=tied, order=tuple(steps), cycles=tuple(cycles))


def _directed(nodes: Iterable[GraphNode], edges: Iterable[GraphEdge]) -> nx.DiGraph[str]:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(n.id for n in nodes)
    graph.add_edges_from((e.source, e.target) for e in edges)
    return graph
