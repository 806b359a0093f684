"""Random problems: the same verdict and the same optimum as clingo and as trying everything; proofs that prove."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackcheck.solver.problem import Problem, ProblemBuilder
from stackcheck.solver.refute import Conclusion
from stackcheck.solver.search import Conflict, Solution, solve
from tests.solver.oracles import Clingo, best, solutions
from tests.solver.random_problems import KINDS, anything, hard_binary, releases

PER_KIND = 420
Kind = Callable[[random.Random], Problem]


@pytest.mark.parametrize("kind", KINDS)
def test_verdict_and_optimum_are_those_of_clingo(kind: Kind) -> None:
    solved = refuted = searched = 0
    for seed in range(PER_KIND):
        problem = kind(random.Random(seed))
        jumping, stepping = solve(problem), solve(problem, patience=0)
        searched += jumping.statistics.conflicts > 0
        if isinstance(jumping, Solution):
            solved += 1
            assert Clingo(problem).refuse_better(jumping.values), seed
            assert isinstance(stepping, Solution)
            assert stepping.values == jumping.values
        else:
            refuted += 1
            assert not Clingo(problem).satisfiable(), seed
            for answer in (jumping, stepping):
                assert isinstance(answer, Conflict)
                assert not Clingo(problem.restricted(answer.origins)).satisfiable(), seed
    # Problems all of one sort, or without any search, would prove little.
    assert min(solved, refuted) >= PER_KIND // 10
    assert searched >= PER_KIND // 10


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw problems small enough to try everything."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    builder = ProblemBuilder()
    for number, size in enumerate(sizes):
        builder.add_variable(f"v{number}", size)
    term = st.integers(0, len(sizes) - 1).flatmap(
        lambda variable: st.tuples(st.just(variable), st.integers(-1, (1 << sizes[variable]) - 1))
    )
    for terms, origin in draw(
        st.lists(st.tuples(st.lists(term, min_size=1, max_size=4), st.integers(0, 5)), max_size=25)
    ):
        builder.forbid(terms, origin)
    return builder.build()


@given(problems(), st.none() | st.frozensets(st.integers(0, 5)))
@settings(max_examples=400, deadline=None, database=None)
def test_verdict_and_optimum_are_those_of_trying_everything(
    problem: Problem, active: frozenset[int] | None
) -> None:
    answer = solve(problem, active=active)
    expected = best(problem, active)
    if isinstance(answer, Solution):
        assert answer.values == expected
    else:
        assert expected is None
        assert active is None or answer.origins <= active
        assert best(problem, answer.origins) is None


@given(problems(), st.lists(st.tuples(st.integers(0, 4), st.integers(0, 15)), max_size=4))
@settings(max_examples=200, deadline=None, database=None)
def test_assumptions_are_facts_that_are_not_written_down(
    problem: Problem, assume: list[tuple[int, int]]
) -> None:
    assume = [(variable % len(problem.variables), mask) for variable, mask in assume]
    answer = solve(problem, assume=assume)
    fitting = (
        values
        for values in solutions(problem)
        if all(mask >> values[variable] & 1 for variable, mask in assume)
    )
    expected = next(fitting, None)
    if isinstance(answer, Solution):
        assert answer.values == expected
    else:
        assert expected is None
        blamed = [assume[number] for number in answer.assumptions]
        assert isinstance(solve(problem, active=answer.origins, assume=blamed), Conflict)


def follows(problem: Problem, known: list[int], step: Conclusion) -> bool:
    """Whether the step's origins alone exclude what it takes from the variable, given what is known."""
    builder = ProblemBuilder()
    for variable, domain in zip(problem.variables, known, strict=True):
        builder.forbid([(builder.add_variable(variable.name, variable.size), ~domain)], -1)
    for origin, terms in problem.restricted(step.origins).rows:
        builder.forbid(terms, origin)
    if step.variable >= 0:
        builder.forbid([(step.variable, ~(step.before & ~step.after))], -1)
    return not Clingo(builder.build()).satisfiable()


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_of_a_proof_follows_from_its_origins_and_the_steps_before(kind: Kind) -> None:
    checked = 0
    for seed in range(80):
        problem = kind(random.Random(10_000 + seed))
        answer = solve(problem, patience=seed % 3)
        if isinstance(answer, Solution):
            continue
        known = [variable.full for variable in problem.variables]
        for step in answer.steps:
            assert step.variable < 0 or step.before == known[step.variable]
            assert follows(problem, known, step), (seed, step)
            known[step.variable] = step.after
            checked += 1
        assert answer.steps[-1].after == 0
        assert frozenset().union(*(step.origins for step in answer.steps)) == answer.origins
    assert checked > 80


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_facts_changes_nothing(kind: Kind) -> None:
    for seed in range(40):
        rng = random.Random(seed)
        problem = kind(rng)
        answers = []
        for _ in range(3):
            builder = ProblemBuilder()
            for variable in problem.variables:
                builder.add_variable(variable.name, variable.size)
            for origin, terms in rng.sample(problem.rows, len(problem.rows)):
                builder.forbid(rng.sample(terms, len(terms)), origin)
            answers.append(solve(builder.build()))
        assert answers[0] == answers[1] == answers[2] == solve(problem)


def test_one_fact_more_never_improves_the_optimum() -> None:
    for seed in range(100):
        problem = anything(random.Random(seed))
        if isinstance(every := solve(problem), Solution):
            for origin in problem.origins:
                fewer = solve(problem, active=problem.origins - {origin})
                assert isinstance(fewer, Solution)
                assert fewer.values <= every.values


def large_catalog(seed: int, components: int) -> Problem:
    """Return components of 40 releases with four dependencies each on neighbours; the planted choice fits."""
    rng = random.Random(seed)
    size = 40
    planted = [min(size - 1, int(rng.expovariate(0.25))) for _ in range(components)]
    builder = ProblemBuilder()
    for number in range(components):
        builder.add_variable(f"c{number}", size)
    for component in range(components):
        near = [c for c in range(max(0, component - 12), min(components, component + 13)) if c != component]
        for other in rng.sample(near, 4):
            for release in range(size):
                middle = release + rng.randint(-5, 5)
                low = min(size - 1, max(0, middle - rng.randint(0, 9)))
                high = max(low, min(size - 1, middle + rng.randint(0, 9)))
                if release == planted[component]:
                    low, high = min(low, planted[other]), max(high, planted[other])
                builder.forbid(
                    [(component, 1 << release), (other, ~((1 << high + 1) - (1 << low)))], component
                )
    return builder.build()


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_of_a_catalog_of_thousands_of_facts_cannot_be_bettered(seed: int) -> None:
    problem = large_catalog(seed, 40)
    answer = solve(problem)
    assert isinstance(answer, Solution)
    assert Clingo(problem).refuse_better(answer.values)


def test_work_grows_with_the_size_of_a_catalog_not_with_its_square() -> None:
    """Twenty times the components are twenty times the work; always jumping back would make it forty times."""
    small = sum(solve(large_catalog(seed, 40)).statistics.propagations for seed in range(8)) / 8
    assert solve(large_catalog(0, 800)).statistics.propagations < 32 * small


def test_hard_problems_stay_within_a_bounded_number_of_conflicts() -> None:
    assert max(solve(hard_binary(random.Random(seed))).statistics.conflicts for seed in range(300)) < 1000
    assert max(solve(releases(random.Random(seed))).statistics.conflicts for seed in range(300)) < 200
