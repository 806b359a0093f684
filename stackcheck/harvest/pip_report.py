"""pip's installation report (version 1): the metadata that pip read while it resolved.

Format: https://pip.pypa.io/en/stable/reference/installation-report/. Pure: bytes to metadata per release.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from stackcheck.harvest.core_metadata import Metadata, checked
from stackcheck.harvest.interface import HarvestError

EXTRACTOR = "pip-report/1"
_LARGEST = 100_000_000


def parse(data: bytes) -> tuple[tuple[Metadata, str, bool], ...]:
    """Return (metadata, name of the file it was read from, is yanked) of every release in the report.

    Raises:
        HarvestError: it is no report of version 1.
    """
    if len(data) > _LARGEST:
        raise HarvestError(f"report of {len(data)} bytes", where="pip")
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as fault:
        raise HarvestError(f"its report is no JSON: {fault}", where="pip") from fault
    rows = body.get("install") if isinstance(body, dict) and body.get("version") == "1" else None
    if not isinstance(rows, list):
        raise HarvestError("its report is not of version 1", where="pip", fix="use a newer pip")
    return tuple(_row(row) for row in rows)


def only(data: bytes, index: int) -> bytes:
    """Return a report with one of its releases and without the long descriptions, to be kept."""
    body = json.loads(data)
    row = body["install"][index]
    row["metadata"].pop("description", None)
    return json.dumps({"version": "1", "install": [row]}).encode()


def _row(row: Any) -> tuple[Metadata, str, bool]:
    if not isinstance(row, Mapping) or not isinstance(row.get("metadata"), Mapping):
        raise HarvestError("its report has a row without metadata", where="pip")
    told = row["metadata"]
    info = row.get("download_info")
    url = str(info.get("url", "")) if isinstance(info, Mapping) else ""
    metadata = checked(
        name=str(told.get("name", "")),
        version=str(told.get("version", "")),
        requires_python=str(told.get("requires_python") or ""),
        requires=_texts(told.get("requires_dist")),
        extras=_texts(told.get("provides_extra")),
        where="pip",
    )
    return metadata, unquote(urlsplit(url).path.rpartition("/")[2])[:300], row.get("is_yanked") is True


def _texts(value: Any) -> list[str]:
    return [str(v) for v in value] if isinstance(value, list) else []
