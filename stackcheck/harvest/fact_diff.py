"""Which facts two data sets do not share, counted per file and named per release, image and rule."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stackcheck.catalog.catalog import Store

FOLDERS = ("components", "gpus", "instances", "images", "rules", "advisories", "signatures")
_KEYS = ("version", "id", "tag")


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """One fact that came, went or changed; `where` is the file."""

    where: str
    name: str
    what: str


def changes(a: Store, b: Store) -> tuple[Change, ...]:
    """Return what is different in `b`, sorted by file."""
    found: list[Change] = []
    for folder in FOLDERS:
        names = sorted(set(a.names(folder)) | set(b.names(folder)))
        for name in (f"{folder}/{n}" for n in names):
            if not a.exists(name) or not b.exists(name):
                found.append(Change(name, "", "added" if b.exists(name) else "removed"))
                continue
            found += _in_file(name, a.read(name), b.read(name))
    return tuple(sorted(found))


def _in_file(where: str, a: Any, b: Any) -> Iterator[Change]:
    if a == b:
        return
    mine, theirs = _parts(a), _parts(b)
    for name in sorted(set(mine) | set(theirs)):
        if name not in mine:
            yield Change(where, name, "added")
        elif name not in theirs:
            yield Change(where, name, "removed")
        elif mine[name] != theirs[name]:
            yield Change(where, name, "changed")


def _parts(body: Any) -> dict[str, str]:
    """Return a digest per named part of a file: its releases, images, rules or signatures, and everything else as one."""
    parts: dict[str, str] = {}
    rest: dict[str, Any] = {}
    for key, value in body.items() if isinstance(body, Mapping) else ():
        rows = [r for r in value if isinstance(r, Mapping)] if isinstance(value, list) else []
        named = [(n, r) for r in rows if (n := _name(r))]
        if rows and len(named) == len(rows):
            for name, row in named:
                parts[name] = _digest(row)
        else:
            rest[key] = value
    parts["(the rest)"] = _digest(rest)
    return parts


def _name(row: Mapping[str, Any]) -> str:
    return next((str(row[k]) for k in _KEYS if k in row), "")


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
