"""What a registry says about the tags of a repository of the matrices: that they exist, their digests and architectures.

Contents are read from the image itself (`stackcheck check --image`); here are only the facts that cost one request per tag.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from stackcheck.harvest.image_reference import Reference
from stackcheck.harvest.interface import AbsentError, Candidate, HarvestError, Value
from stackcheck.harvest.oci_registry import EXTRACTOR, Registry
from stackcheck.harvest.packages import Remark
from stackcheck.harvest.reconcile import Kind, Proposal


def harvest(
    registry: Registry, host: str, repository: str, tags: Sequence[str], today: str
) -> Iterator[Candidate | Remark]:
    """Yield what the registry says about these tags, and the names of all others it has."""
    name = f"{host}/{repository}"
    offered = registry.tags(repository)
    for tag in offered:
        yield _candidate(name, tag, "exists", True, today)
    for tag in tags:
        if tag not in offered:
            yield _candidate(name, tag, "exists", False, today)
            continue
        try:
            found = registry.images(Reference(host, repository, tag))
        except AbsentError:
            yield _candidate(name, tag, "exists", False, today)
            continue
        except HarvestError as fault:
            yield Remark(component=name, release=tag, text=str(fault))
            continue
        arches = tuple(sorted({arch for arch, _, _ in found if arch}))
        if arches:
            yield _candidate(name, tag, "arch", arches, today)
        if len(found) == 1:
            yield _candidate(name, tag, "digest", found[0][1], today)


def _candidate(name: str, tag: str, field: str, value: Value, today: str) -> Candidate:
    return Candidate(
        component=name,
        release=tag,
        field=field,
        value=value,
        source=f"https://{name}:{tag}",
        date=today,
        extractor=EXTRACTOR,
    )


def compare(body: Mapping[str, Any], candidates: Iterable[Candidate]) -> tuple[Proposal, ...]:
    """Return what the candidates would change in a file of images; tags that nobody listed are told, never written."""
    rows = {row["tag"]: row for row in body["images"]}
    found = []
    for fact in candidates:
        row = rows.get(fact.release)
        if row is None:
            if fact.field == "exists" and fact.value is True:
                found.append(_proposal(Kind.UNLISTED, fact, None))
        elif fact.field == "exists":
            if fact.value is True and not row.get("verified"):
                found.append(_proposal(Kind.FILLED, fact, row.get("verified")))
            elif fact.value is False and row.get("verified"):
                found.append(_proposal(Kind.VANISHED, fact, True))
        else:
            theirs = list(fact.value) if isinstance(fact.value, tuple) else fact.value
            ours = row.get(fact.field)
            if not ours:
                found.append(_proposal(Kind.FILLED, fact, ours))
            elif (sorted(ours) if isinstance(ours, list) else ours) != theirs:
                found.append(_proposal(Kind.CONTRADICTING, fact, ours))
    return tuple(found)


def apply(body: Mapping[str, Any], proposals: Iterable[Proposal]) -> dict[str, Any]:
    """Return the body with filled holes; contradictions become notes of the image, since both must be kept."""
    edited: dict[str, Any] = copy.deepcopy(dict(body))
    rows = {row["tag"]: row for row in edited["images"]}
    for proposal in proposals:
        row = rows.get(proposal.release)
        if row is None:
            continue
        theirs = list(proposal.theirs) if isinstance(proposal.theirs, tuple) else proposal.theirs
        if proposal.kind is Kind.FILLED:
            row["verified" if proposal.field == "exists" else proposal.field] = theirs
            row["sources"] = list(dict.fromkeys([*row.get("sources", ()), proposal.source]))
        elif proposal.kind is Kind.CONTRADICTING:
            note = (
                f"the registry says {proposal.field} {theirs} ({proposal.date}); the reviewed value was kept"
            )
            row["notes"] = list(dict.fromkeys([*row.get("notes", ()), note]))
    return edited


def _proposal(kind: Kind, fact: Candidate, ours: Any) -> Proposal:
    return Proposal(
        kind=kind,
        component=fact.component,
        release=fact.release,
        field=fact.field,
        ours=ours,
        theirs=fact.value,
        source=fact.source,
        date=fact.date,
        extractor=fact.extractor,
    )
