"""`uv.lock` and `poetry.lock`: `[[package]]` tables. A lock may hold one package twice, for different platforms or extras."""

from __future__ import annotations

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.toml_packages import add_package, toml_packages


def sniff(text: str) -> float:
    """Look for a package table."""
    return 1.0 if "[[package]]" in text else 0.0


def read(draft: Draft) -> None:
    """Record the locked packages that belong to known components."""
    entries = list(toml_packages(draft, "package"))
    for entry, line in entries:
        add_package(draft, entry, line)
    names = [str(e.get("name")) for e, _ in entries]
    twice = (
        sorted({n for n in names if names.count(n) > 1 and draft.context.package(n)})
        if len(names) < 5000
        else []
    )
    if twice:
        draft.note(f"locked in more than one version, of which markers choose: {', '.join(twice)[:200]}")
