"""Proposals into the JSON of a component file. Only what is new or fills a hole changes; a contradiction is kept beside our value.

A new release gets every edge that its neighbour has, marked unknown (`null`) where nothing was read, so that lint can count the holes.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stackcheck.harvest.reconcile import Kind, Proposal
from stackcheck.model.release import Requirement
from stackcheck.model.version import Version

_UNCHECKED = (
    "requirements come from the project JSON of the index and were not compared with a file of this release"
)
"""The remark of the first fill; a comparison with the file answers it."""


def canonical(body: Any) -> str:
    """Return JSON as every matrix file has it."""
    return json.dumps(body, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def apply(body: Mapping[str, Any], proposals: Iterable[Proposal]) -> dict[str, Any]:
    """Return the body with the proposals in it; the same body if nothing is to be written."""
    edited: dict[str, Any] = copy.deepcopy(dict(body))
    by_release: dict[str, list[Proposal]] = {}
    for proposal in proposals:
        by_release.setdefault(proposal.release, []).append(proposal)
    for version, group in by_release.items():
        found = _found(edited, version)
        if found is None and all(p.kind is Kind.NEW for p in group):
            _insert(edited, _new_release(edited, version, group))
        elif found is not None:
            for proposal in group:
                _write(edited, found, proposal)
    return edited


def _insert(body: dict[str, Any], release: dict[str, Any]) -> None:
    """Put a release where the file's own order, oldest or newest first, has its place."""

    def order(row: Mapping[str, Any]) -> Version:
        return Version(str(row["version"]), body["scheme"])

    rows = body["releases"]
    descending = len(rows) > 1 and order(rows[0]) > order(rows[-1])
    at = next(
        (
            i
            for i, r in enumerate(rows)
            if (order(r) < order(release)) is descending and order(r) != order(release)
        ),
        len(rows),
    )
    rows.insert(at, release)


def confirmed(body: Mapping[str, Any], read: Mapping[str, bool]) -> dict[str, Any]:
    """Return the body without the remark that requirements were not compared with a file, where they now were.

    `read` tells for each release that was read whether it agreed.
    """
    edited: dict[str, Any] = copy.deepcopy(dict(body))
    for release in edited["releases"]:
        notes = release.get("notes") or []
        if read.get(str(release["version"])) and _UNCHECKED in notes:
            left = [n for n in notes if n != _UNCHECKED]
            release.pop("notes")
            if left:
                release["notes"] = left
    return edited


def _found(body: Mapping[str, Any], version: str) -> dict[str, Any] | None:
    asked = Version(version, body["scheme"])

    def called(release: Mapping[str, Any]) -> set[Version]:
        return {Version(a, body["scheme"]) for a in release.get("aka") or ()}

    by_name = (r for r in body["releases"] if Version(str(r["version"]), body["scheme"]) == asked)
    by_other_name = (r for r in body["releases"] if asked in called(r))
    return next(itertools.chain(by_name, by_other_name), None)


def _write(body: Mapping[str, Any], release: dict[str, Any], proposal: Proposal) -> None:
    match proposal.kind:
        case Kind.FILLED if proposal.field == "requires":
            _place(body, release, proposal.theirs)
            _source(release, proposal.source)
        case Kind.FILLED if proposal.field == "date":
            release["date"] = proposal.theirs
            _source(release, proposal.source)
        case Kind.FILLED if proposal.field.startswith("attribute:"):
            release.setdefault("attributes", {})[proposal.field.partition(":")[2]] = _plain(proposal.theirs)
            _source(release, proposal.source)
        case Kind.CHANGED if proposal.field == "yanked":
            release["yanked"] = True
        case Kind.CONTRADICTING:
            _disagree(release, proposal)


def _source(release: dict[str, Any], source: str) -> None:
    if source and source not in release.setdefault("sources", []):
        release["sources"].append(source)


def _disagree(release: dict[str, Any], proposal: Proposal) -> None:
    attribute = proposal.field.removeprefix("attribute:")
    rows = release.setdefault("disagreements", [])
    theirs = _plain(proposal.theirs)
    if any(r["attribute"] == attribute and r["value"] == theirs for r in rows):
        return
    where = f" in {proposal.detail}" if proposal.detail else ""
    note = f"read{where} by {proposal.extractor} on {proposal.date}; the reviewed value was kept"
    rows.append({"attribute": attribute, "value": theirs, "sources": [proposal.source], "note": note})


def _new_release(body: Mapping[str, Any], version: str, group: Sequence[Proposal]) -> dict[str, Any]:
    """Return a release made of what was read, with null for each edge that its neighbour has and nobody read."""
    told = {p.field: p.theirs for p in group}
    neighbour = _neighbour(body, version)
    release: dict[str, Any] = {
        "version": version,
        "date": told.get("date"),
        "requires": None,
        "bundles": {},
        "builds": [],
        "sources": [],
        "attributes": dict.fromkeys(neighbour.get("attributes") or (), None),
    }
    for proposal in group:
        _source(release, proposal.source)
        if proposal.field.startswith("attribute:"):
            release["attributes"][proposal.field.partition(":")[2]] = _plain(proposal.theirs)
    if told.get("yanked") is True:
        release["yanked"] = True
    release["builds"] = _new_builds(neighbour, told, release["sources"])
    if "requires" in told:
        _place(body, release, told["requires"])
    release["notes"] = ["harvested; null marks what was not read"]
    return release


def _neighbour(body: Mapping[str, Any], version: str) -> Mapping[str, Any]:
    """Return the newest release before this one, else the oldest after it."""
    asked = Version(version, body["scheme"])
    ordered = sorted(body["releases"], key=lambda r: Version(str(r["version"]), body["scheme"]))
    before = [r for r in ordered if Version(str(r["version"]), body["scheme"]) < asked]
    if before:
        return dict(before[-1])
    return dict(ordered[0]) if ordered else {}


def _new_builds(
    neighbour: Mapping[str, Any], told: Mapping[str, Any], sources: Sequence[str]
) -> list[dict[str, Any]]:
    arches = [f.partition(":")[2] for f in told if f.startswith("python:")]
    edges = sorted({n for b in neighbour.get("builds") or () for n in b.get("attributes") or ()})
    builds = []
    for arch in arches:
        attributes: dict[str, Any] = dict.fromkeys(edges, None)
        attributes["python"] = list(told[f"python:{arch}"])
        attributes["glibc"] = told.get(f"glibc:{arch}")
        builds.append(
            {
                "arch": [arch],
                "attributes": attributes,
                "default": True,
                "label": "wheel",
                "requires": [],
                "sources": list(sources),
            }
        )
    return builds


def _place(body: Mapping[str, Any], release: dict[str, Any], rows: Any) -> None:
    """Write requirement rows where the file's other releases have them: some name what a build needs with the build."""
    of_builds = _components_of_builds(body)
    kept: list[dict[str, Any]] = []
    defaults = [b for b in release.get("builds") or () if b.get("default")]
    for row in rows:
        targets = [b for b in defaults if not row.arch or set(row.arch) & set(b.get("arch") or row.arch)]
        if row.component not in of_builds or not targets or row.extra:
            kept.append(_json(row))
            continue
        for build in targets:
            mine = build.setdefault("requires", [])
            if not any(r["component"] == row.component for r in mine):
                mine.append({k: v for k, v in _json(row).items() if k != "arch"})
                mine.sort(key=lambda r: str(r["component"]))
    release["requires"] = kept


def _components_of_builds(body: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(
        row["component"]
        for release in body["releases"]
        for build in release.get("builds") or ()
        if build.get("default")
        for row in build.get("requires") or ()
    )


def _json(row: Requirement) -> dict[str, Any]:
    body: dict[str, Any] = {"component": row.component, "range": row.range}
    if row.extra:
        body["extra"] = row.extra
    if row.python:
        body["python"] = row.python
    if row.arch:
        body["arch"] = list(row.arch)
    if row.optional:
        body["optional"] = True
    return body


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_json(v) if isinstance(v, Requirement) else _plain(v) for v in value]
    return value
