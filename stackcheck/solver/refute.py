"""The proof that there is no way out, read off the first level of the trail.

When a row is violated before anything has been decided, every step that led there is a conclusion from facts. Walking
the trail backwards collects the steps that were needed; a learned row stands for the rows it was resolved from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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

    ``after`` is 0 in the last step (``variable`` is -1 there if the violated incompatibility has no terms). Several origins may
    mean that the step rests on a case distinction; none mean that it was assumed.
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


def _cover(units: Sequence[tuple[int, int]], wanted: int) -> list[tuple[int, int]]:
    """Return few units that exclude all wanted candidates: those that exclude most first, ties by order."""
    chosen: list[tuple[int, int]] = []
    while wanted:
        best = max(units, key=lambda each: (each[0] & wanted).bit_count())
        chosen.append(best)
        wanted &= ~best[0]
    return chosen


def refute(
    state: Propagator, rows: Sequence[Row], lessons: Sequence[Lesson], units: Units, end: int
) -> Refutation:
    """Return the proof. ``end`` is the violated row, or ``-1 - variable`` if units leave a variable no candidate."""
    proof = _Proof(rows, lessons)
    assumptions: set[int] = set()
    steps: list[tuple[int, int, tuple[int, ...]]] = []

    def by_units(variable: int, wanted: int) -> None:
        chosen = _cover(units[variable], wanted)
        excluded = 0
        found: set[int] = set()
        for mask, unit in chosen:
            excluded |= mask
            if unit < 0:
                assumptions.add(-1 - unit)
            else:
                found.add(rows[unit][0])
        proof.origins |= found
        steps.append((variable, excluded, tuple(sorted(found))))

    if end < 0:
        by_units(-1 - end, state.domains[-1 - end])
    else:
        proof.need(state.terms(end))
        blamed = max(proof.needs, key=state.last.__getitem__, default=-1)
        steps.append((blamed, proof.needs.get(blamed, 0), proof.use(end)))
    for variable, before, _, reason, _ in reversed(state.trail):
        need = proof.needs.get(variable)
        if need is None or not before & ~need:
            continue
        if reason == INITIAL:
            del proof.needs[variable]
            by_units(variable, before & ~need)
        else:
            terms = state.terms(reason)
            excluded = next(mask for other, mask in terms if other == variable)
            proof.needs[variable] = need | excluded
            proof.need(terms, without=variable)
            steps.append((variable, excluded, proof.use(reason)))
    conclusions = tuple(_told(steps, state.full))
    return Refutation(frozenset(proof.origins), frozenset(assumptions), conclusions)


def _told(steps: Sequence[tuple[int, int, tuple[int, ...]]], full: Sequence[int]) -> Iterator[Conclusion]:
    """Yield the steps in the order in which they follow, with what is left after the steps that are told."""
    known: dict[int, int] = {}
    for variable, excluded, origins in reversed(steps):
        before = known.get(variable, full[variable] if variable >= 0 else 0)
        known[variable] = before & ~excluded
        yield Conclusion(variable, before, known[variable], origins)
