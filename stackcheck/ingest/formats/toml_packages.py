"""Lock files in TOML that list packages, shared by their formats: find the document, parse it, place each package."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

_NAME = Lazy(r'name = "([^"\\]{1,200})"\s*\Z')


def toml_packages(draft: Draft, table: str) -> Iterator[tuple[dict[str, Any], Line]]:
    """Yield the entries of the array of tables `table`, each with the line that names it.

    A document that breaks off is read up to the last whole table; what cannot be parsed at all yields nothing, with a note.
    """
    lines = list(draft.source.lines)
    heading = f"[[{table}]]"
    starts = [i for i, line in enumerate(lines) if line.text.strip() == heading]
    if not starts:
        return
    body = _parsed("\n".join(line.text for line in lines)) or _parsed(
        "\n".join(line.text for line in lines[starts[0] : starts[-1]])
    )
    if body is None:
        draft.note("the TOML is broken and was not read", lines[starts[0]])
        return
    draft.source.claim_range(lines[0].number, lines[-1].number)
    entries = body.get(table)
    if not isinstance(entries, list):
        return
    for entry, start in zip(entries, starts, strict=False):
        if isinstance(entry, dict):
            yield entry, _place(lines, start)


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return None


def _place(lines: list[Line], start: int) -> Line:
    return next((line for line in lines[start : start + 6] if _NAME.match(line.text.strip())), lines[start])


def add_package(draft: Draft, entry: dict[str, Any], line: Line) -> None:
    """Record one entry with `name` and `version`."""
    name, version = entry.get("name"), entry.get("version")
    if isinstance(name, str) and isinstance(version, str):
        draft.package(name[:200], version[:200], line)
