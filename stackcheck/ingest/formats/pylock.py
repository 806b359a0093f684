"""`pylock.toml` (PEP 751): `[[packages]]` tables."""

from __future__ import annotations

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.toml_packages import toml_packages


def sniff(text: str) -> float:
    """Look for a package table."""
    return 1.0 if "[[packages]]" in text else 0.0


def read(draft: Draft) -> None:
    """Record the locked packages that belong to known components."""
    for name, version, line in toml_packages(draft, "packages"):
        draft.package(name, version, line)
