"""`stackcheck matrices diff A B`: which verdicts two data sets do not share, and which facts lie behind."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from stackcheck.cli import streams
from stackcheck.model.errors import InputError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from stackcheck.catalog.catalog import Catalog
    from stackcheck.harvest.fact_diff import Change
    from stackcheck.harvest.verdicts import Flip

_MOST_CASES = 5_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of diff."""
    parser.add_argument("a", metavar="A", help="a whole data set: a folder, `shipped`, or `installed`")
    parser.add_argument("b", metavar="B", help="another one")
    parser.add_argument(
        "--cases", metavar="DIR", help="golden cases (default: those of the checkout, if there is one)"
    )
    parser.add_argument(
        "--gpu",
        action="append",
        default=[],
        help="judge the shipped images on this GPU too; may be given again",
    )
    parser.add_argument(
        "--accept",
        action="append",
        default=[],
        metavar="CASE:REASON",
        help="a golden case that may flip, and why",
    )
    parser.add_argument("--format", choices=["text", "json"], default="text")


def run(options: argparse.Namespace) -> int:
    """Compare; 1 if a golden case flips without a recorded reason."""
    from stackcheck.catalog.files import FileStore
    from stackcheck.harvest.fact_diff import changes

    a, b = _root(options.a), _root(options.b)
    reasons = _reasons(options.accept)
    facts = changes(FileStore((a,)), FileStore((b,)))
    found = _flips(a, b, options) if facts else []
    unexplained = [f for f in found if f.golden and f.subject.removeprefix("case ") not in reasons]
    if options.format == "json":
        streams.answer(json.dumps(_json(facts, found, reasons), indent=2))
    else:
        streams.answer(_text(facts, found, reasons))
    return streams.FINDINGS if unexplained else streams.OK


def _root(name: str) -> str:
    from stackcheck.catalog.files import FORMAT, format_of, installed_root, matrices_root, newer_format

    root = {"shipped": matrices_root(), "installed": installed_root(os.environ)}.get(name, name)
    if not root:
        raise InputError("no data set is installed", where=name, fix="stackcheck matrices update --from ...")
    if not (Path(root) / "VERSION").is_file():
        raise InputError("holds no whole data set (no file VERSION)", where=root)
    if format_of(root) > FORMAT:
        raise newer_format(root, format_of(root))
    return root


def _reasons(given: Sequence[str]) -> dict[str, str]:
    reasons = {}
    for text in given:
        name, colon, reason = text.partition(":")
        if not colon or not reason.strip():
            raise UsageError("--accept needs CASE:REASON", fix="say why the case may flip")
        reasons[name.strip()] = reason.strip()
    return reasons


def _flips(a: str, b: str, options: argparse.Namespace) -> list[Flip]:
    from stackcheck.catalog.catalog import Catalog
    from stackcheck.catalog.files import FileStore
    from stackcheck.harvest import verdicts

    one, other = Catalog(FileStore((a,))), Catalog(FileStore((b,)))
    cases = _cases(options.cases)
    before = {f"case {name}": _answer(one, argv) for name, argv in cases.items()}
    after = {f"case {name}": _answer(other, argv) for name, argv in cases.items()}
    found = list(verdicts.flips(before, after, golden=True))
    found += verdicts.flips(verdicts.targets(one), verdicts.targets(other))
    found += verdicts.flips(verdicts.images(one, options.gpu), verdicts.images(other, options.gpu))
    return found


def _cases(directory: str | None) -> dict[str, list[str]]:
    """Return the command line of each golden case about resolving, by name; those that read further files are left out."""
    from stackcheck.catalog.files import matrices_root, read_json

    folder = Path(directory) if directory else Path(matrices_root()).parent / "tests" / "cases"
    if not folder.is_dir():
        if directory:
            raise InputError("no such directory of cases", where=directory)
        return {}
    cases = {}
    for path in sorted(folder.glob("*.json"))[:_MOST_CASES]:
        body = read_json(str(path))
        argv = body.get("argv") if isinstance(body, dict) else None
        if not isinstance(argv, list) or not all(isinstance(word, str) for word in argv):
            raise InputError("is no case (no list argv)", where=str(path))
        if argv[:1] == ["resolve"] and not {"--matrices", "--host", "--lock"} & set(argv):
            cases[path.stem] = list(argv)
    return cases


def _answer(catalog: Catalog, argv: list[str]) -> str:
    """Return the verdict on a command line; nothing is written, whatever the case asks for."""
    from stackcheck.cli import resolve as command
    from stackcheck.cli.parser import Parser
    from stackcheck.cli.request import request_from
    from stackcheck.harvest.verdicts import answer
    from stackcheck.model.errors import StackcheckError
    from stackcheck.solver.resolve import resolve

    parser = Parser(prog="stackcheck resolve")
    command.add_arguments(parser)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            options = parser.parse(argv[1:])
        return answer(resolve(catalog, request_from(options, catalog)))
    except StackcheckError as fault:
        return f"refused: {fault.what}"
    except SystemExit:
        return "refused: wrong usage"


def _text(facts: Sequence[Change], found: Sequence[Flip], reasons: dict[str, str]) -> str:
    if not facts:
        return "the same facts, hence the same verdicts"
    lines = [f"{len(found)} verdicts change" if found else "no verdict changes"]
    for flip in found:
        reason = reasons.get(flip.subject.removeprefix("case "))
        mark = "!" if flip.golden and reason is None else "~"
        lines.append(
            f"  {mark} {flip.subject}" + (f" (accepted: {reason})" if flip.golden and reason else "")
        )
        lines += [f"      {sign} {part}" for sign, part in _parts(flip)]
    counted = Counter((c.where, c.what) for c in facts)
    lines.append(f"{len(facts)} facts differ")
    lines += [f"  {where}: {count} {what}" for (where, what), count in sorted(counted.items())]
    return "\n".join(lines)


def _parts(flip: Flip) -> list[tuple[str, str]]:
    """Return what only one side says, so that a stack of forty pins shows the two that changed."""
    before, after = flip.before.split(", "), flip.after.split(", ")
    gone = [("-", p) for p in before if p not in after]
    come = [("+", p) for p in after if p not in before]
    return gone + come or [("-", flip.before), ("+", flip.after)]


def _json(facts: Sequence[Change], found: Sequence[Flip], reasons: dict[str, str]) -> dict[str, Any]:
    return {
        "schema": "stackcheck.matrices-diff/1",
        "verdicts": [
            {
                "subject": f.subject,
                "before": f.before,
                "after": f.after,
                "golden": f.golden,
                "accepted": reasons.get(f.subject.removeprefix("case ")) if f.golden else None,
            }
            for f in found
        ],
        "facts": [{"file": c.where, "name": c.name, "change": c.what} for c in facts],
    }
