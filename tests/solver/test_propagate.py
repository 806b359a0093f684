"""Propagation misses nothing, whatever was decided, learned and undone before."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from stackcheck.solver.learn import analyse, level_of
from stackcheck.solver.problem import Problem
from stackcheck.solver.propagate import INITIAL, NONE, Propagator
from tests.solver.random_problems import KINDS

Kind = Callable[[random.Random], Problem]


def unfinished(state: Propagator, problem: Problem, active: frozenset[int] | None) -> list[int]:
    """Return the rows, learned or not, from which something still follows."""
    given = [
        row
        for row, (origin, terms) in enumerate(problem.rows)
        if len(terms) > 1 and (active is None or origin in active)
    ]
    learned = range(len(problem.rows), len(problem.rows) + len(state.learned))
    rows = []
    for row in (*given, *learned):
        open_terms = [term for term in state.terms(row) if state.domains[term[0]] & ~term[1]]
        if not open_terms or (len(open_terms) == 1 and state.domains[open_terms[0][0]] & open_terms[0][1]):
            rows.append(row)
    return rows


@pytest.mark.parametrize("far", [0.0, 0.5])
@pytest.mark.parametrize("with_all", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_follows_any_more_at_every_rest(kind: Kind, with_all: bool, far: float) -> None:
    """Random decisions (not the search's own), learning and going back until a solution or a refutation.

    ``far`` is how often it goes back one level only, though the lesson applies further down.
    """
    rests = lessons = 0
    for seed in range(60):
        rng = random.Random(seed)
        problem = kind(rng)
        active = None if with_all else frozenset(o for o in problem.origins if rng.random() < 0.9)
        state = Propagator(problem.index, problem.rows, active)
        for variable, units in problem.index.units.items():
            for mask, row in units:
                after = state.domains[variable] & ~mask
                if (
                    after
                    and after != state.domains[variable]
                    and (active is None or problem.rows[row][0] in active)
                ):
                    state.narrow(variable, after, INITIAL)
        snapshots: list[list[int]] = []
        row = state.propagate()
        while True:
            if row == NONE:
                assert unfinished(state, problem, active) == [], seed
                rests += 1
                choices = [number for number, domain in enumerate(state.domains) if domain & (domain - 1)]
                if not choices:
                    break
                snapshots.append(state.domains[:])
                state.decide(rng.choice(choices))
                row = state.propagate()
                continue
            assert not any(state.domains[variable] & ~mask for variable, mask in state.terms(row)), seed
            if not state.starts:
                break
            lesson = analyse(state, row)
            levels = [level_of(state, *term)[0] for term in lesson.terms]
            assert levels[0] == len(state.starts) > lesson.level == max(levels[1:], default=0)
            level = len(state.starts) - 1 if rng.random() < far else lesson.level
            state.undo(level)
            assert not any(now & ~then for now, then in zip(state.domains, snapshots[level], strict=True))
            assert far or state.domains == snapshots[level], seed
            del snapshots[level:]
            learned = state.learn(lesson.terms)
            row = state.exclude(*lesson.terms[0], learned, lesson.level)
            if row != NONE and level > lesson.level:
                state.undo(lesson.level)
                del snapshots[lesson.level :]
                row = state.exclude(*lesson.terms[0], learned, lesson.level)
            if row == NONE:
                row = state.propagate()
            lessons += 1
    assert rests > 80
    assert lessons > 10
