"""The builder tidies what it is given; a problem does not depend on the order of its facts."""

from __future__ import annotations

import random

import pytest

from stackcheck.solver.problem import Incompatibility, Problem, ProblemBuilder
from tests.solver.random_problems import anything


def builder(*sizes: int) -> ProblemBuilder:
    made = ProblemBuilder()
    for number, size in enumerate(sizes):
        assert made.add_variable(f"v{number}", size) == number
    return made


def facts(problem: Problem) -> list[Incompatibility]:
    return list(problem.incompatibilities)


def test_terms_come_in_the_order_of_the_variables() -> None:
    made = builder(3, 3)
    made.forbid([(1, 0b001), (0, 0b110)], 7)
    assert facts(made.build()) == [Incompatibility(((0, 0b110), (1, 0b001)), 7)]


@pytest.mark.parametrize("terms", [[(0, 0b111), (1, 0b001)], [(1, 0b001), (0, -1)], [(1, 0b001)]])
def test_terms_that_always_hold_are_dropped(terms: list[tuple[int, int]]) -> None:
    made = builder(3, 3)
    made.forbid(terms, 0)
    assert facts(made.build()) == [Incompatibility(((1, 0b001),), 0)]


@pytest.mark.parametrize(
    "terms",
    [[(0, 0), (1, 1)], [(0, 0b1000), (1, 1)], [(0, 0)], [(0, 1), (0, 2), (1, 1)], [(0, 1), (1, 1), (2, 0)]],
)
def test_an_incompatibility_with_a_term_that_never_holds_says_nothing(terms: list[tuple[int, int]]) -> None:
    made = builder(3, 3, 3)
    made.forbid(terms, 0)
    assert facts(made.build()) == []


def test_terms_of_one_variable_are_intersected() -> None:
    made = builder(3, 3)
    made.forbid([(0, 0b011), (1, 0b100), (0, 0b110)], 0)
    assert facts(made.build()) == [Incompatibility(((0, 0b010), (1, 0b100)), 0)]


def test_a_complement_may_be_written_with_a_minus() -> None:
    made = builder(4, 2)
    made.forbid([(0, ~0b0011), (1, 0b01)], 0)
    assert facts(made.build()) == [Incompatibility(((0, 0b1100), (1, 0b01)), 0)]


def test_repetition_is_dropped_but_every_origin_is_kept() -> None:
    made = builder(2, 2)
    for origin in (1, 0, 1):
        made.forbid([(0, 1), (1, 1)], origin)
    assert [fact.origin for fact in facts(made.build())] == [0, 1]


def test_a_fact_without_conditions_is_a_contradiction() -> None:
    made = builder(2)
    made.forbid([(0, 0b11)], 5)
    made.forbid([], 6)
    assert facts(made.build()) == [Incompatibility((), 5), Incompatibility((), 6)]


@pytest.mark.parametrize("variable", [-1, 2, 10**9])
@pytest.mark.parametrize("others", [[], [(0, 1)], [(0, 1), (1, 1)]])
def test_unknown_variables_are_refused(variable: int, others: list[tuple[int, int]]) -> None:
    made = builder(2, 2)
    with pytest.raises(ValueError, match=f"no variable {variable}"):
        made.forbid([*others, (variable, 1)], 0)


@pytest.mark.parametrize("size", [0, -1])
def test_a_variable_without_candidates_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="'torch' has no candidates"):
        ProblemBuilder().add_variable("torch", size)


def test_the_builder_can_be_used_on() -> None:
    made = builder(2, 2)
    made.forbid([(0, 1)], 0)
    first = made.build()
    made.forbid([(1, 1)], 1)
    assert len(first.rows) == 1
    assert len(made.build().rows) == 2


def test_order_and_repetition_of_facts_change_nothing() -> None:
    rng = random.Random(3)
    problem = anything(rng)
    for _ in range(5):
        shuffled = [*problem.rows, *problem.rows[:3]]
        rng.shuffle(shuffled)
        made = builder(*(variable.size for variable in problem.variables))
        for origin, terms in shuffled:
            made.forbid(rng.sample(terms, len(terms)), origin)
        assert made.build().rows == problem.rows


def test_restricted_keeps_the_variables_and_the_facts_of_these_origins() -> None:
    made = builder(2, 3)
    for origin in range(4):
        made.forbid([(0, 1), (1, 1)], origin)
        made.forbid([(1, 1 << origin % 3)], origin)
    problem = made.build()
    part = problem.restricted({3, 1, 99})
    assert part.variables == problem.variables
    assert part.rows == tuple(row for row in problem.rows if row[0] in (1, 3))
    assert part.origins == {1, 3}
    assert problem.restricted(()).rows == ()


def test_occurrences_name_the_rows_of_a_variable() -> None:
    problem = anything(random.Random(8))
    for number in range(len(problem.variables)):
        rows = {place for place, (_, terms) in enumerate(problem.rows) if number in dict(terms)}
        assert set(problem.occurrences(number)) == rows
