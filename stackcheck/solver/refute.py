"""The proof that there is no way out, read off the first level of the trail.

When a row is violated before anything has been decided, every step that led there is a conclusion from facts. Walking
the trail backwards collects the steps that were needed; a learned row stands for the rows it was resolved from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from stackcheck.solver.index import Row
from stackcheck.solver.learn import Lesson
from stackcheck.solver.propagate import INITIAL, Propagator

__all__ = ["Conclusion", "Refutation", "Units", "refute"]

Units = Mapping[int, Sequence[tuple[int, int]]]
"""Variable to what excludes candidates of it outright: (excluded mask, row or ``-1 - number of the assumption``)."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """One step of a proof: because of these origins and the steps before, ``variable`` is left with ``after``.

    ``after`` is 0 in the last step (``variable`` is -1 there if the violated incompatibility has no terms). Several origins mean that the step rests on a case distinction.
    """

    variable: int
    before: int
    after: int
    origins: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Refutation:
    """The origins and assumptions (by number) that a proof used, and its steps in the order in which they follow."""

    origins: frozenset[int]
    assumptions: frozenset[int]
    steps: tuple[Conclusion, ...]


class _Proof:
    """What has to be explained yet (variable to the mask its domain must be within) and what was used."""

    def __init__(self, rows: Sequence[Row], lessons: Sequence[Lesson]) -> None:
        self.needs: dict[int, int] = {}
        self.origins: set[int] = set()
        self._rows = rows
        self._lessons = lessons
        self._seen: set[int] = set()

    def need(self, terms: Iterable[tuple[int, int]], without: int = -1) -> None:
        for variable, mask in terms:
            if variable != without:
                self.needs[variable] = self.needs.get(variable, mask) & mask

    def use(self, row: int) -> tuple[int, ...]:
        """Return the origins that a row stands for, and note what else its derivation needs."""
        given = len(self._rows)
        found: set[int] = set()
        stack, seen = [row], {row}
        while stack:
            row = stack.pop()
            if row < given:
                found.add(self._rows[row][0])
                continue
            lesson = self._lessons[row - given]
            stack += [part for part in lesson.rows if part not in seen]
            seen.update(lesson.rows)
            if row not in self._seen:
                self._seen.add(row)
                self.need(lesson.needs)
        self.origins |= found
        return tuple(sorted(found))


def _cover(units: Sequence[tuple[int, int]], wanted: int) -> list[int]:
    """Return few units that exclude all wanted candidates: those that exclude most first, ties by order."""
    chosen: list[int] = []
    while wanted:
        mask, unit = max(units, key=lambda each: (each[0] & wanted).bit_count())
        chosen.append(unit)
        wanted &= ~mask
    return chosen


def refute(
    state: Propagator, rows: Sequence[Row], lessons: Sequence[Lesson], units: Units, end: int
) -> Refutation:
    """Return the proof. ``end`` is the violated row, or ``-1 - variable`` if units leave a variable no candidate."""
    proof = _Proof(rows, lessons)
    assumptions: set[int] = set()
    steps: list[Conclusion] = []

    def by_units(variable: int, wanted: int) -> tuple[int, ...]:
        chosen = _cover(units[variable], wanted)
        assumptions.update(-1 - unit for unit in chosen if unit < 0)
        found = {rows[unit][0] for unit in chosen if unit >= 0}
        proof.origins |= found
        return tuple(sorted(found))

    if end < 0:
        full = state.domains[-1 - end]
        steps.append(Conclusion(-1 - end, full, 0, by_units(-1 - end, full)))
    else:
        terms = state.terms(end)
        proof.need(terms)
        blamed = max(proof.needs, key=state.last.__getitem__, default=-1)
        before = state.domains[blamed] if terms else 0
        steps.append(Conclusion(blamed, before, 0, proof.use(end)))
    for variable, before, after, reason, _ in reversed(state.trail):
        need = proof.needs.get(variable)
        if need is None or not before & ~need:
            continue
        if reason == INITIAL:
            del proof.needs[variable]
            used = by_units(variable, before & ~need)
        else:
            terms = state.terms(reason)
            proof.needs[variable] = need | next(mask for other, mask in terms if other == variable)
            proof.need(terms, without=variable)
            used = proof.use(reason)
        steps.append(Conclusion(variable, before, after, used))
    return Refutation(frozenset(proof.origins), frozenset(assumptions), tuple(reversed(steps)))
