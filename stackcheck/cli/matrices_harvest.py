"""`stackcheck matrices harvest`: what upstream says that the matrices do not, as a diff or written into them."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from stackcheck.catalog.catalog import Catalog
from stackcheck.cli import streams
from stackcheck.cli.parser import add_matrices
from stackcheck.model.errors import InputError, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of harvest."""
    parser.add_argument(
        "components", nargs="*", metavar="COMPONENT", help="only these; default: all that upstream has"
    )
    parser.add_argument("--days", type=int, default=90, help="read releases of the last so many days (90)")
    parser.add_argument(
        "--newest", type=int, default=0, metavar="N", help="and the newest N of each, whatever their day"
    )
    parser.add_argument("--again", action="store_true", help="also compare what was read before")
    parser.add_argument(
        "--through",
        choices=["direct", "pip"],
        default="direct",
        help="ask the package index ourselves, or let the installed pip ask",
    )
    parser.add_argument("--index-url", default="", metavar="URL", help="instead of pip's or uv's index")
    parser.add_argument("--cache", metavar="DIR", help="where answers are kept, so that a run can be resumed")
    parser.add_argument(
        "--requests", type=int, default=1_500, metavar="N", help="stop after N requests (1500)"
    )
    parser.add_argument(
        "--write", action="store_true", help="edit the matrices instead of showing the diff only"
    )
    parser.add_argument("--format", choices=["text", "json"], default="text")
    parser.add_argument("-v", "--verbose", action="store_true", help="every line of the diff")
    add_matrices(parser)


def run(options: argparse.Namespace) -> int:
    """Harvest, reconcile, show, and write if asked to; 1 if something contradicts the reviewed data."""
    from stackcheck.catalog import open_catalog
    from stackcheck.catalog.files import matrices_root
    from stackcheck.harvest.diff_text import json_of, text_of
    from stackcheck.harvest.reconcile import Kind

    catalog = open_catalog(options.matrices)
    root = Path(options.matrices or matrices_root())
    if options.write and not os.access(root, os.W_OK):
        raise InputError(
            "cannot be written", where=str(root), fix="give --matrices DIR, a copy of the matrices"
        )
    proposals, remarks, bodies = _proposals(catalog, root, options)
    if options.write:
        _write(bodies)
    streams.answer(
        json.dumps(json_of(proposals, remarks), indent=2)
        if options.format == "json"
        else text_of(proposals, remarks, verbose=options.verbose)
    )
    return streams.FINDINGS if any(p.kind is Kind.CONTRADICTING for p in proposals) else streams.OK


def _proposals(
    catalog: Catalog, root: Path, options: argparse.Namespace
) -> tuple[list[Any], list[Any], dict[Path, Any]]:
    from stackcheck.catalog.files import read_json
    from stackcheck.harvest import edit
    from stackcheck.harvest.packages import Remark, Wish, harvest
    from stackcheck.harvest.reconcile import Kind, compare
    from stackcheck.harvest.requirement_rows import names_of
    from stackcheck.harvest.upstreams import load

    today = datetime.now(tz=UTC).date()
    since = (today - timedelta(days=options.days)).isoformat()
    names = names_of(catalog, load(str(root / "upstreams.json")))
    components = _chosen(catalog, options.components)
    wish = Wish(since=since, newest=options.newest, again=options.again)
    with _door(options, names.pythons) as door:
        facts = list(harvest(components, door, names, wish, today.isoformat()))
    remarks = [f for f in facts if isinstance(f, Remark)]
    candidates = [f for f in facts if not isinstance(f, Remark)]
    proposals: list[Any] = []
    bodies: dict[Path, Any] = {}
    for component in components:
        path = root / "components" / f"{component.id}.json"
        body = read_json(str(path))
        mine = [c for c in candidates if c.component == component.id]
        found = compare(body, mine, complete=options.through == "direct" and bool(mine), since=since)
        proposals += found
        doubted = {p.release for p in found if p.kind in (Kind.CONTRADICTING, Kind.UNLISTED)}
        agreed = {c.release: c.release not in doubted for c in mine if c.field == "requires"}
        edited = edit.confirmed(edit.apply(body, found), agreed)
        if edited != body:
            bodies[path] = edited
    return proposals, remarks, bodies


def _chosen(catalog: Catalog, names: Sequence[str]) -> list[Any]:
    from stackcheck.catalog.names import component_named
    from stackcheck.harvest.packages import packages_of

    if not names:
        return [c for c in catalog.components() if packages_of(c)]
    chosen = [component_named(catalog, name) for name in names]
    for component in chosen:
        if not packages_of(component):
            raise UsageError(
                f"{component.id} is no Python package", fix="see docs/harvest.md for its upstream"
            )
    return chosen


def _door(options: argparse.Namespace, pythons: Iterable[str]) -> Any:
    from contextlib import contextmanager

    from stackcheck.harvest.cache import Cache, default_directory
    from stackcheck.harvest.client import Client, Limits
    from stackcheck.harvest.door import DirectDoor, PipDoor
    from stackcheck.harvest.settings import read

    @contextmanager
    def opened() -> Any:
        cache = Cache(Path(options.cache) if options.cache else default_directory(os.environ))
        if options.through == "pip":
            newest_first = sorted(pythons, key=lambda p: [int(n) for n in p.split(".")], reverse=True)
            pythons_to_try = _likeliest(newest_first)
            yield PipDoor(os.environ, index=options.index_url, pythons=pythons_to_try, cache=cache)
            return
        settings = read(os.environ, index=options.index_url)
        with Client(
            limits=Limits(requests=options.requests),
            cache=cache,
            proxy=settings.proxy,
            ca=settings.ca,
            credentials=settings.credentials,
            progress=progress,
        ) as client:
            yield DirectDoor(client, settings.index)

    return opened()


def _likeliest(newest_first: Sequence[str]) -> tuple[str, ...]:
    """Return the minors to ask pip for: one from the middle first, which most releases of any age serve."""
    middle = len(newest_first) // 2
    return tuple(newest_first[max(0, middle - 1) :]) + tuple(newest_first[: max(0, middle - 1)])


def progress(text: str) -> None:
    """Show on one line of a terminal what is being asked for; nothing anywhere else."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{streams.printable(text)[: streams.width() - 1]}")
        sys.stderr.flush()


def _write(bodies: dict[Path, Any]) -> None:
    from stackcheck.harvest.edit import canonical

    for path, body in bodies.items():
        streams.write_file(str(path), canonical(body))
