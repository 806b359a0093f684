"""`stackcheck graph`: what requires what, in a stack, around a component, or in the whole catalog."""

from __future__ import annotations

import argparse

from stackcheck.cli import streams
from stackcheck.cli.parser import add_target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stackcheck.catalog.catalog import Catalog
    from stackcheck.model.graph import Graph
    from stackcheck.model.stack import Stack


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of graph."""
    add_target(parser, lock="draw the stack of this lock; instead of the other flags")
    parser.add_argument(
        "--component",
        metavar="NAME",
        help="only what it requires and what requires it; without a stack: among the newest releases whose requirements were read",
    )
    parser.add_argument("--format", choices=["dot", "mermaid", "json"], default="dot")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the graph here; - is stdout")


def run(options: argparse.Namespace) -> int:
    """Resolve or read the stack, and draw it; on a conflict print the conflict."""
    from stackcheck.catalog.graph import around, catalog_graph, stack_graph
    from stackcheck.catalog.names import component_named
    from stackcheck.cli.data import open_data
    from stackcheck.cli.request import describes_stack

    catalog = open_data(options.matrices)
    component = component_named(catalog, options.component).id if options.component else ""
    if options.lock or describes_stack(options):
        stack = _stack(catalog, options)
        if not stack.solved:
            return _conflict(stack, options)
        graph = stack_graph(catalog, stack)
        _require_member(component, [n.id for n in graph.nodes], stack)
    else:
        graph = catalog_graph(catalog)
    text = _rendered(around(graph, component) if component else graph, options.format)
    streams.deliver(options.output, text)
    return streams.OK


def _stack(catalog: Catalog, options: argparse.Namespace) -> Stack:
    from stackcheck.cli.request import request_from, request_of_lock

    if options.lock:
        return request_of_lock(options, catalog)[1]
    from stackcheck.solver.resolve import resolve

    return resolve(catalog, request_from(options, catalog))


def _conflict(stack: Stack, options: argparse.Namespace) -> int:
    from stackcheck.cli.resolve import deliver_stack

    options.format = "json" if options.format == "json" else "text"
    deliver_stack(stack, options)
    return streams.FINDINGS


def _require_member(component: str, members: list[str], stack: Stack) -> None:
    """Make sure that the stack has the component.

    Raises:
        UsageError: it has not.
    """
    if component and component not in members:
        from stackcheck.model.errors import UsageError

        more = "--images none pins what the image does not state, and " if stack.image else ""
        raise UsageError(f"{component} is not in this stack", fix=f"{more}it has {', '.join(members)}")


def _rendered(graph: Graph, name: str) -> str:
    from stackcheck.report.graph_text import graph_to_json, render_dot, render_mermaid

    if name == "json":
        import json

        return json.dumps(graph_to_json(graph), indent=2) + "\n"
    return render_dot(graph) if name == "dot" else render_mermaid(graph)
