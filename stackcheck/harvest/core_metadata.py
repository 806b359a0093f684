"""METADATA of a Python distribution: the core metadata specification of the Python packaging guide.

The file inside the wheel is the truth about a release; the project JSON of an index may carry another release's requirements.
"""

from __future__ import annotations

from dataclasses import dataclass

from packaging.metadata import parse_email
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from stackcheck.harvest.interface import HarvestError

EXTRACTOR = "core-metadata/1"
_LARGEST = 4_000_000  # bytes; long descriptions come near 1 MB
_MOST_REQUIREMENTS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What one distribution says about itself; `name` is canonical."""

    name: str
    version: str
    requires_python: str = ""
    requires: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()


def parse(data: bytes, *, where: str = "METADATA") -> Metadata:
    """Return the parsed metadata.

    Raises:
        HarvestError: it is too large, or has no name and version.
    """
    if len(data) > _LARGEST:
        raise HarvestError(f"metadata of {len(data)} bytes", where=where, fix="nothing real is that long")
    raw, _ = parse_email(data)
    return checked(
        name=raw.get("name", ""),
        version=raw.get("version", ""),
        requires_python=raw.get("requires_python", ""),
        requires=raw.get("requires_dist", []),
        extras=raw.get("provides_extra", []),
        where=where,
    )


def checked(
    *, name: str, version: str, requires_python: str, requires: list[str], extras: list[str], where: str
) -> Metadata:
    """Return metadata whose parts have been looked at, wherever they come from.

    Raises:
        HarvestError: no name, no version of PEP 440, or more requirements than any package has.
    """
    if not name or len(name) > 200 or not version:
        raise HarvestError("no name and version in the metadata", where=where, fix="is it a METADATA file?")
    if len(requires) > _MOST_REQUIREMENTS or len(extras) > _MOST_REQUIREMENTS:
        raise HarvestError(f"{len(requires)} requirements", where=where, fix="no real package has that many")
    try:
        Version(version)
    except InvalidVersion as fault:
        raise HarvestError(f"version {version[:80]!r} is not of PEP 440", where=where) from fault
    return Metadata(
        name=str(canonicalize_name(name)),
        version=version.strip(),
        requires_python=requires_python.strip(),
        requires=tuple(r.strip() for r in requires),
        extras=tuple(str(canonicalize_name(e)) for e in extras),
    )


def same_release(metadata: Metadata, name: str, version: str) -> bool:
    """Whether metadata speaks of the release that was asked for."""
    return metadata.name == canonicalize_name(name) and Version(metadata.version) == Version(version)
