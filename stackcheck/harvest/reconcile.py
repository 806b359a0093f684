"""Candidates against one reviewed matrix: what is new, fills a hole, changed, vanished, or contradicts.

Pure: the JSON body of a component file and candidates to proposals. A reviewed value is never replaced; who disagrees with it is written
beside it. What a reviewer left out on purpose (a requirement that nobody models) is told, not written.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from stackcheck.harvest.interface import Candidate, Value
from stackcheck.harvest.requirement_rows import ANY, range_text
from stackcheck.model.release import Requirement
from stackcheck.model.version import Scheme, Version

_SAME_DAY = 7  # days between tag and upload that nobody calls a disagreement


class Kind(enum.StrEnum):
    """What a candidate means for the reviewed data."""

    NEW = "new"
    FILLED = "filled"
    CHANGED = "changed"
    VANISHED = "vanished"
    CONTRADICTING = "contradicting"
    UNLISTED = "unlisted"
    """Upstream says more than the reviewed data lists; a person decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One difference. `ours` is None where the matrices say nothing."""

    kind: Kind
    component: str
    release: str
    field: str
    ours: Any
    theirs: Value
    source: str
    date: str
    extractor: str
    detail: str = ""


def compare(
    body: Mapping[str, Any], candidates: Iterable[Candidate], *, complete: bool = False, since: str = ""
) -> tuple[Proposal, ...]:
    """Return what the candidates of one component would change in the body of its file.

    `complete` says that the candidates name every release that upstream still has: reviewed ones that are not among them have
    vanished. Releases that upstream published before `since` and nobody reviewed are no news.
    """
    scheme: Scheme = body["scheme"]
    ours = {Version(str(r["version"]), scheme): r for r in body["releases"]}
    named = {Version(a, scheme): r for r in reversed(body["releases"]) for a in r.get("aka") or ()} | ours
    theirs: dict[Version, list[Candidate]] = {}
    for candidate in candidates:
        if candidate.component == body["id"]:
            theirs.setdefault(Version(candidate.release, scheme), []).append(candidate)
    found: list[Proposal] = []
    for version in sorted(theirs):
        known = named.get(version)
        if known is None:
            if _news(theirs[version], since) and not version.is_prerelease:
                found += [_proposal(Kind.NEW, c, None) for c in theirs[version]]
            continue
        for candidate in theirs[version]:
            found += _against(known, candidate)
    if complete:
        found += _vanished(body, ours, set(theirs))
    return tuple(found)


def _news(candidates: Sequence[Candidate], since: str) -> bool:
    day = next((c.value for c in candidates if c.field == "date"), None)
    return not isinstance(day, str) or day >= since


def _against(known: Mapping[str, Any], candidate: Candidate) -> Iterator[Proposal]:
    match candidate.field:
        case "date":
            yield from _date(known, candidate)
        case "yanked":
            if candidate.value is True and not known.get("yanked"):
                yield _proposal(Kind.CHANGED, candidate, bool(known.get("yanked")))
        case "requires":
            yield from _requires(known, candidate)
        case field if field.startswith("attribute:"):
            yield from _attribute(known, candidate, field.partition(":")[2])


def _date(known: Mapping[str, Any], candidate: Candidate) -> Iterator[Proposal]:
    ours, theirs = known.get("date"), candidate.value
    if not ours:
        yield _proposal(Kind.FILLED, candidate, ours)
    elif isinstance(theirs, str):
        apart = abs((date.fromisoformat(ours) - date.fromisoformat(theirs)).days)
        if apart > _SAME_DAY:
            yield _proposal(Kind.CONTRADICTING, candidate, ours)


def _attribute(known: Mapping[str, Any], candidate: Candidate, name: str) -> Iterator[Proposal]:
    ours = (known.get("attributes") or {}).get(name)
    theirs = list(candidate.value) if isinstance(candidate.value, tuple) else candidate.value
    if ours is None:
        yield _proposal(Kind.FILLED, candidate, None)
    elif ours != theirs:
        yield _proposal(Kind.CONTRADICTING, candidate, ours)


def _requires(known: Mapping[str, Any], candidate: Candidate) -> Iterator[Proposal]:
    if "requires" not in known or known["requires"] is None:
        yield _proposal(Kind.FILLED, candidate, None)
        return
    held: dict[
        tuple[str, str], dict[str, str]
    ] = {}  # by component and extra: range in one spelling -> as written
    for mine_row in _rows(known):
        key = (mine_row["component"], mine_row.get("extra", ""))
        held.setdefault(key, {})[_form(mine_row["range"])] = mine_row["range"]
    extras = {extra for _, extra in held}
    for row in candidate.value if isinstance(candidate.value, tuple) else ():
        if not isinstance(row, Requirement) or row.extra not in extras | {""}:
            continue
        mine = held.get((row.component, row.extra))
        if mine is None:
            yield _requirement(Kind.UNLISTED, candidate, row, None)
        elif (
            _form(row.range) not in mine
            and row.range != ANY
            and not set(row.range.split(",")) <= {clause for text in mine for clause in text.split(",")}
        ):
            yield _requirement(Kind.CONTRADICTING, candidate, row, " and ".join(sorted(mine.values())))


def _rows(known: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from known.get("requires") or ()
    for build in known.get("builds") or ():
        if build.get("default"):
            yield from build.get("requires") or ()


def _form(text: str) -> str:
    """Return a range in one spelling: clauses in order, no `.0` at the end of operands."""
    clauses = range_text(text).split(",")
    return ",".join(c if c.endswith(".*") else _short(c) for c in clauses)


def _short(clause: str) -> str:
    if clause.startswith("~="):
        return clause
    while clause.endswith(".0") and clause.count(".") > 1:
        clause = clause[:-2]
    return clause


def _requirement(kind: Kind, candidate: Candidate, row: Requirement, ours: str | None) -> Proposal:
    field = f"requires.{row.component}" + (f"[{row.extra}]" if row.extra else "")
    return Proposal(
        kind=kind,
        component=candidate.component,
        release=candidate.release,
        field=field,
        ours=ours,
        theirs=row.range,
        source=candidate.source,
        date=candidate.date,
        extractor=candidate.extractor,
        detail=candidate.detail,
    )


def _vanished(
    body: Mapping[str, Any], ours: Mapping[Version, Any], theirs: set[Version]
) -> Iterator[Proposal]:
    for version, known in sorted(ours.items()):
        source = next((s for s in known.get("sources", ()) if s.startswith("pkg:pypi/")), "")
        names = {version, *(Version(a, body["scheme"]) for a in known.get("aka") or ())}
        if source and not names & theirs:
            yield Proposal(
                kind=Kind.VANISHED,
                component=body["id"],
                release=version.text,
                field="exists",
                ours=True,
                theirs=False,
                source=source,
                date="",
                extractor="",
            )


def _proposal(kind: Kind, candidate: Candidate, ours: Any) -> Proposal:
    return Proposal(
        kind=kind,
        component=candidate.component,
        release=candidate.release,
        field=candidate.field,
        ours=ours,
        theirs=candidate.value,
        source=candidate.source,
        date=candidate.date,
        extractor=candidate.extractor,
        detail=candidate.detail,
    )
