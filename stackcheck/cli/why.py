"""`stackcheck why`: why a component has the version it has, and why not a newer one."""

from __future__ import annotations

import argparse
import re

from stackcheck.cli import output, streams
from stackcheck.cli.parser import add_target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from stackcheck.catalog.catalog import Catalog
    from stackcheck.model.explanation import Explanation
    from stackcheck.model.stack import Stack
    from stackcheck.solver.request import Request

IMAGE = "image"
_ONE = re.compile(r"==\s*[^\s,|<>=!~]+")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of why."""
    parser.add_argument(
        "component",
        metavar="COMPONENT[==V]",
        help="a component, a package name, or `image`; with a version: why not that one",
    )
    parser.add_argument("version", nargs="?", metavar="V", help="the same as ==V behind the component")
    add_target(parser, lock="explain the pins of this lock; instead of the other flags")
    parser.add_argument("--all", action="store_true", help="write out every version that was passed over")
    output.add_format(parser)


def run(options: argparse.Namespace) -> int:
    """Resolve again, and explain one pin; on a conflict print the conflict."""
    from stackcheck.cli.data import open_data
    from stackcheck.cli.request import request_from, request_of_lock
    from stackcheck.report.why_text import explanation_to_json, render_explanation

    catalog = open_data(options.matrices)
    component, version = _asked(options, catalog)
    if options.lock:
        request, lock = request_of_lock(options, catalog)
        told = _of_lock(catalog, request, lock, component)
    else:
        request = request_from(options, catalog)
        told = _explained(catalog, request, component)
    if told is not None and version:
        told, request = _of_version(catalog, request, told, version)
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


def _asked(options: argparse.Namespace, catalog: Catalog) -> tuple[str, str]:
    """Return the component and the range of the one version that is asked about, or an empty text.

    Raises:
        UsageError: nobody knows the component, or the range is of more than one version.
    """
    from stackcheck.catalog.names import component_named
    from stackcheck.model.errors import UsageError
    from stackcheck.model.ranges import Range
    from stackcheck.solver.request import parse_wish
    from stackcheck.solver.resolve import widened

    text = options.component + (f"=={options.version}" if options.version else "")
    if text.lower() == IMAGE:
        return IMAGE, ""
    wish = parse_wish(text, flag="why")
    component = component_named(catalog, wish.component)
    try:
        Range(wish.range, component.scheme)
    except ValueError as fault:
        raise UsageError(f"why {text[:80]!r}: {fault}", fix=f"write {component.id}==V") from fault
    if wish.range and not _ONE.fullmatch(wish.range):
        raise UsageError(
            f"why {text[:80]!r} is about more than one version",
            fix=f"write {component.id}==V, or ask `stackcheck resolve --with {text[:80]!r}`",
        )
    return component.id, widened(wish.range, component)


def _of_version(
    catalog: Catalog, request: Request, told: Explanation, wanted: str
) -> tuple[Explanation | None, Request]:
    """Return why a stack does not have a version, or what holds it where it is asked for; None if no stack can have it."""
    from dataclasses import replace

    from stackcheck.solver.request import Wish

    matching = _matcher(catalog, told.component, wanted)
    if told.pin is not None and matching(told.pin.version):
        return told, request
    groups = [(g, tuple(v for v in g.versions if matching(v))) for g in (*told.newer, *told.preferred)]
    if any(versions for _, versions in groups):
        kept = {id(g): replace(g, versions=versions) for g, versions in groups if versions}
        newer = tuple(kept[id(g)] for g in told.newer if id(g) in kept)
        preferred = tuple(kept[id(g)] for g in told.preferred if id(g) in kept)
        return replace(told, newer=newer, preferred=preferred), request
    wish = Wish(component=told.component, range=wanted)
    asked = request._replace(wishes=(*request.wishes, wish))
    pinned = told.pin.version if told.pin else "none"
    note = (
        f"unasked, this stack has {told.component} {pinned}; --with '{wish.text}' was added to the question"
    )
    return _explained(catalog, asked, told.component, (*told.notes, note)), asked


def _matcher(catalog: Catalog, name: str, wanted: str) -> Callable[[str], bool]:
    """Return whether a version text lies in the range, whatever its build is called."""
    from stackcheck.catalog.evaluate import parsed_range
    from stackcheck.catalog.identify import parsed_version

    component = catalog.component(name)
    bounds = parsed_range(wanted, component.scheme) if component else None

    def matches(text: str) -> bool:
        version = parsed_version(component, text.partition(" ")[0]) if component else None
        return bounds is not None and version is not None and version in bounds

    return matches


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
