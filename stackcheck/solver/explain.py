"""Explanations: minimal conflicts, ways out of them, and what excludes a candidate.

All of them ask the solver again with fewer facts, so each is proved and none can say more than the search knows.

* A *minimal conflict* (minimal unsatisfiable subset) starts from the origins of one proof, which is usually within a
  few of minimal, and tries to do without each in turn; every proof found on the way discards all it did not use
  (clause-set refinement). QuickXplain (Junker 2004) asks less often when a small conflict hides in a large set; here
  the first proof has done that work already. As there, those given last are tried first, so earlier ones tend to stay.
* *Alternatives* are minimal correction sets. They are exactly the minimal hitting sets of all conflicts (Reiter
  1987), so candidates are grown from the conflicts met so far, smallest first, and each is proved by solving.
* *Why not* a candidate: the values of all earlier variables are assumed and the candidate is forced; the conflict is
  minimised. Most candidates fall by a single incompatibility, which is looked up without any search.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from stackcheck.solver.problem import Problem
from stackcheck.solver.search import DEFAULT_LIMIT, Conflict, Solution, solve

__all__ = ["Exclusion", "alternatives", "exclusion", "minimal_conflict", "why", "why_not"]

DEFAULT_EFFORT = 200
"""Sets of requirements considered by `alternatives` before it is content with what it has."""


def minimal_conflict(
    problem: Problem, hard: Collection[int], soft: Sequence[int], *, limit: int = DEFAULT_LIMIT
) -> tuple[int, ...]:
    """Return soft origins that cannot all hold together with the hard ones, none of which can be spared.

    Without any one of them the hard origins and the rest have a solution. Origins in neither are left out of the
    question; a hard one is never reported, so the result is empty if the hard ones conflict among themselves.
    Which of several minimal conflicts it is depends on the proof that was found; within that proof later soft origins
    are spared first. They are returned in the order of ``soft``. Raises ValueError if there is no conflict, `SearchLimit` as `solve` does.
    """
    return _minimise(problem, frozenset(hard), soft, (), limit).origins


class Exclusion(NamedTuple):
    """What excludes candidates of a variable: these origins, given the values of these earlier variables."""

    origins: tuple[int, ...]
    given: tuple[int, ...]


class _Minimal(NamedTuple):
    origins: tuple[int, ...]
    assumptions: tuple[int, ...]


def _minimise(
    problem: Problem, hard: frozenset[int], soft: Sequence[int], assume: Sequence[tuple[int, int]], limit: int
) -> _Minimal:
    """Return a minimal conflict and the assumptions (by position) that its proof uses."""
    rank = {origin: position for position, origin in enumerate(soft) if origin not in hard}
    active = hard.union(rank)
    everything = None if active >= problem.origins else active
    outcome = solve(problem, active=everything, assume=assume, limit=limit)
    if isinstance(outcome, Solution):
        raise ValueError("there is no conflict: these origins have a solution")  # noqa: TRY004 - no wrong type
    core = sorted(outcome.origins - hard, key=rank.__getitem__)
    smaller = problem.restricted(hard.union(core))
    kept: list[int] = []
    while core:
        tried = core.pop()
        without = solve(smaller, active=hard.union(core, kept), assume=assume, limit=limit)
        if isinstance(without, Conflict):
            outcome = without
            core = [origin for origin in core if origin in without.origins]
        else:
            kept.append(tried)
    return _Minimal(tuple(reversed(kept)), tuple(sorted(outcome.assumptions)))


def alternatives(
    problem: Problem,
    requirement_origins: Sequence[int],
    *,
    most: int,
    limit: int = DEFAULT_LIMIT,
    effort: int = DEFAULT_EFFORT,
) -> list[tuple[tuple[int, ...], Solution]]:
    """Return up to ``most`` minimal sets of requirements to drop, each with the optimum of what is left.

    Dropping a set makes the problem satisfiable, dropping any part of it does not. Smaller sets come first, then
    those with earlier requirements. If there is no conflict, the one way is to drop nothing; if the conflict does
    not rest on requirements, there is no way. After ``effort`` sets it returns what it has found, or, if that is
    nothing, one minimal set that keeps what it can in the order given. Raises `SearchLimit` as `solve` does.
    """
    wanted = list(dict.fromkeys(requirement_origins))
    rank = {origin: position for position, origin in enumerate(wanted)}
    found: list[tuple[tuple[int, ...], Solution]] = []
    minimal: list[frozenset[int]] = []
    conflicts: list[tuple[int, ...]] = []
    queue: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    queued: set[tuple[int, ...]] = {()}
    while queue and len(found) < most and effort > 0:
        effort -= 1
        _, dropped = heappop(queue)
        gone = frozenset(dropped)
        if any(gone >= each for each in minimal):
            continue
        conflict = next((each for each in conflicts if gone.isdisjoint(each)), None)
        if conflict is None:
            leave = tuple(wanted[position] for position in dropped)
            outcome = solve(problem, active=problem.origins.difference(leave), limit=limit)
            if isinstance(outcome, Solution):
                found.append((leave, outcome))
                minimal.append(gone)
                continue
            conflict = tuple(sorted(rank[origin] for origin in outcome.origins if origin in rank))
            conflicts.append(conflict)
        # Whatever repairs this conflict drops one of its requirements.
        for position in conflict:
            grown = tuple(sorted((*dropped, position)))
            if grown not in queued:
                queued.add(grown)
                heappush(queue, (len(grown), grown))
    return found if found or not queue or not most else _greedy(problem, wanted, limit)


def _greedy(problem: Problem, wanted: Sequence[int], limit: int) -> list[tuple[tuple[int, ...], Solution]]:
    """Return one minimal set to drop: each requirement in turn is kept if it agrees with those kept so far."""
    kept = set(problem.origins.difference(wanted))
    best = solve(problem, active=kept, limit=limit)
    if isinstance(best, Conflict):
        return []
    dropped: list[int] = []
    for origin in wanted:
        outcome = solve(problem, active=kept | {origin}, limit=limit)
        if isinstance(outcome, Solution):
            kept.add(origin)
            best = outcome
        else:
            dropped.append(origin)
    return [(tuple(dropped), best)]


def exclusion(
    problem: Problem,
    solution: Solution,
    variable: int,
    candidates: int,
    *,
    hard: Collection[int] = frozenset(),
    active: Collection[int] | None = None,
    limit: int = DEFAULT_LIMIT,
) -> Exclusion | None:
    """Return what excludes all of these candidates (a mask) given the values of the earlier variables.

    None if nothing does. The origins are minimal together with the hard ones, which are not reported; ``given`` are
    the earlier variables whose values it rests on, none of which can be spared either. ``active`` is what the
    solution was found with. Raises `SearchLimit` as `solve` does.
    """
    hard = frozenset(hard)
    usable = problem.origins if active is None else problem.origins.intersection(active)
    assume = [(earlier, 1 << solution.values[earlier]) for earlier in range(variable)]
    assume.append((variable, candidates))
    known = _single(problem, solution, variable, candidates, hard, usable)
    if known is not None:
        if (
            not known.origins
            or not hard
            or isinstance(solve(problem, active=hard & usable, assume=assume), Solution)
        ):
            return known
        usable = usable & hard
        active = usable
    outcome = solve(problem, active=active, assume=assume, limit=limit)
    if isinstance(outcome, Solution):
        return None
    reason = _minimise(problem, hard & usable, sorted(outcome.origins - hard), assume, limit)
    return Exclusion(reason.origins, _given(problem, hard & usable, reason, assume, limit))


def _single(
    problem: Problem,
    solution: Solution,
    variable: int,
    candidates: int,
    hard: frozenset[int],
    usable: frozenset[int],
) -> Exclusion | None:
    """Return the exclusion by a single incompatibility: a hard one first, then the one with the fewest terms."""
    best: tuple[bool, int, int] | None = None
    for position in problem.occurrences(variable):
        origin, terms = problem.rows[position]
        key = (origin not in hard, len(terms), position)
        if (
            (best is None or key < best)
            and origin in usable
            and all(
                not candidates & ~mask
                if other == variable
                else other < variable and mask >> solution.values[other] & 1
                for other, mask in terms
            )
        ):
            best = key
    if best is None:
        return None
    origin, terms = problem.rows[best[2]]
    given = tuple(other for other, _ in terms if other != variable)
    return Exclusion(() if origin in hard else (origin,), given)


def _given(
    problem: Problem, hard: frozenset[int], reason: _Minimal, assume: Sequence[tuple[int, int]], limit: int
) -> tuple[int, ...]:
    """Return the variables whose assumed values cannot be spared; the last assumption is the question itself."""
    smaller = problem.restricted(hard.union(reason.origins))
    asked = len(assume) - 1
    left = [number for number in reason.assumptions if number != asked]
    kept: list[int] = []
    while left:
        tried = left.pop()
        numbers = [*left, *kept]
        outcome = solve(smaller, assume=[assume[asked], *(assume[number] for number in numbers)], limit=limit)
        if isinstance(outcome, Conflict):
            left = [number for place, number in enumerate(left, 1) if place in outcome.assumptions]
        else:
            kept.append(tried)
    return tuple(sorted(assume[number][0] for number in kept))


def why(
    problem: Problem,
    solution: Solution,
    variable: int,
    *,
    hard: Collection[int] = frozenset(),
    active: Collection[int] | None = None,
    limit: int = DEFAULT_LIMIT,
) -> tuple[int, ...]:
    """Return a minimal set of origins that excludes every candidate preferred to the chosen one.

    Given are the values of the variables decided before. Empty if the most preferred candidate was chosen: nothing
    but preference speaks for it. Raises ValueError if ``solution`` is no optimum of the problem.
    """
    better = (1 << solution.values[variable]) - 1
    if not better:
        return ()
    reason = exclusion(problem, solution, variable, better, hard=hard, active=active, limit=limit)
    if reason is None:
        raise ValueError("a preferred candidate is possible: this is no optimum of the problem")
    return reason.origins


def why_not(
    problem: Problem,
    solution: Solution,
    variable: int,
    candidate: int,
    *,
    hard: Collection[int] = frozenset(),
    active: Collection[int] | None = None,
    limit: int = DEFAULT_LIMIT,
) -> tuple[int, ...]:
    """Return a minimal set of origins that excludes a candidate, given the values decided before its variable.

    Empty if nothing (or only hard origins) excludes it: it is then merely less preferred. Use `exclusion` to tell the
    two apart and to learn on which earlier values it rests. Raises ValueError if there is no such candidate.
    """
    if not 0 <= candidate < problem.variables[variable].size:
        raise ValueError(f"{problem.variables[variable].name} has no candidate {candidate}")
    reason = exclusion(problem, solution, variable, 1 << candidate, hard=hard, active=active, limit=limit)
    return () if reason is None else reason.origins
