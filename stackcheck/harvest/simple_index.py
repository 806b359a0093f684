"""The simple API of a Python package index: JSON of PEP 691/700/714, or the HTML of PEP 503.

Pure: bytes of one project page to a `Listing`. Files that do not belong to the project, or whose address is odd, are left out.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)

from stackcheck.harvest.interface import HarvestError

EXTRACTOR = "simple-index/1"
JSON_TYPE = "application/vnd.pypi.simple.v1+json"
HTML_TYPE = "application/vnd.pypi.simple.v1+html"
ACCEPT = f"{JSON_TYPE}, {HTML_TYPE};q=0.2, text/html;q=0.1"
_LARGEST = 100_000_000  # bytes of one page
_MOST_FILES = 200_000
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One file of a project. `version` is as its name says; `metadata` whether the index offers its METADATA beside it."""

    name: str
    version: str
    url: str
    wheel: bool
    tags: tuple[tuple[str, str, str], ...] = ()
    sha256: str = ""
    requires_python: str = ""
    size: int | None = None
    uploaded: str = ""
    yanked: bool = False
    metadata: bool = False
    metadata_sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """All files of one project, in the order of the page."""

    name: str
    files: tuple[File, ...]

    def versions(self) -> tuple[str, ...]:
        """Return every version that has a file, in the order of first appearance."""
        return tuple(dict.fromkeys(f.version for f in self.files))

    def of(self, version: str) -> tuple[File, ...]:
        """Return the files of one version."""
        return tuple(f for f in self.files if f.version == version)


def parse(data: bytes, content_type: str, *, project: str, url: str) -> Listing:
    """Return the listing of one project page; relative addresses are resolved against `url`.

    Raises:
        HarvestError: it is neither of the two formats, of an unknown major version, or about another project.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if len(data) > _LARGEST:
        raise HarvestError(f"page of {len(data)} bytes", where=url)
    if kind in (JSON_TYPE, "application/json"):
        rows, name = _json_rows(data, url)
    elif kind in (HTML_TYPE, "text/html"):
        rows, name = _html_rows(data, url), project
    else:
        raise HarvestError(
            f"answered with {kind or 'no content type'}", where=url, fix="is it a package index?"
        )
    wanted = canonicalize_name(project)
    if canonicalize_name(name) != wanted:
        raise HarvestError(f"is about {name[:80]!r}, not {project}", where=url)
    files = (file for row in rows if (file := _file(row, wanted, url)) is not None)
    return Listing(name=str(wanted), files=tuple(files))


def _json_rows(data: bytes, url: str) -> tuple[list[Any], str]:
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as fault:
        raise HarvestError(f"no JSON: {fault}", where=url, fix="cut off, or a login page?") from fault
    if not isinstance(body, dict) or not isinstance(body.get("files"), list):
        raise HarvestError("JSON without a list of files", where=url, fix="is it a package index?")
    meta = body.get("meta")
    version = str(meta.get("api-version", "")) if isinstance(meta, dict) else ""
    if not version.startswith("1."):
        raise HarvestError(f"simple API version {version[:20]!r}", where=url, fix="only 1.x is understood")
    if len(body["files"]) > _MOST_FILES:
        raise HarvestError(f"{len(body['files'])} files", where=url)
    return body["files"], str(body.get("name", ""))


class _Anchors(HTMLParser):
    """Collects the anchors of a PEP 503 page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the attributes of `<a href>`."""
        if tag == "a" and len(self.rows) < _MOST_FILES:
            self.rows.append(dict(attrs))


def _html_rows(data: bytes, url: str) -> list[Any]:
    page = _Anchors()
    page.feed(data.decode("utf-8", "replace"))
    rows: list[Any] = []
    for found in page.rows:
        address, fragment = urldefrag(urljoin(url, found.get("href") or ""))
        core = found.get("data-core-metadata") or found.get("data-dist-info-metadata")
        algorithm, _, digest = fragment.partition("=")
        rows.append(
            {
                "filename": unquote(urlsplit(address).path.rpartition("/")[2]),
                "url": address,
                "hashes": {algorithm: digest},
                "requires-python": found.get("data-requires-python") or "",
                "yanked": "data-yanked" in found,
                "core-metadata": _html_metadata(core),
            }
        )
    return rows


def _html_metadata(text: str | None) -> bool | dict[str, str]:
    algorithm, equals, digest = (text or "").partition("=")
    return {algorithm: digest} if equals else text == "true"


def _file(row: Any, project: str, page: str) -> File | None:
    if not isinstance(row, dict):
        return None
    name, address = row.get("filename"), row.get("url")
    if not isinstance(name, str) or not isinstance(address, str) or "/" in name or len(name) > 300:
        return None
    url = urljoin(page, address)
    named = _named(name, project)
    if named is None or urlsplit(url).scheme not in ("https", "http"):
        return None
    version, wheel, tags = named
    core = row.get("core-metadata", row.get("dist-info-metadata", False))
    size, uploaded = row.get("size"), str(row.get("upload-time") or "")
    return File(
        name=name,
        version=version,
        url=urldefrag(url)[0],
        wheel=wheel,
        tags=tags,
        sha256=_sha256(row.get("hashes")),
        requires_python=str(row.get("requires-python") or "")[:500],
        size=size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else None,
        uploaded=uploaded[:10] if _DAY.match(uploaded) else "",
        yanked=row.get("yanked", False) is not False,
        metadata=bool(core),
        metadata_sha256=_sha256(core),
    )


def _sha256(hashes: Any) -> str:
    digest = hashes.get("sha256", "") if isinstance(hashes, dict) else ""
    return digest if isinstance(digest, str) and _SHA256.match(digest) else ""


def _named(name: str, project: str) -> tuple[str, bool, tuple[tuple[str, str, str], ...]] | None:
    """Return (version, is a wheel, tags) of a file of this project, or None for any other file."""
    try:
        if name.endswith(".whl"):
            found, version, _, tags = parse_wheel_filename(name)
            parts = sorted((t.interpreter, t.abi, t.platform) for t in tags)
            return (str(version), True, tuple(parts)) if found == project else None
        found, version = parse_sdist_filename(name)
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None
    return (str(version), False, ()) if found == project else None
