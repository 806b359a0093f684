"""`pip list --format=json`, `uv pip list --format=json`, `conda list --json`, `pip inspect`: arrays of name and version."""

from __future__ import annotations

from typing import Any

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.collect_env import conda_package
from stackcheck.ingest.interface import Document, Line


def sniff(text: str) -> float:
    """Look for the keys of an entry."""
    return 0.8 if '"name"' in text and '"version"' in text else 0.0


def read(draft: Draft) -> None:
    """Record the packages that belong to known components."""
    for document in draft.source.documents:
        entries = _entries(document.value)
        if entries:
            places = _places(draft, document)
            for name, version, build in entries:
                line = places.get(name) or Line(document.first, f"{name} {version}")
                if build is None:
                    draft.package(name, version, line)
                else:
                    conda_package(draft, name, version, build, line)
            draft.source.claim_range(document.first, document.last)


def _entries(value: Any) -> list[tuple[str, str, str | None]]:
    """Return (name, version, build string of conda) of each package, or nothing if the document is another thing."""
    if isinstance(value, dict) and isinstance(value.get("installed"), list):  # pip inspect
        value = [e.get("metadata") for e in value["installed"] if isinstance(e, dict)]
    if not isinstance(value, list):
        return []
    found: list[tuple[str, str, str | None]] = []
    for entry in value[:20_000]:
        if not isinstance(entry, dict):
            return []
        name, version = entry.get("name"), entry.get("version")
        if not isinstance(name, str) or not isinstance(version, str):
            return []
        build = entry.get("build_string")
        if "build_string" in entry and entry.get("channel") == "pypi":
            build = None
        found.append((name[:200], version[:200], build if isinstance(build, str) else None))
    return found


def _places(draft: Draft, document: Document) -> dict[str, Line]:
    """Return for each package the line that names it; all the same where the JSON is one line."""
    places: dict[str, Line] = {}
    for line in draft.source.lines:
        if document.first <= line.number <= document.last and '"name"' in line.text and len(line.text) < 2000:
            name = line.text.partition('"name"')[2].lstrip(": ").partition('"')[2].partition('"')[0]
            places.setdefault(name, line)
    return places
