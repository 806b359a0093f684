"""Component graphs as Graphviz dot, as Mermaid, and as JSON; layers are clusters.

Dot: https://graphviz.org/doc/info/lang.html; Mermaid: https://mermaid.js.org/syntax/flowchart.html. Texts are quoted by the rules of
each language: a matrix of the user's own may hold anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stackcheck.model.graph import EdgeKind, Graph, GraphEdge, GraphNode
from stackcheck.report.stack_text import LAYERS
from stackcheck.report.style import visible

SCHEMA = "stackcheck.graph/1"
_LONGEST = 120
_DOT_STYLES = {
    EdgeKind.REQUIRES: "solid",
    EdgeKind.BRINGS: "bold",
    EdgeKind.RULE: "dashed",
}
_MERMAID_ARROWS = {EdgeKind.REQUIRES: "-->", EdgeKind.BRINGS: "==>", EdgeKind.RULE: "-.->"}


def _layers(graph: Graph) -> Iterator[tuple[str, list[GraphNode]]]:
    """Yield each layer that has nodes, in the order in which people look for them."""
    known = [*LAYERS, *sorted({n.layer for n in graph.nodes} - set(LAYERS))]
    for layer in known:
        members = [n for n in graph.nodes if n.layer == layer]
        if members:
            yield layer, members


def render_dot(graph: Graph) -> str:
    """Return a graph in Graphviz's language, as text that ends with a newline."""
    lines = [
        "digraph stackcheck {",
        "  rankdir=LR;",
        "  newrank=true;",  # without it Graphviz gives up on ranks that are tied across many clusters
        f"  label={_dot(graph.title)};",
        '  node [shape=box, style=rounded, fontname="sans-serif"];',
        '  edge [fontname="sans-serif", fontsize=9];',
    ]
    for number, (layer, members) in enumerate(_layers(graph)):
        lines.append(f"  subgraph cluster_{number} {{")
        lines.append(f"    label={_dot(layer or 'other')};")
        lines += [f"    {_dot(n.id)} [label={_dot_lines(n.id, n.version)}];" for n in members]
        lines.append("  }")
    lines += [_dot_edge(e) for e in graph.edges]
    lines.append("}")
    return "\n".join(lines) + "\n"


def _dot_edge(edge: GraphEdge) -> str:
    label = f"label={_dot(edge.label)}, " if edge.label else ""
    return f"  {_dot(edge.source)} -> {_dot(edge.target)} [{label}style={_DOT_STYLES[edge.kind]}];"


def _dot(text: str) -> str:
    """Return a double-quoted string: in one, only the quote and the backslash mean something."""
    shown = visible(text, _LONGEST).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{shown}"'


def _dot_lines(first: str, second: str) -> str:
    return f"{_dot(first)[:-1]}\\n{_dot(second)[1:]}" if second else _dot(first)


def render_mermaid(graph: Graph) -> str:
    """Return a graph as a Mermaid flowchart, as text that ends with a newline."""
    ids = {node.id: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["---", f"title: {_mermaid_title(graph.title)}", "---", "flowchart LR"]
    for number, (layer, members) in enumerate(_layers(graph)):
        lines.append(f"  subgraph s{number}[{_mermaid(layer or 'other')}]")
        lines += [f"    {ids[n.id]}[{_mermaid(f'{n.id} {n.version}'.strip())}]" for n in members]
        lines.append("  end")
    for edge in graph.edges:
        label = f"|{_mermaid(edge.label)}|" if edge.label else ""
        lines.append(f"  {ids[edge.source]} {_MERMAID_ARROWS[edge.kind]}{label} {ids[edge.target]}")
    return "\n".join(lines) + "\n"


def _mermaid(text: str) -> str:
    """Return a quoted label: in one, entities stand for everything that could end it or be markup."""
    shown = visible(text, _LONGEST)
    return '"' + "".join(c if c.isalnum() or c in " .,:;=+-_/()!*@" else f"#{ord(c)};" for c in shown) + '"'


def _mermaid_title(text: str) -> str:
    """Return the title as a quoted YAML scalar, which knows no entities: what could be markup is left out."""
    shown = "".join(c if c.isalnum() or c in " .,:;=+-_/()*@" else " " for c in visible(text, _LONGEST))
    return f'"{shown}"'


def graph_to_json(graph: Graph) -> dict[str, Any]:
    """Return the JSON object of a graph: nodes, edges, an order in which all comes before what requires it, and cycles."""
    return {
        "schema": SCHEMA,
        "title": graph.title,
        "nodes": [
            {
                "id": n.id,
                "name": n.name,
                "version": n.version or None,
                "layer": n.layer or None,
                "origin": n.origin or None,
            }
            for n in graph.nodes
        ],
        "edges": [
            {"source": e.source, "target": e.target, "kind": str(e.kind), "label": e.label or None}
            for e in graph.edges
        ],
        "order": [list(step) for step in graph.order],
        "cycles": [list(cycle) for cycle in graph.cycles],
    }
