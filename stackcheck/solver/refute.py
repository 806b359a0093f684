"""The proof that there is no way out, read off the first level of the trail.

When a row is violated before anything has been decided, every step that led there is a conclusion from facts. Walking
the trail backwards collects the steps that were needed; a learned row stands for the rows it was resolved from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from stackcheck.solver.index import Row
from stackcheck.solver.learn import Lesson
from stackcheck.solver.propagate import INITIAL, Propagator

__all__ = ["Conclusion", "Refutation", "Units", "refute"]

Units = Mapping[int, Sequence[tuple[int, int]]]
"""Variable to what excludes candidates of it outright: (excluded mask, row or ``-1 - number of the assumption``)."""


class Conclusion(NamedTuple):
    """One step of a proof: because of these origins and the steps before, ``variable`` is left with ``after``.

    ``after`` is 0 in the last step (``variable`` is -1 there if the violated incompatibility has no terms). Several origins may
    mean that the step rests on a case distinction; none mean that it was assumed.
    """

    variable: int
    before: int
    after: int
    origins: tuple[int, ...]


class Refutation(NamedTuple):
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
        self._derived: dict[int, tuple[set[int], dict[int, int]]] = {}
        """Learned row to the origins it stands for and what its derivation needs."""

    def need(self, terms: Iterable[tuple[int, int]], without: int = -1) -> None:
        """Ask that these terms be explained, by steps before the one in hand."""
        for variable, mask in terms:
            if variable != without:
                self.needs[variable] = self.needs.get(variable, mask) & mask

    def use(self, row: int) -> tuple[int, ...]:
        """Return the origins that a row stands for, and ask for what its derivation needs.

        It is asked anew at every use: what explained it for a later step may come after this one.
        """
        if row < len(self._rows):
            self.origins.add(self._rows[row][0])
            return (self._rows[row][0],)
        if row not in self._derived:
            self._derive(row)
        origins, needs = self._derived[row]
        self.origins |= origins
        self.need(needs.items())
        return tuple(sorted(origins))

    def _derive(self, row: int) -> None:
        given = len(self._rows)
        stack, wanted = [row], {row}
        while stack:
            for part in self._lessons[stack.pop() - given].rows:
                if part >= given and part not in wanted and part not in self._derived:
                    wanted.add(part)
                    stack.append(part)
        # A lesson is resolved from rows that are older than itself.
        for number in sorted(wanted):
            lesson = self._lessons[number - given]
            origins: set[int] = set()
            needs = dict(lesson.needs)
            for part in lesson.rows:
                if part < given:
                    origins.add(self._rows[part][0])
                else:
                    more, further = self._derived[part]
                    origins |= more
                    for variable, mask in further.items():
                        needs[variable] = needs.get(variable, mask) & mask
            self._derived[number] = (origins, needs)


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
