"""Explanations of random problems: minimal, sufficient, complete, by enumeration and by clingo."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from itertools import combinations

import pytest

from stackcheck.solver.explain import alternatives, exclusion, minimal_conflict, why
from stackcheck.solver.problem import Problem, ProblemBuilder
from stackcheck.solver.search import Conflict, Solution, solve
from tests.solver.oracles import Clingo
from tests.solver.random_problems import KINDS

Kind = Callable[[random.Random], Problem]


def solvable(problem: Problem, active: Collection[int]) -> bool:
    return Clingo(problem.restricted(active)).satisfiable()


@pytest.mark.parametrize("kind", KINDS)
def test_minimal_conflicts_conflict_and_no_part_of_them_does(kind: Kind) -> None:
    checked = 0
    for seed in range(40):
        rng = random.Random(seed)
        problem = kind(rng)
        if isinstance(solve(problem), Solution):
            continue
        origins = sorted(problem.origins)
        hard = frozenset(rng.sample(origins, rng.randint(0, len(origins) // 3)))
        soft = rng.sample(origins, len(origins))
        core = minimal_conflict(problem, hard, soft)
        assert not hard.intersection(core)
        assert list(core) == [origin for origin in soft if origin in core]
        assert not solvable(problem, hard.union(core)), seed
        for origin in core:
            assert solvable(problem, hard.union(core) - {origin}), seed
        checked += 1
    assert checked >= 15


def some_wishes_too_many(problem: Problem, rng: random.Random) -> tuple[Problem, list[int]]:
    """Return a part of an unsatisfiable problem and six of its origins, some of which have to go."""
    origins = rng.sample(sorted(problem.origins), len(problem.origins))
    fitting: set[int] = set()
    extra: list[int] = []
    for origin in origins:
        if isinstance(solve(problem, active=fitting | {origin}), Solution):
            fitting.add(origin)
        else:
            extra.append(origin)
        if len(extra) == 4:
            break
    wishes = extra + rng.sample(sorted(fitting), min(len(fitting), 6 - len(extra)))
    return problem.restricted(fitting.union(extra)), rng.sample(wishes, len(wishes))


@pytest.mark.parametrize("kind", KINDS)
def test_alternatives_are_all_minimal_ways_out_smallest_first(kind: Kind) -> None:
    checked = 0
    for seed in range(25):
        rng = random.Random(seed)
        problem = kind(rng)
        if isinstance(solve(problem), Solution):
            continue
        problem, wishes = some_wishes_too_many(problem, rng)
        expected: list[tuple[int, ...]] = []
        for size in range(len(wishes) + 1):
            for dropped in combinations(wishes, size):
                if not any(set(each) <= set(dropped) for each in expected) and solvable(
                    problem, problem.origins.difference(dropped)
                ):
                    expected.append(dropped)
        ways = alternatives(problem, wishes, most=100)
        assert [dropped for dropped, _ in ways] == expected, seed
        for dropped, found in ways:
            part = problem.restricted(problem.origins.difference(dropped))
            assert Clingo(part).refuse_better(found.values)
        checked += len(ways)
    assert checked >= 8


def excluded(
    problem: Problem,
    origins: Collection[int],
    values: tuple[int, ...],
    given: Collection[int],
    term: tuple[int, int],
) -> bool:
    """Whether these origins exclude a term, given the values of some variables."""
    builder = ProblemBuilder()
    for variable in problem.variables:
        builder.add_variable(variable.name, variable.size)
    for origin, terms in problem.restricted(origins).rows:
        builder.forbid(terms, origin)
    for number in given:
        builder.forbid([(number, ~(1 << values[number]))], -1)
    builder.forbid([(term[0], ~term[1])], -1)
    return not Clingo(builder.build()).satisfiable()


@pytest.mark.parametrize("kind", KINDS)
def test_exclusions_exclude_and_no_part_of_them_does(kind: Kind) -> None:
    checked = 0
    for seed in range(40):
        rng = random.Random(seed)
        problem = kind(rng)
        found = solve(problem)
        if isinstance(found, Conflict):
            continue
        origins = sorted(problem.origins)
        hard = frozenset(rng.sample(origins, rng.randint(0, len(origins) // 3)))
        for number, variable in enumerate(problem.variables):
            before = range(number)
            for candidate in rng.sample(range(variable.size), min(3, variable.size)):
                term = (number, 1 << candidate)
                reason = exclusion(problem, found, *term, hard=hard)
                if reason is None:
                    assert not excluded(problem, problem.origins, found.values, before, term)
                    continue
                assert set(reason.given) <= set(before)
                blamed = hard.union(reason.origins)
                assert excluded(problem, blamed, found.values, reason.given, term), seed
                for origin in reason.origins:
                    assert not excluded(problem, blamed - {origin}, found.values, before, term), seed
                checked += 1
    assert checked >= 40


@pytest.mark.parametrize("kind", KINDS)
def test_why_excludes_every_better_candidate_and_no_part_of_it_does(kind: Kind) -> None:
    checked = 0
    for seed in range(40):
        problem = kind(random.Random(seed))
        found = solve(problem)
        if isinstance(found, Conflict):
            continue
        for number, value in enumerate(found.values):
            reasons = why(problem, found, number)
            if not value:
                assert reasons == ()
                continue
            better = (number, (1 << value) - 1)
            assert excluded(problem, reasons, found.values, range(number), better), seed
            for origin in reasons:
                rest = set(reasons) - {origin}
                assert not excluded(problem, rest, found.values, range(number), better), seed
            checked += 1
    assert checked >= 20


@pytest.mark.parametrize("kind", KINDS)
def test_explanations_do_not_depend_on_the_order_of_facts(kind: Kind) -> None:
    for seed in range(20):
        rng = random.Random(seed)
        problem = kind(rng)
        builder = ProblemBuilder()
        for variable in problem.variables:
            builder.add_variable(variable.name, variable.size)
        for origin, terms in rng.sample(problem.rows, len(problem.rows)):
            builder.forbid(rng.sample(terms, len(terms)), origin)
        shuffled = builder.build()
        origins = sorted(problem.origins)
        if isinstance(found := solve(problem), Solution):
            for number in range(len(problem.variables)):
                assert why(problem, found, number) == why(shuffled, found, number)
        else:
            core = minimal_conflict(problem, frozenset(), origins)
            assert core == minimal_conflict(shuffled, frozenset(), origins)
            assert alternatives(problem, core[:4], most=3) == alternatives(shuffled, core[:4], most=3)
