"""`stackcheck matrices harvest`: what upstream says that the matrices do not, as a diff or written into them."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from stackcheck.catalog.catalog import Catalog
from stackcheck.cli import streams
from stackcheck.cli.parser import add_matrices
from stackcheck.model.errors import InputError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stackcheck.harvest.client import Credentials
    from stackcheck.harvest.collect import Context
    from stackcheck.harvest.interface import Candidate
    from stackcheck.harvest.packages import Remark
    from stackcheck.harvest.reconcile import Proposal
    from stackcheck.model.release import Component


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of harvest."""
    from stackcheck.harvest.registry import HARVESTERS

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
    parser.add_argument(
        "--what",
        action="append",
        default=[],
        choices=[h.id for h in HARVESTERS],
        help="kinds of upstream to read (packages); may be given again",
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
    from stackcheck.catalog.files import matrices_root
    from stackcheck.cli.data import open_data
    from stackcheck.harvest.diff_text import json_of, text_of
    from stackcheck.harvest.reconcile import Kind

    catalog = open_data(options.matrices)
    root = Path(options.matrices or matrices_root())
    if options.write and not os.access(root, os.W_OK):
        raise InputError(
            "cannot be written", where=str(root), fix="give --matrices DIR, a copy of the matrices"
        )
    proposals, remarks, bodies = _reconciled(catalog, root, options)
    if options.write:
        _write(bodies)
    streams.answer(
        json.dumps(json_of(proposals, remarks), indent=2)
        if options.format == "json"
        else text_of(proposals, remarks, verbose=options.verbose)
    )
    return streams.FINDINGS if any(p.kind is Kind.CONTRADICTING for p in proposals) else streams.OK


def _reconciled(
    catalog: Catalog, root: Path, options: argparse.Namespace
) -> tuple[list[Proposal], list[Remark], dict[Path, Any]]:
    """Return proposals, remarks, and the bodies of the files that would change, as they would be."""
    from stackcheck.harvest.packages import Remark
    from stackcheck.harvest.registry import HARVESTERS

    chosen = options.what or ["packages"]
    with _context(catalog, root, options) as context:
        facts = [f for h in HARVESTERS if h.id in chosen for f in h.collect(context)]
    remarks = [f for f in facts if isinstance(f, Remark)]
    candidates = [f for f in facts if not isinstance(f, Remark)]
    proposals: list[Proposal] = []
    bodies: dict[Path, Any] = {}
    for path, found, edited in (
        *_components(context, candidates, root, options),
        *_images(catalog, candidates, root),
    ):
        proposals += found
        if edited is not None:
            bodies[path] = edited
    return proposals, remarks, bodies


def _components(
    context: Context, candidates: list[Candidate], root: Path, options: argparse.Namespace
) -> Iterator[tuple[Path, Sequence[Proposal], Any]]:
    from stackcheck.catalog.files import read_json
    from stackcheck.harvest import edit
    from stackcheck.harvest.reconcile import Kind, compare

    whole = options.through == "direct" and options.what in ([], ["packages"])
    for component in context.components:
        mine = [c for c in candidates if c.component == component.id]
        if not mine:
            continue
        path = root / "components" / f"{component.id}.json"
        body = read_json(str(path))
        found = compare(body, mine, complete=whole, since=context.wish.since)
        doubted = {p.release for p in found if p.kind in (Kind.CONTRADICTING, Kind.UNLISTED)}
        agreed = {c.release: c.release not in doubted for c in mine if c.field == "requires"}
        edited = edit.confirmed(edit.apply(body, found), agreed)
        yield path, found, edited if edited != body else None


def _images(
    catalog: Catalog, candidates: list[Candidate], root: Path
) -> Iterator[tuple[Path, Sequence[Proposal], Any]]:
    from stackcheck.catalog.files import read_json
    from stackcheck.harvest import image_tags

    known = set(catalog.component_ids)
    repositories = {c.component for c in candidates if c.component not in known}
    for path in sorted(root.glob("images/*/*.json")) if repositories else ():
        body = read_json(str(path))
        names = {str(body["repository"])}
        names |= {str(i.get("public_reference") or "").rpartition(":")[0] for i in body["images"]}
        mine = [c for c in candidates if c.component in names & repositories]
        if mine:
            found = image_tags.compare(body, mine)
            edited = image_tags.apply(body, found)
            yield path, found, edited if edited != body else None


def _chosen(catalog: Catalog, options: argparse.Namespace) -> tuple[Component, ...]:
    from stackcheck.catalog.names import component_named
    from stackcheck.harvest.packages import packages_of

    if not options.components:
        return catalog.components()
    chosen = tuple(component_named(catalog, name) for name in options.components)
    for component in chosen:
        if not packages_of(component) and (options.what or ["packages"]) == ["packages"]:
            raise UsageError(f"{component.id} is no Python package", fix="see --what, and docs/harvest.md")
    return chosen


@contextmanager
def _context(catalog: Catalog, root: Path, options: argparse.Namespace) -> Iterator[Context]:
    from stackcheck.harvest.cache import Cache, default_directory
    from stackcheck.harvest.client import Client, Limits, nobody
    from stackcheck.harvest.collect import Context
    from stackcheck.harvest.door import DirectDoor, Door, PipDoor
    from stackcheck.harvest.packages import Wish
    from stackcheck.harvest.requirement_rows import names_of
    from stackcheck.harvest.settings import network, read
    from stackcheck.harvest.upstreams import load

    today = datetime.now(tz=UTC).date()
    names = names_of(catalog, load(str(root / "upstreams.json")))
    cache = Cache(Path(options.cache) if options.cache else default_directory(os.environ))
    proxy, ca = network(os.environ)
    credentials: Credentials = nobody
    index = ""
    if options.through == "direct" and (options.what or ["packages"]).count("packages"):
        settings = read(os.environ, index=options.index_url)
        index, credentials = settings.index, settings.credentials
    limits = Limits(requests=options.requests)
    with Client(
        limits=limits, cache=cache, proxy=proxy, ca=ca, credentials=credentials, progress=progress
    ) as client:
        door: Door = DirectDoor(client, index)
        if options.through == "pip":
            door = PipDoor(
                os.environ, index=options.index_url, pythons=_likeliest(names.pythons), cache=cache
            )
        yield Context(
            catalog=catalog,
            components=_chosen(catalog, options),
            names=names,
            upstreams=names.upstreams,
            wish=Wish(
                since=(today - timedelta(days=options.days)).isoformat(),
                newest=options.newest,
                again=options.again,
            ),
            today=today.isoformat(),
            client=client,
            door=door,
        )


def _likeliest(pythons: Sequence[str]) -> tuple[str, ...]:
    """Return the minors to ask pip for: one from the middle first, which most releases of any age serve."""
    newest_first = sorted(pythons, key=lambda p: [int(n) for n in p.split(".")], reverse=True)
    middle = max(0, len(newest_first) // 2 - 1)
    return (*newest_first[middle:], *newest_first[:middle])


def progress(text: str) -> None:
    """Show on one line of a terminal what is being asked for; nothing anywhere else."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{streams.printable(text)[: streams.width() - 1]}")
        sys.stderr.flush()


def _write(bodies: dict[Path, Any]) -> None:
    from stackcheck.harvest.edit import canonical

    for path, body in bodies.items():
        streams.write_file(str(path), canonical(body))


def newer_upstream(directory: str | None, through: str, index_url: str | None) -> dict[str, tuple[str, ...]]:
    """Return by component the releases of the package index that are newer than all the matrices know, newest first.

    Raises:
        HarvestError: no index is configured, or too many questions were asked.
    """
    from stackcheck.catalog.files import matrices_root
    from stackcheck.cli.data import open_data
    from stackcheck.cli.parser import Parser
    from stackcheck.harvest.interface import BudgetError, HarvestError
    from stackcheck.harvest.packages import Wish, packages_of, wanted

    parser = Parser(prog="stackcheck matrices harvest")
    add_arguments(parser)
    flags = ["--through", through, *(["--index-url", index_url] if index_url else [])]
    catalog, found = open_data(directory), {}
    with _context(catalog, Path(directory or matrices_root()), parser.parse(flags)) as context:
        for component in context.components:
            try:
                offered = {v for name in packages_of(component) for v in context.door.versions(name)}
            except BudgetError:
                raise
            except (
                HarvestError
            ) as fault:  # one package that is not there keeps nobody from asking for the others
                streams.remark(f"{component.id}: {fault}")
                continue
            known = {r.version.text for r in component.releases}
            new = [v for v in wanted(component, Wish(since="9999"), offered=offered) if v not in known]
            if new and known:
                found[component.id] = tuple(new)
    return found
