"""Rules and advisories that fire on a node, as findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stackcheck.catalog.evaluate import fires, truth
from stackcheck.check.node import Node
from stackcheck.check.wording import evidence_for, filled, filled_value, is_filled, is_runnable, refs
from stackcheck.model.finding import Finding, Remedy
from stackcheck.model.rule import AllOf, AnyOf, Condition, OneOf, RemedyTemplate, Rule, Term, head_of


def rule_findings(node: Node) -> list[Finding]:
    """Return a finding for each rule that fires."""
    return [finding_of(rule, node) for rule in node.catalog.rulebook.about(node.knows) if fires(rule, node)]


def finding_of(rule: Rule, node: Node) -> Finding:
    """Return the finding of a rule that fires on this node."""
    return Finding(
        id=rule.id,
        kind=rule.kind,
        severity=rule.severity,
        subjects=rule.subjects,
        title=filled(rule.title, node),
        evidence=evidence_for(_looked_at(rule), node, dict(_asked(rule.when))),
        why=filled(rule.why, node),
        impact=filled(rule.impact or rule.symptom, node),
        symptom=filled(rule.symptom, node),
        remedy=tuple(
            _remedy(r, node) for r in rule.remedies if r.when is None or truth(r.when, node) is True
        ),
        sources=refs(rule.source_table, rule.sources),
    )


def _remedy(template: RemedyTemplate, node: Node) -> Remedy:
    """Return a remedy in words; what it sets or runs is left out where it names something unknown here."""
    sets = template.sets if all(is_filled(v, node) for v in template.sets.values()) else {}
    return Remedy(
        filled(template.text, node),
        {subject: filled_value(value, node) for subject, value in sets.items()},
        run=filled(template.run, node) if is_runnable(template.run, node) else "",
    )


def _asked(condition: Condition) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the values a rule asks a subject for: of all Xids of a node those that it is about."""
    match condition:
        case Term(subject, OneOf(texts)):
            yield subject, texts
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _asked(part)


def _looked_at(rule: Rule) -> Iterable[str]:
    """Yield the blamed subjects first, then what else the rule looked at."""
    yield from rule.subjects
    for subject in sorted(rule.subject_names()):
        yield head_of(subject)
