"""Lock files in TOML that list packages, shared by their formats: find the document, parse it, place each package."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

_PARSED = (
    1 << 20
)  # characters up to which the document is parsed as TOML; longer ones are read line by line, a hundred times faster
_KEY = Lazy(r"(?P<key>name|version)\s{0,4}=\s{0,4}[\"'](?P<value>[^\"'\\]{1,200})[\"']\s{0,8}(?:#.*)?\Z")

Package = tuple[str, str, Line]


def toml_packages(draft: Draft, table: str) -> list[Package]:
    """Return name, version and line of the entries of the array of tables `table`, and claim the document.

    A document that breaks off or is very long is read by its lines: the tools that write these files put each key on its own.
    """
    lines = draft.source.lines
    heading = f"[[{table}]]"
    starts = [i for i, line in enumerate(lines) if line.text.strip() == heading]
    if not starts:
        return []
    draft.source.claim_range(lines[0].number, lines[-1].number)
    text = draft.source.text
    found = _parsed(text, table, lines, starts) if len(text) <= _PARSED else None
    return list(_read(lines, starts)) if found is None else found


def _parsed(text: str, table: str, lines: Sequence[Line], starts: Sequence[int]) -> list[Package] | None:
    try:
        entries = tomllib.loads(text).get(table)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entries, list):
        return None
    found: list[Package] = []
    for entry, start in zip(entries, starts, strict=False):
        name, version = (entry.get("name"), entry.get("version")) if isinstance(entry, dict) else (None, None)
        if isinstance(name, str) and isinstance(version, str):
            found.append((name[:200], version[:200], _place(lines, start)))
    return found


def _place(lines: Sequence[Line], start: int) -> Line:
    return next(
        (line for line in lines[start : start + 6] if line.text.lstrip().startswith("name")), lines[start]
    )


def _read(lines: Sequence[Line], starts: Sequence[int]) -> Iterator[Package]:
    for start in starts:
        values: dict[str, tuple[str, Line]] = {}
        for line in lines[start + 1 : start + 12]:
            if line.text.startswith("["):
                break
            if match := _KEY.match(line.text.strip()):
                values.setdefault(match["key"], (match["value"], line))
        if "name" in values and "version" in values:
            yield values["name"][0], values["version"][0], values["name"][1]
