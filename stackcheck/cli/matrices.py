"""`stackcheck matrices`: status and lint of the data; harvest, update and diff."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

from stackcheck.cli import streams
from stackcheck.cli.parser import add_matrices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import date

    from stackcheck.catalog.catalog import Catalog

_HOLES = (
    "hole: what nobody has looked up yet. Nothing is wrong and nothing fails; the answers that would need it say unknown. "
    "--verbose lists them."
)
_COLUMNS = (
    "releases: how many are known; newest, released: the newest of them and its day; unread: releases whose requirements nobody has "
    "read; sources: how many stand behind the facts; age: days since a source of it was last read"
)
_MOST_FAULTS = 15  # shown per check unless --verbose


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the sub-commands of matrices."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    status = actions.add_parser("status", help="releases, sources and age per component")
    status.add_argument(
        "--older-than", type=int, metavar="DAYS", help="only components whose newest fact was read longer ago"
    )
    status.add_argument(
        "--upstream", action="store_true", help="also ask the package index which newer releases there are"
    )
    status.add_argument(
        "--through", choices=["direct", "pip"], default="direct", help="how to ask it: see `matrices harvest`"
    )
    status.add_argument("--index-url", metavar="URL", help="instead of pip's or uv's index")
    status.add_argument("--format", choices=["text", "json"], default="text")
    add_matrices(status)
    lint = actions.add_parser(
        "lint", help="prove what a schema cannot: references, ranges, sources, solvable targets"
    )
    lint.add_argument("-v", "--verbose", action="store_true", help="every fault and every hole")
    lint.add_argument(
        "--quick", action="store_true", help="leave out the resolution of every GPU and instance type"
    )
    add_matrices(lint)
    index = actions.add_parser("index", help="write index.json anew, after components or rules changed")
    add_matrices(index)
    from stackcheck.cli import matrices_diff, matrices_harvest, matrices_update

    harvest = actions.add_parser("harvest", help="what upstream says that the matrices do not")
    matrices_harvest.add_arguments(harvest)
    update = actions.add_parser("update", help="install newer data, or return to the data before")
    matrices_update.add_arguments(update)
    diff = actions.add_parser("diff", help="the verdicts and facts that two data sets do not share")
    matrices_diff.add_arguments(diff)


def run(options: argparse.Namespace) -> int:
    """Do the action."""
    from stackcheck.cli import matrices_diff, matrices_harvest, matrices_update
    from stackcheck.cli.data import open_data

    others = {"harvest": matrices_harvest.run, "update": matrices_update.run, "diff": matrices_diff.run}
    if options.action in others:
        return others[options.action](options)
    if options.action == "lint":
        return _lint(options)
    catalog = open_data(options.matrices)
    return {"status": _status, "index": _index}[options.action](catalog, options)


def _index(catalog: Catalog, options: argparse.Namespace) -> int:
    import json

    from stackcheck.catalog.catalog import INDEX
    from stackcheck.catalog.files import matrices_root

    root = options.matrices or matrices_root()
    body = {
        "about": "Made by `stackcheck matrices index`; do not edit.",
        "aliases": catalog.gathered_aliases(),
        "rules": catalog.rulebook.indexed(),
    }
    text = json.dumps(body, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    streams.write_file(f"{root}/{INDEX}", text)
    streams.answer(f"wrote {INDEX}: {len(body['aliases'])} names, {len(body['rules'])} files of rules")
    return streams.OK


def _status(catalog: Catalog, options: argparse.Namespace) -> int:
    from datetime import UTC, datetime

    from stackcheck.report.style import counted

    today = datetime.now(tz=UTC).date()
    rows = [row for c in catalog.component_ids if (row := _status_row(catalog, c, today)) is not None]
    if options.older_than is not None:
        rows = [r for r in rows if r["age_days"] is None or r["age_days"] > options.older_than]
    newer: dict[str, tuple[str, ...]] = {}
    if options.upstream:
        from stackcheck.cli.matrices_harvest import newer_upstream

        newer = newer_upstream(options.matrices, options.through, options.index_url)
    if options.format == "json":
        import json

        streams.answer(
            json.dumps(
                {
                    "schema": "stackcheck.matrices-status/1",
                    "version": catalog.version,
                    "overlay": catalog.overlay or None,
                    "components": rows,
                    **({"upstream": newer} if options.upstream else {}),
                },
                indent=2,
            )
        )
        return streams.OK
    lines = [
        f"matrices {catalog.edition}",
        f"{'component':28}{'releases':>9}{'newest':>22}{'released':>12}{'unread':>8}{'sources':>9}{'age':>7}",
    ]
    for r in rows:
        age = "?" if r["age_days"] is None else f"{r['age_days']} d"
        lines.append(
            f"{r['component']:28}{r['releases']:>9}{r['newest'] or '-':>22}{r['released'] or '?':>12}"
            f"{r['requirements_unknown']:>8}{r['sources']:>9}{age:>7}"
        )
    releases, unread = (sum(int(r[key] or 0) for r in rows) for key in ("releases", "requirements_unknown"))
    lines.append(f"{counted(len(rows), 'component', 'components'):28}{releases:>9}{'':34}{unread:>8}")
    images, rules = len(catalog.images), len(catalog.rules)
    lines.append(
        f"{len(catalog.gpu_ids)} GPUs, {len(catalog.instance_ids)} instance types, {images} images, {rules} rules and advisories"
    )
    if options.upstream:
        lines += ["", "newer upstream: " + ("" if newer else "nothing that these do not know")]
        lines += [f"  {name:26}{', '.join(versions[:5])}" for name, versions in newer.items()]
    lines += ["", *textwrap.wrap(_COLUMNS, 100)]
    streams.answer("\n".join(lines))
    return streams.OK


def _status_row(catalog: Catalog, name: str, today: date) -> dict[str, str | int | None] | None:
    from datetime import date

    component = catalog.component(name)
    if component is None:
        return None
    read = max([component.read, *(s.read for s in component.sources.values())], default="")
    refs = {k for r in component.releases for k in r.sources} | set(component.sources)
    newest = component.releases[-1] if component.releases else None
    return {
        "component": name,
        "releases": len(component.releases),
        "newest": newest.version.text if newest else None,
        "released": (newest.date or None) if newest else None,
        "requirements_unknown": sum(r.requires is None for r in component.releases),
        "sources": len(refs),
        "read": read or None,
        "age_days": (today - date.fromisoformat(read)).days if read else None,
    }


def _lint(options: argparse.Namespace) -> int:
    from stackcheck.catalog.files import FORMAT, format_of, matrices_root, newer_format
    from stackcheck.catalog.lint import lint
    from stackcheck.catalog.validate import faults_by_file
    from stackcheck.cli.data import open_data
    from stackcheck.report.style import counted

    root = Path(options.matrices or matrices_root())
    if not root.is_dir():
        open_data(options.matrices)  # says so
    if format_of(str(root)) > FORMAT:
        raise newer_format(str(root), format_of(str(root)))
    schema_faults = faults_by_file(str(root), schemas=f"{matrices_root()}/schema")
    failed = bool(schema_faults)
    lines = [
        f"{'FAIL' if failed else 'ok':5}SCHEMA  files match their JSON Schemas"
        + (f" ({counted(len(schema_faults), 'fault', 'faults')})" if failed else "")
    ]
    lines += _shown([f"{where}: {text}" for where, text in schema_faults], options)
    if failed and options.matrices:
        streams.answer("\n".join(lines))  # what breaks its schema cannot be read, let alone judged further
        return streams.FINDINGS
    catalog = open_data(options.matrices)
    lines += _replaced(root)
    for check, faults in lint(catalog, streams.progress):
        bad = bool(faults) and check.fatal
        failed = failed or bad
        word = "FAIL" if bad else ("ok" if check.fatal else "hole")
        lines.append(f"{word:5}{check.code} {check.name}" + (f" ({len(faults)})" if faults else ""))
        if faults and (check.fatal or options.verbose):
            lines += _shown([f"{_placed(f.where, root)}: {f.text}" for f in faults], options)
    if not failed and not options.quick:
        unsolved = _unsolved(catalog)
        failed = bool(unsolved)
        lines.append(f"{'FAIL' if unsolved else 'ok':5}SOL:001 every GPU and instance type has a stack")
        lines += [f"       {u}" for u in unsolved]
    if any(line.startswith("hole") for line in lines):
        lines.append(_HOLES)
    streams.progress("")
    streams.answer("\n".join(lines))
    return streams.FINDINGS if failed else streams.OK


def _shown(faults: list[str], options: argparse.Namespace) -> list[str]:
    """Return faults as lines, the first ones and how many more there are unless all were asked for."""
    shown = faults if options.verbose else faults[:_MOST_FAULTS]
    rest = len(faults) - len(shown)
    return [f"       {streams.printable(fault)}" for fault in shown] + (
        [f"       and {rest} more with --verbose"] if rest else []
    )


def _replaced(root: Path) -> list[str]:
    """Return a line that names the shipped files which an overlay replaces; they no longer count at all."""
    import os

    from stackcheck.catalog.files import base_root
    from stackcheck.catalog.validate import matrix_files

    if (root / "VERSION").is_file():
        return []
    shipped = Path(base_root(os.environ))
    names = [name for name in matrix_files(str(root)) if (shipped / name).is_file()]
    return [f"note overlay replaces these shipped files as a whole: {', '.join(names)}"] if names else []


def _placed(where: str, root: Path) -> str:
    """Return where a fault is with the path of the file, if it lies below `root`: an overlay's faults are not the shipped data's."""
    name, blank, rest = where.removeprefix("matrices/").partition(" ")
    file, hash_sign, pointer = name.partition("#")
    return f"{root / file}{hash_sign}{pointer}{blank}{rest}" if (root / file).is_file() else where


def _unsolved(catalog: Catalog) -> list[str]:
    from stackcheck.solver.request import Request
    from stackcheck.solver.resolve import resolve

    faults = []
    requests = [(f"--gpu {g}", Request(gpu=g)) for g in catalog.gpu_ids]
    requests += [(f"--instance {i}", Request(gpu="", instance=i)) for i in catalog.instance_ids]
    for name, request in requests:
        streams.progress(f"SOL:001 {name}")
        stack = resolve(catalog, request)
        if stack.conflict is not None:
            faults.append(f"{name}: {' / '.join(stack.conflict.chain)}")
    return faults
