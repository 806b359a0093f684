"""What the harvesters read: `matrices/upstreams.json`, checked on the way in. The file is data, so that no address stands in the code.

`packages` says how names of packages become components where the purls of the components do not say it alone; `registries`,
`releases` and `tables` name what the other harvesters read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stackcheck.catalog.files import read_json
from stackcheck.harvest.interface import HarvestError


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePage:
    """Release notes or a raw file of a project: where it is, how to read it, and whose releases it lists."""

    component: str
    url: str
    reader: str
    """One of `release_pages.READERS`."""
    pattern: str
    """Over a tag or a line: groups `version`, `date`, and attributes by their names."""
    source: str = ""
    """What to name as the source, where that is not the address itself: a key of the component's table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorTable:
    """A table of a vendor's page: the caption words of its columns, and the attribute each column gives."""

    component: str
    url: str
    version_column: str
    columns: Mapping[str, str]
    """Attribute -> words of its column's header."""
    pattern: str
    """Over the version's cell: a group `version`, or groups that are joined with dots (an empty one is 0)."""
    value_pattern: str = ""
    """Over the other cells: its first group is the value; the whole text if there is no pattern."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Cells whose version is numbered otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstreams:
    """Everything that harvesting needs to know about the world outside."""

    metapackages: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    """Package -> extra -> {"component", "attribute"}: what an extra of a package without content stands for."""
    truncate: Mapping[str, int] = field(default_factory=dict)
    """Package -> how many numbers of its versions are the component's."""
    bounds: Mapping[str, str] = field(default_factory=dict)
    """Package -> a range that its name implies: the CUDA 12 runtime is below 13, whatever else is asked."""
    repositories: tuple[str, ...] = ()
    releases: tuple[ReleasePage, ...] = ()
    tables: tuple[VendorTable, ...] = ()


def load(path: str) -> Upstreams:
    """Return the upstreams of a file.

    Raises:
        HarvestError: a part has another shape.
        MatrixError: it cannot be read.
    """
    return parse(read_json(path), where=path)


def parse(body: Any, *, where: str) -> Upstreams:
    """Return checked upstreams.

    Raises:
        HarvestError: a part is missing or has another shape.
    """
    try:
        packages = body.get("packages", {})
        return Upstreams(
            metapackages=packages.get("metapackages", {}),
            truncate={str(k): int(v) for k, v in packages.get("truncate", {}).items()},
            bounds={str(k): str(v) for k, v in packages.get("bounds", {}).items()},
            repositories=tuple(map(str, body.get("repositories", ()))),
            releases=tuple(ReleasePage(**row) for row in body.get("releases", ())),
            tables=tuple(VendorTable(**row) for row in body.get("tables", ())),
        )
    except (AttributeError, TypeError, ValueError) as fault:
        raise HarvestError(f"upstreams: {fault}", where=where, fix="see docs/harvest.md") from fault
