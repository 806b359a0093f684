"""`stackcheck why`: why a component has the version it has, and why not a newer one."""

from __future__ import annotations

import argparse

from stackcheck.cli import output, streams
from stackcheck.cli.parser import add_target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stackcheck.catalog.catalog import Catalog
    from stackcheck.model.explanation import Explanation
    from stackcheck.model.stack import Stack
    from stackcheck.solver.request import Request

IMAGE = "image"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of why."""
    parser.add_argument("component", metavar="COMPONENT", help="a component, a package name, or `image`")
    add_target(parser, lock="explain the pins of this lock; instead of the other flags")
    parser.add_argument("--all", action="store_true", help="write out every version that was passed over")
    output.add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Resolve again, and explain one pin; on a conflict print the conflict."""
    from stackcheck.catalog.names import component_named
    from stackcheck.cli.data import open_data
    from stackcheck.cli.request import request_from, request_of_lock
    from stackcheck.report.why_text import explanation_to_json, render_explanation

    catalog = open_data(options.matrices)
    component = (
        IMAGE if options.component.lower() == IMAGE else component_named(catalog, options.component).id
    )
    if options.lock:
        request, lock = request_of_lock(options, catalog)
        told = _of_lock(catalog, request, lock, component)
    else:
        request = request_from(options, catalog)
        told = _explained(catalog, request, component)
    if told is None:
        from stackcheck.cli.resolve import deliver_stack
        from stackcheck.solver.resolve import resolve

        deliver_stack(resolve(catalog, request), options)
        return streams.FINDINGS
    output.deliver(
        options,
        lambda: render_explanation(told, **output.looks(), every=options.all),
        lambda: explanation_to_json(told),
    )
    return streams.OK


def _explained(
    catalog: Catalog, request: Request, component: str, notes: tuple[str, ...] = ()
) -> Explanation | None:
    """Return the explanation, or None if there is no stack."""
    from stackcheck.solver.explain_pin import explain_pin
    from stackcheck.solver.resolve import question

    encoding, solution = question(catalog, request)
    return None if solution is None else explain_pin(encoding, solution, component, notes=notes)


def _of_lock(catalog: Catalog, request: Request, lock: Stack, component: str) -> Explanation | None:
    """Return the explanation of a lock's pin; where today's data would choose another version, of the lock's own if it still fits."""
    told = _explained(catalog, request, component)
    pinned = lock.pin(component)
    if told is None or pinned is None or (told.pin is not None and told.pin.version == pinned.version):
        return told
    today = told.pin.version if told.pin else "none"
    keep = {p.component: p.version for p in lock.pins}
    note = f"the lock has {component} {pinned.version}; asked again, the matrices give {today}"
    return _explained(catalog, request._replace(keep=keep), component, (note,))
