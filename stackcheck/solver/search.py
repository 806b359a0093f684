"""Search: the best combination of candidates, or a proof that there is none.

The method is conflict-driven clause learning (GRASP, Marques-Silva and Sakallah 1996; Chaff, Moskewicz et al. 2001) on
sets of candidates instead of Boolean literals, with the incompatibilities of PubGrub (Weizenbaum 2018) as clauses.

**Why the first solution is the optimum.** Wanted is the lexicographic optimum: the first variable gets the most
preferred candidate for which any complete solution exists, then the second given the first, and so on. Every decision
takes the lowest candidate left of the *first* variable in order that still has several. Look at the end: let variable
i have value x, and let p be a more preferred candidate of i. Candidate p was removed by some step of the trail, on a
level whose decisions all concern variables before i (a decision on a later variable is only made once i has a single
candidate left, and a decision on i itself takes the lowest one left, so it removed no p). A step that is not a decision
follows, through incompatibilities that hold in every solution (the problem's, or learned ones, which are resolved
from the problem's), from the decisions on its level and below. So no solution agrees with this one on the variables
before i and has p at i. Going back does not disturb this: it drops levels from the top, the levels that stay were
decided in order, and the learned incompatibility merely removes more, by proof. How far to go back is therefore free.
Where the lesson applies on a much lower level, only the last decision is undone (chronological backtracking, Nadel and
Ryvchin 2018), because making hundreds of unaffected decisions again costs more; the lesson is then applied again
whenever later undoing would lose it, so no conclusion is ever missed.

**Why it ends.** A conflict without a decision since the last one goes to a lower level; that happens finitely often in
a row. Else its lesson excludes candidates that nothing excluded before, so it is new; there are finitely many.

Effort is bounded by the number of conflicts, which does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from stackcheck.solver.learn import Lesson, analyse
from stackcheck.solver.problem import Problem
from stackcheck.solver.propagate import INITIAL, NONE, Propagator
from stackcheck.solver.refute import Conclusion, refute

__all__ = ["DEFAULT_LIMIT", "Conflict", "Reporter", "SearchLimit", "Solution", "Statistics", "solve"]

DEFAULT_LIMIT = 20_000
"""Conflicts before a search gives up; the real catalog needs a few dozen at most."""
DEFAULT_PATIENCE = 50
"""Levels that a conflict may undo at once; jumping further costs more than it saves (measured on 4,000 variables)."""


class SearchLimit(RuntimeError):  # noqa: N818 - it names what was reached; nothing is wrong
    """The search was given up; nothing is known about the problem."""


class Statistics(NamedTuple):
    """How much work a search was."""

    decisions: int = 0
    conflicts: int = 0
    propagations: int = 0


class Solution(NamedTuple):
    """The optimum: one candidate per variable."""

    values: tuple[int, ...]
    statistics: Statistics = Statistics()


class Conflict(NamedTuple):
    """There is no solution: these origins (with these assumptions, by position) suffice to see it.

    They come from one proof and are not minimal yet; see `stackcheck.solver.explain`. ``steps`` is the proof.
    """

    origins: frozenset[int]
    assumptions: frozenset[int] = frozenset()
    steps: tuple[Conclusion, ...] = ()
    statistics: Statistics = Statistics()


class Reporter(Protocol):
    """Hooks to watch a search, as resolvelib has them; they see masks of candidates."""

    def decided(self, level: int, variable: int, candidate: int) -> None:
        """A candidate was chosen."""

    def propagated(self, level: int, variable: int, remaining: int) -> None:
        """A domain shrank because of an incompatibility."""

    def conflict(self, level: int, terms: Sequence[tuple[int, int]]) -> None:
        """These terms all hold, though they cannot."""

    def backjumped(self, level: int, learned: Sequence[tuple[int, int]]) -> None:
        """The search went back to ``level`` having learned that these terms cannot all hold."""


def solve(
    problem: Problem,
    *,
    active: Collection[int] | None = None,
    assume: Sequence[tuple[int, int]] = (),
    limit: int = DEFAULT_LIMIT,
    reporter: Reporter | None = None,
    patience: int = DEFAULT_PATIENCE,
) -> Solution | Conflict:
    """Return the lexicographic optimum, or a conflict if there is no solution.

    ``active`` restricts the problem to incompatibilities of these origins (None: all). ``assume`` lists extra
    (variable, mask) that the value must be in, for what-if questions. A conflict undoes all decisions its lesson does
    not rest on if they are no more than ``patience``, else the last one only. Raises `SearchLimit` after ``limit``
    conflicts, ValueError for an assumption about a variable that does not exist.
    """
    if active is not None and not isinstance(active, frozenset | set):
        active = frozenset(active)
    return _Search(problem, active, assume, reporter, patience).run(limit)


class _Search:
    """One question: the state, what was learned, and the loop over decisions and conflicts."""

    def __init__(
        self,
        problem: Problem,
        active: Collection[int] | None,
        assume: Sequence[tuple[int, int]],
        reporter: Reporter | None,
        patience: int,
    ) -> None:
        self._problem = problem
        self._active = active
        self._state = Propagator(problem.index, problem.rows, active)
        self._lessons: list[Lesson] = []
        self._reporter = reporter
        self._decisions = 0
        self._told = 0
        """How much of the trail the reporter knows."""
        self._patience = patience
        self._cursor = 0
        """No variable before this place in the order is undecided."""
        self._cursors: list[int] = []
        """Per level above 0 the place in the order of the variable decided there."""
        self._units: dict[int, list[tuple[int, int]]] = {}
        for number, (variable, mask) in enumerate(assume):
            if not 0 <= variable < len(problem.variables):
                raise ValueError(f"no variable {variable}: there are {len(problem.variables)}")
            self._units.setdefault(variable, []).append((~mask, -1 - number))

    def run(self, limit: int) -> Solution | Conflict:
        state = self._state
        end = self._begin()
        if end is not None:
            return self._refuted(end)
        row = self._conclude()
        while True:
            if row == NONE:
                if not self._decide():
                    return self._solution()
                row = self._conclude()
            elif not state.starts:
                return self._refuted(row)
            elif len(self._lessons) >= limit:
                raise SearchLimit(self._complaint(limit))
            else:
                row = self._conclude(self._learn(row))

    def _conclude(self, violated: int = NONE) -> int:
        """Draw all conclusions, unless a row is violated already, and tell; return a violated row or `NONE`."""
        row = self._state.propagate() if violated == NONE else violated
        if self._reporter is not None:
            self._tell()
            if row != NONE:
                self._reporter.conflict(len(self._state.starts), self._state.terms(row))
        return row

    def _decide(self) -> bool:
        """Choose for the first undecided variable in order; return whether there was one."""
        domains, order, cursor = self._state.domains, self._problem.index.linked, self._cursor
        while cursor < len(order) and not domains[order[cursor]] & (domains[order[cursor]] - 1):
            cursor += 1
        if cursor == len(order):
            return False
        self._cursors.append(cursor)
        self._cursor = cursor
        self._decisions += 1
        variable = order[cursor]
        self._state.decide(variable)
        if self._reporter is not None:
            self._told = len(self._state.trail)
            self._reporter.decided(len(self._state.starts), variable, domains[variable].bit_length() - 1)
        return True

    def _tell(self) -> None:
        state = self._state
        if self._reporter is not None:
            for variable, _, after, _, _ in state.trail[self._told :]:
                self._reporter.propagated(len(state.starts), variable, after)
            self._told = len(state.trail)

    def _begin(self) -> int | None:
        """Apply assumptions and incompatibilities of one term; return what `refute` wants if that fails."""
        state, index = self._state, self._problem.index
        rows, active = self._problem.rows, self._active
        for row in index.contradictions:
            if active is None or rows[row][0] in active:
                return row
        for variable, given in index.units.items():
            units = given if active is None else [unit for unit in given if rows[unit[1]][0] in active]
            self._units.setdefault(variable, []).extend(units)
        for variable in sorted(self._units):
            domain = state.domains[variable]
            after = domain
            for mask, _ in self._units[variable]:
                after &= ~mask
            if not after:
                return -1 - variable
            if after != domain:
                state.narrow(variable, after, INITIAL)
        return None

    def _learn(self, row: int) -> int:
        """Learn from the violation of a row and go back; return a row that is violated even there, or `NONE`."""
        state = self._state
        lesson = analyse(state, row)
        here = len(state.starts)
        self._go_back(here - 1 if here - lesson.level > self._patience else lesson.level)
        self._lessons.append(lesson)
        learned = state.learn(lesson.terms)
        violated = state.exclude(*lesson.terms[0], learned, lesson.level)
        # Earlier lessons, applied again on this level, may leave nothing that this one allows: go where it belongs.
        if violated != NONE and lesson.level < len(state.starts):
            self._go_back(lesson.level)
            violated = state.exclude(*lesson.terms[0], learned, lesson.level)
        if self._reporter is not None:
            self._reporter.backjumped(len(state.starts), lesson.terms)
        return violated

    def _go_back(self, level: int) -> None:
        self._cursor = self._cursors[level]
        del self._cursors[level:]
        if self._reporter is not None:
            self._tell()
            self._told = self._state.starts[level]
        self._state.undo(level)

    def _complaint(self, limit: int) -> str:
        size = f"{len(self._problem.variables)} choices with {len(self._problem.rows)} incompatibilities"
        return f"gave up after {limit} conflicts: {size} are too entangled; narrow the question"

    def _solution(self) -> Solution:
        # Variables without ties to others are never decided: their best candidate left is their value.
        values = tuple([(domain & -domain).bit_length() - 1 for domain in self._state.domains])
        return Solution(values, self._statistics())

    def _refuted(self, end: int) -> Conflict:
        proof = refute(self._state, self._problem.rows, self._lessons, self._units, end)
        return Conflict(proof.origins, proof.assumptions, proof.steps, self._statistics())

    def _statistics(self) -> Statistics:
        steps = self._state.propagations + len(self._state.trail) - self._decisions
        return Statistics(self._decisions, len(self._lessons), steps)
