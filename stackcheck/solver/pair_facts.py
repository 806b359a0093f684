"""The facts behind one pair of a compatibility picture: rules, rows of a GPU's matrix, requirements, images that hold both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.evaluate import Missing, fires, truth
from stackcheck.model.gpucode import Capability
from stackcheck.model.kinds import Grade
from stackcheck.model.release import Gpu
from stackcheck.model.rule import AllOf, Condition, Relation, Rule, Term, head_of
from stackcheck.solver.axes import Entry, Unit, candidates_of, gpu_of
from stackcheck.solver.candidates import Candidate
from stackcheck.solver.encode import refs
from stackcheck.solver.pairing import (
    Context,
    Pairing,
    asked_of,
    best,
    concerns,
    meets,
    row_for,
    shipping,
    together,
    worst,
)

_PLACEHOLDER = re.compile(r"\{([A-Za-z][A-Za-z0-9_.:/\-]*)\}")
_MOST_IMAGES = 3
_WORDS = {
    "equal": "equals",
    "at_least": "is at least",
    "at_most": "is at most",
    "same_major": "has the major of",
    "same_minor": "has the minor of",
    "overlap": "shares a value with",
    "within": "is one of",
    "covers": "has code for",
    "covers_natively": "has native code for",
}


@dataclass(frozen=True, slots=True)
class PairFact:
    """One fact about a pair: what it comes to, in words, for which variants, and whose word it is."""

    grade: Grade
    text: str
    detail: str = ""
    sources: tuple[str, ...] = ()
    rule: str = ""
    """The rule's id, if it is one."""
    variants: tuple[str, ...] = ()
    """Labels of the variants it speaks of; empty for all."""
    remedies: tuple[str, ...] = ()
    through: str = ""
    """What comes along with a release and is what the fact is about, if it is not about the release itself: triton 3.5.1, brought by torch 2.9.1."""


@dataclass(frozen=True, slots=True)
class PairStory:
    """A pair with its grade, its facts worst first, and the grade of every variant."""

    row: Entry
    column: Entry
    grade: Grade
    facts: tuple[PairFact, ...]
    variants: Mapping[str, Grade]

    def through(self) -> tuple[tuple[str, ...], Grade]:
        """Return what comes along and alone makes the grade bad, and the grade that is left without it; nothing if the pair itself is so bad."""
        if self.grade in (Grade.SUPPORTED, Grade.TESTED, Grade.UNKNOWN):
            return (), self.grade
        found: dict[str, None] = {}
        left: list[Grade] = []
        for label in (v for v, grade in self.variants.items() if grade is self.grade):
            facts = [f for f in self.facts if not f.variants or label in f.variants]
            if any(f.grade is self.grade and not f.through for f in facts):
                return (), self.grade
            found |= dict.fromkeys(f.through for f in facts if f.grade is self.grade)
            left.append(worst([f.grade for f in facts if not f.through]))
        return tuple(found), best(left)


def story(catalog: Catalog, picture: Pairing, row: int, column: int) -> PairStory:
    """Return the facts behind the pair at a row and a column."""
    one, two = picture.rows.entries[row], picture.columns.entries[column]
    found: dict[PairFact, list[str]] = {}
    grades: dict[str, list[Grade]] = {}
    held: dict[str, PairFact] = {}  # what is as it should be is told once, whatever the variant
    shipped = _shipped(catalog, picture, one, two)
    own = tuple(a.name if a.kind == "component" else "" for a in (picture.rows, picture.columns))
    pairs = [(a, b) for a in one.units for b in two.units]
    for mine, theirs in [p for p in pairs if together(*p, picture.context)] or pairs:
        facts = list(_facts(catalog, _Pair(mine, theirs, picture.context, own), picture.context))
        facts += [f for f in shipped if not f.variants or mine.label in f.variants]
        label = mine.label if len(two.units) == 1 else f"{mine.label} · {theirs.label}"
        if len(one.units) * len(two.units) > 1:
            label += f" {'/'.join(sorted(mine.arches & theirs.arches))}" if len(mine.arches) == 1 else ""
        grades.setdefault(label, []).append(worst([f.grade for f in facts]))
        for fact in facts:
            first = held.setdefault(fact.rule, fact) if fact.grade is Grade.SUPPORTED and fact.rule else fact
            found.setdefault(first, []).append(label)
    variants = {label: worst(several) for label, several in grades.items()}
    everywhere = len(variants)
    told = [_with_variants(f, labels, everywhere) for f, labels in found.items()]
    order = (Grade.BROKEN, Grade.DEGRADED, Grade.CAVEAT, Grade.TESTED, Grade.SUPPORTED, Grade.UNKNOWN)
    own = (picture.rows.name, picture.columns.name)
    told.sort(key=lambda f: (order.index(f.grade), not f.text.startswith(own), bool(f.variants), f.text))
    return PairStory(one, two, best(list(variants.values())), tuple(told), variants)


def _with_variants(fact: PairFact, labels: list[str], everywhere: int) -> PairFact:
    from dataclasses import replace

    distinct = tuple(dict.fromkeys(labels))
    return replace(fact, variants=() if len(distinct) == everywhere else distinct)


class _Pair:
    """Two units as a view for rules."""

    def __init__(self, one: Unit, two: Unit, context: Context, own: Sequence[str] = ("", "")) -> None:
        self.one, self.two, self.context, self.own = one, two, context, own

    def through(self, heads: Iterable[str]) -> str:
        """Return what of the things a fact looks at comes along with a release that it does not look at; empty if there is none."""
        for unit, name in zip((self.one, self.two), self.own, strict=True):
            held = candidates_of(unit)
            along = sorted(set(heads) & set(held)) if name in held and name not in heads else []
            if along:
                things = " and ".join(f"{n} {held[n].text}" for n in along)
                return f"{things}, brought by {name} {held[name].version}"
        return ""

    def value(self, subject: str) -> Any:
        head, _, attribute = subject.partition(".")
        choice = self.one.holds.get(head) or self.two.holds.get(head)
        if choice is not None:
            return choice.value(attribute)
        return self.context.constants.get(subject, Missing.UNKNOWN)


def _facts(catalog: Catalog, pair: _Pair, context: Context) -> Iterable[PairFact]:
    mine, theirs = frozenset(pair.one.holds), frozenset(pair.two.holds)
    if not together(pair.one, pair.two, context):
        arches = " or ".join(sorted(pair.one.arches))
        yield PairFact(Grade.BROKEN, f"{pair.one.label} exists for {arches} alone")
    for rule in catalog.rules:
        if concerns(rule, mine, theirs, context):
            yield from _of_rule(rule, pair)
    for one, two in ((pair.one, pair.two), (pair.two, pair.one)):
        yield from _of_requirements(catalog, one, two, pair)
        gpu = gpu_of(catalog, one)
        if gpu is not None:
            yield from _of_rows(gpu, two, pair)
        elif context.gpu is not None:
            bad = (Grade.BROKEN, Grade.DEGRADED, Grade.CAVEAT)
            yield from (f for f in _of_rows(context.gpu, one, pair) if f.grade in bad)


def _of_rule(rule: Rule, pair: _Pair) -> Iterable[PairFact]:
    sources = refs(rule.source_table, rule.sources)
    through = pair.through({head_of(s) for s in rule.subject_names()})
    if fires(rule, pair):
        remedies = tuple(_filled(r.text, pair) for r in rule.remedies)
        text, why = _filled(rule.title, pair), _filled(rule.why, pair)
        yield PairFact(rule.grade, text, why, sources, rule.id, (), remedies, through)
    elif rule.require is not None and truth(rule.when, pair) is True and truth(rule.require, pair) is True:
        text = _condition(rule.require, pair) or f"{rule.id} holds"
        yield PairFact(Grade.SUPPORTED, text, "", sources, rule.id, through=through)


def _of_requirements(catalog: Catalog, one: Unit, two: Unit, pair: _Pair) -> Iterable[PairFact]:
    for candidate, row, target in asked_of(one, two):
        held = meets(row, target)
        if held is None:
            continue
        component = catalog.component(candidate.component)
        keys = row.sources or (candidate.release.sources[:2] if candidate.release else ())
        sources = tuple(component.source(k).ref for k in keys) if component else ()
        needs = f"{row.component} {row.range}".strip()
        said = f"{candidate.component} {candidate.version} {'allows' if row.optional else 'requires'} {needs}"
        detail = "" if held else f"{target.component} {target.text} is not in that range"
        through = pair.through((candidate.component, target.component))
        yield PairFact(Grade.SUPPORTED if held else Grade.BROKEN, said, detail, sources, through=through)


def _of_rows(gpu: Gpu, unit: Unit, pair: _Pair) -> Iterable[PairFact]:
    for candidate in candidates_of(unit).values():
        row = row_for(gpu, candidate)
        if row is not None:
            text = f"{candidate.component} {row.range} is {row.grade} on {gpu.name}"
            through = pair.through((candidate.component,))
            yield PairFact(Grade(row.grade), text, row.why, refs(gpu.sources, row.sources), through=through)


def _shipped(catalog: Catalog, picture: Pairing, one: Entry, two: Entry) -> list[PairFact]:
    if picture.rows.kind != "component" or picture.columns.kind != "component":
        return []
    images = shipping(catalog, one, two, (picture.rows.name, picture.columns.name))
    labels = frozenset(u.label for u in one.units)
    variants: list[str] = []
    for image in images:
        held = image.contents[picture.rows.name]
        variants += [held] if held in labels else sorted(labels)
    if not images:
        return []
    named = ", ".join(i.name.rpartition("/")[2] for i in images[:_MOST_IMAGES])
    more = f" and {len(images) - _MOST_IMAGES} more" if len(images) > _MOST_IMAGES else ""
    first = images[0]
    sources = refs(first.source_table, first.sources[:2])
    fact = PairFact(
        Grade.TESTED, f"shipped together in {named}{more}", "", sources, "", tuple(dict.fromkeys(variants))
    )
    return [fact]


def _condition(condition: Condition, pair: _Pair) -> str:
    """Return in words what a requirement that holds says."""
    match condition:
        case Relation(name, left, right):
            return f"{_named(left, pair)} {_WORDS.get(name, name)} {_named(right, pair)}"
        case Term(subject, _):
            return f"{_named(subject, pair)} is as asked"
        case AllOf(parts):
            return "; ".join(t for t in (_condition(p, pair) for p in parts) if t)
    return ""


def _named(subject: str, pair: _Pair) -> str:
    value = _told(pair.value(subject))
    return f"{subject} {value}" if value else subject


def _filled(template: str, pair: _Pair) -> str:
    return " ".join(_PLACEHOLDER.sub(lambda m: _worded(m[1], pair), template).split())


def _worded(subject: str, pair: _Pair) -> str:
    if subject == "gpu":
        return _told(pair.value("gpu.name")) or _told(pair.value("gpu")) or "this GPU"
    head = subject.partition(".")[0]
    choice = pair.one.holds.get(head) or pair.two.holds.get(head)
    if subject == head and isinstance(choice, Candidate) and choice.version is not None:
        return choice.text
    return _told(pair.value(subject)) or subject


def _told(value: Any) -> str:
    if isinstance(value, Missing):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, frozenset):
        return ", ".join(sorted(map(str, value)))
    if isinstance(value, tuple) and not isinstance(value, Capability):
        return ", ".join(map(str, value)) or "none"
    return str(value)
