"""Conditions over single choices as masks: when can a rule fire?

`Literals` turns a condition into a disjunction of cases. A case says for each variable in which candidates (a mask) the
condition has the truth that is wanted, plus relations between two variables that are left to pairwise comparison. The
evaluator of `stackcheck.catalog.evaluate` decides about each candidate, so what the solver forbids is what `check` reports.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from operator import or_
from typing import Any, NamedTuple

from stackcheck.catalog.evaluate import Missing, Truth, passes
from stackcheck.catalog.relations import RELATIONS, Kind
from stackcheck.model.errors import InternalError
from stackcheck.model.rule import AllOf, AnyOf, Condition, Not, Relation, Rule, Term, Test, head_of
from stackcheck.model.version import Version
from stackcheck.solver.candidates import Candidate

Wanted = frozenset[Truth]

TRUE: Wanted = frozenset({True})
FALSE: Wanted = frozenset({False})
NOT_TRUE: Wanted = frozenset({False, None})
NOT_FALSE: Wanted = frozenset({True, None})
_MOST_CASES = 512


class Case(NamedTuple):
    """Masks by component, and relations (with the truths wanted of them), that together make the condition come out as wanted."""

    masks: Mapping[str, int]
    relations: tuple[tuple[Relation, Wanted], ...] = ()


EVERYWHERE = Case({})


class Literals:
    """Masks of terms over the domains of one problem; constants are what the target fixes (gpu, instance, arch)."""

    def __init__(self, domains: Mapping[str, Sequence[Candidate]], constants: Mapping[str, Any]) -> None:
        """Know the candidates of each component and the value of each constant subject."""
        self.domains = domains
        self.constants = constants
        self._masks: dict[tuple[str, str, Test], tuple[int, int, int]] = {}
        self._groups: dict[str, tuple[tuple[Any, int], ...]] = {}

    def firing(self, rule: Rule) -> list[Case]:
        """Return the cases in which a rule fires."""
        cases = self.cases(rule.when, TRUE)
        if rule.unless is not None and cases:
            cases = _product(cases, self.cases(rule.unless, NOT_TRUE))
        if rule.require is not None and cases:
            cases = _product(cases, self.cases(rule.require, FALSE))
        return cases

    def cases(self, condition: Condition, wanted: Wanted) -> list[Case]:
        """Return the cases in which a condition has one of the wanted truths; none of them means never."""
        match condition:
            case Term(subject, test):
                return self._term(subject, test, wanted)
            case Relation():
                return self._relation(condition, wanted)
            case Not(part):
                return self.cases(part, frozenset(None if t is None else not t for t in wanted))
            case AllOf(parts):
                return self._conjunction(parts, wanted)
            case AnyOf(parts):
                return self._disjunction(parts, wanted)

    def _conjunction(self, parts: tuple[Condition, ...], wanted: Wanted) -> list[Case]:
        if wanted in (TRUE, NOT_FALSE):  # all parts must be so
            result = [EVERYWHERE]
            for part in parts:
                result = _product(result, self.cases(part, wanted))
                if not result:
                    break
            return result
        return [c for part in parts for c in self.cases(part, wanted)]  # false or not true: one part suffices

    def _disjunction(self, parts: tuple[Condition, ...], wanted: Wanted) -> list[Case]:
        if wanted in (FALSE, NOT_TRUE):
            result = [EVERYWHERE]
            for part in parts:
                result = _product(result, self.cases(part, wanted))
                if not result:
                    break
            return result
        return [c for part in parts for c in self.cases(part, wanted)]

    def _term(self, subject: str, test: Test, wanted: Wanted) -> list[Case]:
        head = head_of(subject)
        if head not in self.domains:
            return [EVERYWHERE] if passes(test, self.constant(subject)) in wanted else []
        true, false, unknown = self._term_masks(subject, test)
        mask = (
            (true if True in wanted else 0)
            | (false if False in wanted else 0)
            | (unknown if None in wanted else 0)
        )
        return [Case({head: mask})] if mask else []

    def _term_masks(self, subject: str, test: Test) -> tuple[int, int, int]:
        key = (subject, type(test).__name__, test)  # named tuples of two kinds may be equal
        known = self._masks.get(key)
        if known is None:
            true = false = unknown = 0
            for value, mask in self.groups(subject):
                result = passes(test, value)
                if result:
                    true |= mask
                elif result is None:
                    unknown |= mask
                else:
                    false |= mask
            known = self._masks[key] = (true, false, unknown)
        return known

    def constant(self, subject: str) -> Any:
        """Return what a subject means that is no choice here: a fixed value, or unknown."""
        return self.constants.get(subject, Missing.UNKNOWN)

    def groups(self, subject: str) -> tuple[tuple[Any, int], ...]:
        """Return the distinct values of a subject over its component's candidates, each with its mask."""
        known = self._groups.get(subject)
        if known is None:
            head, _, attribute = subject.partition(".")
            masks: dict[Any, int] = {}
            for bit, candidate in enumerate(self.domains[head]):
                value = candidate.value(attribute)
                masks[value] = masks.get(value, 0) | 1 << bit
            known = self._groups[subject] = tuple(masks.items())
        return known

    def _relation(self, relation: Relation, wanted: Wanted) -> list[Case]:
        left, right = head_of(relation.left), head_of(relation.right)
        if left in self.domains and right in self.domains:
            if left == right:
                return self._same_component(relation, left, wanted)
            return [Case({}, ((relation, wanted),))]
        if left not in self.domains and right not in self.domains:
            held = _holds(relation, self.constant(relation.left), self.constant(relation.right))
            return [EVERYWHERE] if held in wanted else []
        mask = 0
        if left in self.domains:
            fixed = self.constant(relation.right)
            for value, bits in self.groups(relation.left):
                mask |= bits if _holds(relation, value, fixed) in wanted else 0
            return [Case({left: mask})] if mask else []
        fixed = self.constant(relation.left)
        for value, bits in self.groups(relation.right):
            mask |= bits if _holds(relation, fixed, value) in wanted else 0
        return [Case({right: mask})] if mask else []

    def _same_component(self, relation: Relation, head: str, wanted: Wanted) -> list[Case]:
        mask = 0
        for bit, candidate in enumerate(self.domains[head]):
            values = [candidate.value(s.partition(".")[2]) for s in (relation.left, relation.right)]
            mask |= 1 << bit if _holds(relation, *values) in wanted else 0
        return [Case({head: mask})] if mask else []

    def forbidden(self, case: Case) -> list[Mapping[str, int]]:
        """Return the mask sets of a case with its relations worked out by comparing every pair of values."""
        rows: list[dict[str, int]] = [dict(case.masks)]
        for relation, wanted in case.relations:
            left, right = head_of(relation.left), head_of(relation.right)
            pairs = self._pairs(relation, wanted)
            joined: list[dict[str, int]] = []
            for row in rows:
                for left_mask, right_mask in pairs:
                    merged = _meet(row, {left: left_mask, right: right_mask})
                    if merged is not None:
                        joined.append(merged)
            rows = joined
        return list(rows)

    def _pairs(self, relation: Relation, wanted: Wanted) -> list[tuple[int, int]]:
        """Return pairs of masks between which the relation comes out as wanted, joined by their right side."""
        kind = RELATIONS[relation.name]
        lefts = self._prepared(relation.left, kind.prepare)
        rights = self._prepared(relation.right, kind.prepare)
        everything = sum(bits for _, bits in rights)
        by_right: dict[int, int] = {}
        related = _relator(kind, rights)
        for left_value, left_mask in lefts:
            if left_value is Missing.UNKNOWN or left_value is None:
                true = false = 0
            else:
                true, false = related(left_value)
            right_mask = (true if True in wanted else 0) | (false if False in wanted else 0)
            if None in wanted:
                right_mask |= everything & ~true & ~false
            if right_mask:
                by_right[right_mask] = by_right.get(right_mask, 0) | left_mask
        return [(left, right) for right, left in by_right.items()]

    def _prepared(self, subject: str, prepare: Callable[[Any], Any]) -> list[tuple[Any, int]]:
        """Return the values of a subject ready to compare, equal ones joined; what is missing in any way is unknown."""
        masks: dict[Any, int] = {}
        for value, bits in self.groups(subject):
            ready = Missing.UNKNOWN if isinstance(value, Missing) else prepare(value)
            masks[ready] = masks.get(ready, 0) | bits
        return list(masks.items())


def _relator(kind: Kind, rights: list[tuple[Any, int]]) -> Callable[[Any], tuple[int, int]]:
    """Return a function from a left value to the masks of right values for which the relation is true, and false."""
    versions = [(v, bits) for v, bits in rights if isinstance(v, Version)]
    known = sum(bits for _, bits in versions)
    schemes = {v.scheme for v, _ in versions}
    only_versions = len(schemes) == 1 and all(
        isinstance(v, Version) or v is Missing.UNKNOWN for v, _ in rights
    )

    def each(left: Any) -> tuple[int, int]:
        true = false = 0
        for value, bits in rights:
            if value is Missing.UNKNOWN:
                continue
            held = kind.compare(left, value)
            if held:
                true |= bits
            elif held is False:
                false |= bits
        return true, false

    decided = not kind.suffixed or not any(v.local for v, _ in versions)
    if kind.key is not None and only_versions and decided:
        key = kind.key
        by_key: dict[Any, int] = {}
        for value, bits in versions:
            by_key[key(value)] = by_key.get(key(value), 0) | bits

        def same(left: Any) -> tuple[int, int]:
            if not isinstance(left, Version) or left.scheme not in schemes:
                return each(left)
            true = by_key.get(key(left), 0)
            return true, known & ~true

        return same
    if kind.order and only_versions:
        ordered = sorted(versions, key=lambda item: item[0].public)
        keys = [v.public for v, _ in ordered]
        below = [0, *accumulate((bits for _, bits in ordered), or_)]

        def compared(left: Any) -> tuple[int, int]:
            if not isinstance(left, Version) or left.scheme not in schemes:
                return each(left)
            if kind.order > 0:
                true = below[bisect_right(keys, left.public)]
            else:
                true = known & ~below[bisect_left(keys, left.public)]
            return true, known & ~true

        return compared

    return each


def _holds(relation: Relation, left: Any, right: Any) -> Truth:
    if isinstance(left, Missing) or isinstance(right, Missing):
        return None
    return RELATIONS[relation.name](left, right)


def _meet(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int] | None:
    merged = dict(one)
    for name, mask in other.items():
        merged[name] = merged[name] & mask if name in merged else mask
        if not merged[name]:
            return None
    return merged


def _product(left: list[Case], right: list[Case]) -> list[Case]:
    result: list[Case] = []
    for a in left:
        for b in right:
            masks = _meet(a.masks, b.masks)
            if masks is not None:
                result.append(Case(masks, a.relations + b.relations))
    if len(result) > _MOST_CASES:
        raise InternalError(f"a rule falls into {len(result)} cases", fix="split the rule")
    return result
