"""Findings in the order a maintainer would tell them: the root first, its consequences folded under it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stackcheck.catalog.catalog import Catalog
from stackcheck.check.signatures import GUESS
from stackcheck.model.finding import Finding, Kind, Severity
from stackcheck.model.rule import subjects_of


def folded(findings: Sequence[Finding], catalog: Catalog) -> list[Finding]:
    """Return the findings ranked, with those that another one causes moved under it."""
    by_id = {f.id: f for f in findings}
    parent = _parents(by_id, catalog)
    roots = [f for f in findings if f.id not in parent]
    children: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.id in parent:
            children.setdefault(_root(finding.id, parent), []).append(finding)
    order = list(catalog.policy["kind_order"])
    ranked = [_with_consequences(f, children.get(f.id, ())) for f in roots]
    return sorted(ranked, key=lambda f: _rank(f, order, catalog))


def _with_consequences(root: Finding, children: Sequence[Finding]) -> Finding:
    """Return a finding with what it causes under it; what causes a failure that was seen is no less severe than that."""
    if not children:
        return root
    below = sorted(children, key=lambda c: (c.severity.rank, c.id))
    worst = min((root.severity, *(c.severity for c in below if not _is_guess(c))), key=lambda s: s.rank)
    return root._replace(severity=worst, consequences=tuple(below))


def _rank(
    finding: Finding, order: Sequence[str], catalog: Catalog
) -> tuple[int, bool, int, int, int, int, str]:
    """Severity; guesses last; what a line or the node shows before what versions say; what explains most; kind; specificity."""
    kind = order.index(finding.kind) if finding.kind in order else len(order)
    rule = catalog.rule(finding.id)
    return (
        finding.severity.rank,
        _is_guess(finding),
        _distance(finding, catalog),
        -len(finding.consequences),
        kind,
        -(len(rule.subject_names()) if rule else 2),
        finding.id,
    )


def _distance(finding: Finding, catalog: Catalog) -> int:
    """How far a finding is from what happened: 0 a logged line (its own or a consequence's), 1 a state seen here, 2 versions."""
    if any(e.subject.startswith("log:") for e in finding.evidence):
        return 0
    rule = catalog.rule(finding.id)
    seen = 1 if rule is not None and any(":" in s for s in subjects_of(rule.when)) else 2
    return min([seen, *(_distance(c, catalog) for c in finding.consequences)])


def _parents(by_id: Mapping[str, Finding], catalog: Catalog) -> dict[str, str]:
    parent: dict[str, str] = {}
    for finding in by_id.values():
        rule = catalog.rule(finding.id)
        for consequence in rule.cause_of if rule else ():
            if (
                consequence in by_id
                and consequence != finding.id
                and not _leads_to(consequence, finding.id, parent)
            ):
                parent.setdefault(consequence, finding.id)
    for finding in by_id.values():
        twin = _stronger_twin(finding, by_id, catalog)
        if twin is not None and finding.id not in parent and not _leads_to(twin.id, finding.id, parent):
            parent[finding.id] = twin.id
    return parent


def _leads_to(start: str, goal: str, parent: Mapping[str, str]) -> bool:
    """Whether `goal` is above `start`, or is it; keeps the folding free of circles."""
    seen: set[str] = set()
    while start in parent and start not in seen:
        seen.add(start)
        start = parent[start]
    return start == goal


def _root(name: str, parent: Mapping[str, str]) -> str:
    seen: set[str] = set()
    while name in parent and name not in seen:
        seen.add(name)
        name = parent[name]
    return name


def _stronger_twin(finding: Finding, by_id: Mapping[str, Finding], catalog: Catalog) -> Finding | None:
    """Return the finding that says the same and why: a rule's beside a GPU row's, a package's or a mere line's.

    The same is said by the same kind about the same first subject, no less severe.
    """
    if _is_guess(finding):
        return _better_told(finding, by_id)
    if not _is_bare(finding, catalog):
        return None
    for other in by_id.values():
        if _is_bare(other, catalog) or other.severity.rank > finding.severity.rank:
            continue
        same_kind = other.kind == finding.kind or finding.id.startswith("gpu-")
        if other.subjects[0] == finding.subjects[0] and same_kind:
            return other
        if (
            finding.id.startswith("gpu-")
            and _is_for_older_gpus(other)
            and other.severity.rank < finding.severity.rank
        ):
            return other
        if finding.id.startswith("requires-") and set(finding.subjects) <= set(other.subjects):
            return other
    return None


def _better_told(guess: Finding, by_id: Mapping[str, Finding]) -> Finding | None:
    """Return a finding that explains more than a line which no rule knows: of another line, or about the same thing."""
    others = [
        f
        for f in by_id.values()
        if not _is_guess(f)
        and f.severity.rank <= guess.severity.rank
        and (any(e.subject.startswith(_LINES) for e in f.evidence) or set(f.subjects) & set(guess.subjects))
    ]
    return min(others, key=lambda f: (f.severity.rank, f.id), default=None)


_LINES = ("log:", "fact:xid")
"""Subjects that a line told: a log's, or the kernel's own."""


def _is_guess(finding: Finding) -> bool:
    """Whether a finding says no more than that a program printed a failure."""
    return finding.id.startswith(GUESS)


def _is_for_older_gpus(finding: Finding) -> bool:
    """Whether the software here has no code for this GPU: slower rows of the GPU's table then say nothing more."""
    return (
        finding.severity is Severity.ERROR
        and finding.kind is Kind.ARCH_NOT_COMPILED
        and "gpu" in finding.subjects
    )


def _is_bare(finding: Finding, catalog: Catalog) -> bool:
    """Whether a finding tells no cause: a row or requirement of a table, or a rule that looks at nothing but logged lines."""
    if finding.id.startswith(("gpu-", "requires-")):
        return True
    rule = catalog.rule(finding.id)
    return rule is not None and all(s.startswith("log:") for s in rule.subject_names())
