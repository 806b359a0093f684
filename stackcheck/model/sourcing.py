"""From the source keys of a fact to the sources themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stackcheck.model.release import Source


def sources_of(table: Mapping[str, Source], keys: Iterable[str], read: str = "") -> tuple[Source, ...]:
    """Return the sources behind keys, each once, in order.

    A key that is in no table is a URL or purl and stands for itself, read on the file's day; whose word it is follows from its form
    (docs/data-model.md, "Sources").
    """
    found = dict.fromkeys(
        table.get(k) or Source(k, read, "package" if k.startswith("pkg:") else "vendor") for k in keys
    )
    return tuple(found)
