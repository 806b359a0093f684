"""`uv.lock` and `poetry.lock`: `[[package]]` tables. A lock may hold one package twice, for different platforms or extras."""

from __future__ import annotations

from collections import defaultdict

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.toml_packages import toml_packages


def sniff(text: str) -> float:
    """Look for a package table."""
    return 1.0 if "[[package]]" in text else 0.0


def read(draft: Draft) -> None:
    """Record the locked packages that belong to known components."""
    versions: defaultdict[str, set[str]] = defaultdict(set)
    for name, version, line in toml_packages(draft, "package"):
        if draft.package(name, version, line):
            versions[name].add(version)
    twice = sorted(name for name, seen in versions.items() if len(seen) > 1)
    if twice:
        draft.note(f"locked in more than one version, of which markers choose: {', '.join(twice)}")
