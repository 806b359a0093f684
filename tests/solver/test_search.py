"""Small problems whose answers can be seen by looking at them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest

from stackcheck.solver.problem import Problem, ProblemBuilder
from stackcheck.solver.search import Conflict, SearchLimit, Solution, solve
from tests.solver.oracles import best
from tests.solver.random_problems import KINDS, anything, hard_binary

TORCH, CUDA, DRIVER = 0, 1, 2


def stack() -> ProblemBuilder:
    """Return three components: new torch (0) wants new CUDA (0), new CUDA wants a new driver (0 or 1)."""
    builder = ProblemBuilder()
    builder.add_variable("torch", 3)
    builder.add_variable("cuda", 3)
    builder.add_variable("driver", 4)
    builder.forbid([(TORCH, 0b001), (CUDA, ~0b001)], 10)
    builder.forbid([(TORCH, 0b010), (CUDA, ~0b011)], 11)
    builder.forbid([(CUDA, 0b001), (DRIVER, ~0b0011)], 12)
    builder.forbid([(CUDA, 0b010), (DRIVER, ~0b0111)], 13)
    return builder


def solution(problem: Problem) -> tuple[int, ...]:
    answer = solve(problem)
    assert isinstance(answer, Solution)
    return answer.values


def test_the_most_preferred_candidates_are_taken_if_they_fit() -> None:
    assert solution(stack().build()) == (0, 0, 0)


def test_a_wish_at_the_end_of_a_chain_decides_at_its_start() -> None:
    builder = stack()
    builder.forbid([(DRIVER, ~0b0100)], 20)
    assert solution(builder.build()) == (1, 1, 2)


def test_earlier_variables_come_first_whatever_it_costs_later() -> None:
    builder = ProblemBuilder()
    for name in "abc":
        builder.add_variable(name, 5)
    builder.forbid([(0, 0b00001), (1, ~0b10000)], 0)
    builder.forbid([(0, 0b00001), (2, ~0b10000)], 1)
    assert solution(builder.build()) == (0, 4, 4)


def test_variables_without_facts_take_their_first_candidate() -> None:
    builder = stack()
    builder.add_variable("nccl", 7)
    builder.add_variable("glibc", 1)
    builder.forbid([(3, 0b0000101)], 30)
    assert solution(builder.build()) == (0, 0, 0, 1, 0)


def test_no_variables_have_one_solution() -> None:
    assert solution(ProblemBuilder().build()) == ()


def test_a_conflict_names_the_facts_that_suffice_and_no_bystander() -> None:
    builder = stack()
    builder.forbid([(DRIVER, 0b0011)], 20)
    builder.forbid([(TORCH, 0b110)], 21)
    builder.forbid([(CUDA, 0b100)], 22)
    answer = solve(builder.build())
    assert isinstance(answer, Conflict)
    assert answer.origins == {10, 12, 20, 21}


def test_a_proof_reads_from_the_wishes_to_the_dead_end() -> None:
    builder = stack()
    builder.forbid([(DRIVER, 0b0011)], 20)
    builder.forbid([(TORCH, 0b110)], 21)
    answer = solve(builder.build())
    assert isinstance(answer, Conflict)
    assert {step.origins for step in answer.steps} == {(10,), (12,), (20,), (21,)}
    assert answer.steps[-1].after == 0
    assert all(step.after for step in answer.steps[:-1])


def test_facts_that_leave_a_variable_no_candidate_are_chosen_sparingly() -> None:
    builder = stack()
    builder.forbid([(CUDA, 0b001)], 1)
    builder.forbid([(CUDA, 0b011)], 2)
    builder.forbid([(CUDA, 0b110)], 3)
    answer = solve(builder.build())
    assert isinstance(answer, Conflict)
    assert answer.origins in ({2, 3}, {1, 3})
    assert [step.after for step in answer.steps] == [0]


def test_a_contradiction_is_its_own_conflict() -> None:
    builder = stack()
    builder.forbid([], 99)
    answer = solve(builder.build())
    assert isinstance(answer, Conflict)
    assert answer.origins == {99}
    assert isinstance(solve(builder.build(), active={10, 11}), Solution)


def test_a_contradiction_needs_no_variables() -> None:
    builder = ProblemBuilder()
    builder.forbid([], 1)
    answer = solve(builder.build())
    assert isinstance(answer, Conflict)
    assert answer.origins == {1}


def test_only_active_origins_count() -> None:
    builder = stack()
    builder.forbid([(DRIVER, 0b0011)], 20)
    builder.forbid([(TORCH, 0b110)], 21)
    problem = builder.build()
    assert isinstance(solve(problem), Conflict)
    for active, values in ((set(), (0, 0, 0)), ([10, 11, 12, 13, 20], (1, 1, 2)), ((10, 20, 21), (0, 0, 2))):
        answer = solve(problem, active=active)
        assert isinstance(answer, Solution)
        assert answer.values == values


def test_assumptions_bind_and_are_blamed_by_position() -> None:
    problem = stack().build()
    answer = solve(problem, assume=[(CUDA, 0b110)])
    assert isinstance(answer, Solution)
    assert answer.values == (1, 1, 0)
    refused = solve(problem, assume=[(DRIVER, 0b1111), (TORCH, 0b001), (DRIVER, 0b1100)])
    assert isinstance(refused, Conflict)
    assert refused.assumptions == {1, 2}
    assert refused.origins == {10, 12}
    impossible = solve(problem, assume=[(TORCH, 0b001), (CUDA, 0b1), (TORCH, 0b100)])
    assert isinstance(impossible, Conflict)
    assert impossible.assumptions == {0, 2}
    assert not impossible.origins


@pytest.mark.parametrize("variable", [-1, 3])
def test_assumptions_about_unknown_variables_are_refused(variable: int) -> None:
    with pytest.raises(ValueError, match=f"no variable {variable}"):
        solve(stack().build(), assume=[(variable, 1)])


def pigeons(holes: int) -> Problem:
    builder = ProblemBuilder()
    for bird in range(holes + 1):
        builder.add_variable(f"bird {bird}", holes)
        for other in range(bird):
            for hole in range(holes):
                builder.forbid([(other, 1 << hole), (bird, 1 << hole)], 0)
    return builder.build()


def test_a_search_that_takes_too_long_says_so() -> None:
    with pytest.raises(SearchLimit, match="gave up after 50 conflicts: 8 choices with 196 incompatibilities"):
        solve(pigeons(7), limit=50)


def test_the_limit_counts_conflicts_and_nothing_else() -> None:
    problem = pigeons(5)
    needed = solve(problem).statistics.conflicts
    assert needed > 1
    assert isinstance(solve(problem, limit=needed), Conflict)
    with pytest.raises(SearchLimit):
        solve(problem, limit=needed - 1)
    assert isinstance(solve(stack().build(), limit=0), Solution)


def test_one_conflict_rules_out_a_whole_range() -> None:
    """300 releases fail for the same reason: the search learns it once, not 300 times."""
    builder = ProblemBuilder()
    builder.add_variable("vllm", 400)
    builder.add_variable("torch", 2)
    builder.add_variable("cuda", 2)
    builder.forbid([(0, (1 << 300) - 1), (1, 0b01)], 1)
    builder.forbid([(0, (1 << 300) - 1), (1, 0b10), (2, 0b01)], 2)
    builder.forbid([(1, 0b10), (2, 0b10)], 3)
    answer = solve(builder.build())
    assert isinstance(answer, Solution)
    assert answer.values == (300, 0, 0)
    assert answer.statistics.conflicts == 1


def test_bystanders_between_cause_and_dead_end_are_jumped_over() -> None:
    """The first choice is wrong and the last two show it; the thirty in between are not tried in turn."""
    builder = ProblemBuilder()
    image = builder.add_variable("image", 2)
    bystanders = [builder.add_variable(f"bystander {number}", 3) for number in range(30)]
    for left, right in pairwise(bystanders):
        builder.forbid([(left, 1), (right, 1)], 100 + left)
    last = [builder.add_variable(name, 2) for name in ("last", "very last")]
    for one in (0b01, 0b10):
        for other in (0b01, 0b10):
            builder.forbid([(image, 1), (last[0], one), (last[1], other)], 1)
    for patience, conflicts in ((100, 2), (10, 3)):
        answer = solve(builder.build(), patience=patience)
        assert isinstance(answer, Solution)
        assert answer.values == (1, *(0, 1) * 15, 0, 0)
        assert answer.statistics.conflicts == conflicts


def test_going_back_little_by_little_spares_decisions_that_nothing_changed() -> None:
    """The last choice is tied to the first; the lesson from it leaves the thirty in between as they were."""
    builder = ProblemBuilder()
    first = builder.add_variable("first", 2)
    bystanders = [builder.add_variable(f"bystander {number}", 3) for number in range(30)]
    for left, right in pairwise(bystanders):
        builder.forbid([(left, 1), (right, 1)], 100 + left)
    last = [builder.add_variable(name, 3) for name in ("last", "very last")]
    for one in (0b001, 0b010, 0b100):
        builder.forbid([(first, 1), (last[0], 0b001), (last[1], one)], 1)
    answers = [solve(builder.build(), patience=patience) for patience in (100, 10)]
    assert [answer.statistics.decisions for answer in answers] == [1 + 30 + 1 + 30 + 2, 1 + 30 + 1 + 2]
    for answer in answers:
        assert isinstance(answer, Solution)
        assert answer.values == (0, *(0, 1) * 15, 1, 0)


class Diary:
    """Writes down what a search does."""

    def __init__(self) -> None:
        self.events: list[tuple[str, int, object]] = []

    def decided(self, level: int, variable: int, candidate: int) -> None:
        self.events.append(("decided", level, (variable, candidate)))

    def propagated(self, level: int, variable: int, remaining: int) -> None:
        self.events.append(("propagated", level, (variable, remaining)))

    def conflict(self, level: int, terms: Sequence[tuple[int, int]]) -> None:
        self.events.append(("conflict", level, tuple(terms)))

    def backjumped(self, level: int, learned: Sequence[tuple[int, int]]) -> None:
        self.events.append(("backjumped", level, tuple(learned)))


def test_a_reporter_sees_decisions_and_conclusions() -> None:
    builder = stack()
    builder.forbid([(DRIVER, 0b0011)], 20)
    diary = Diary()
    solve(builder.build(), reporter=diary)
    assert diary.events == [
        ("propagated", 0, (DRIVER, 0b1100)),
        ("propagated", 0, (CUDA, 0b110)),
        ("propagated", 0, (TORCH, 0b110)),
        ("decided", 1, (TORCH, 1)),
        ("propagated", 1, (CUDA, 0b010)),
        ("propagated", 1, (DRIVER, 0b0100)),
    ]


def test_a_reporter_changes_nothing_and_sees_every_conflict() -> None:
    for seed in range(30):
        problem = hard_binary(random.Random(seed))
        diary = Diary()
        watched = solve(problem, reporter=diary, patience=seed % 4)
        assert watched == solve(problem, patience=seed % 4)
        names = [name for name, _, _ in diary.events]
        assert names.count("backjumped") == watched.statistics.conflicts
        assert names.count("decided") == watched.statistics.decisions
        assert names.count("propagated") == watched.statistics.propagations
        # A conflict on the first level is the end; it teaches nothing.
        assert names.count("conflict") - names.count("backjumped") in (0, 1)


def test_everything_learned_follows_from_the_problem() -> None:
    for seed in range(60):
        problem = anything(random.Random(seed))
        if sum(variable.size for variable in problem.variables) > 25:
            continue
        diary = Diary()
        solve(problem, reporter=diary, patience=seed % 3)
        for name, _, learned in diary.events:
            if name == "backjumped":
                builder = ProblemBuilder()
                for variable in problem.variables:
                    builder.add_variable(variable.name, variable.size)
                for origin, terms in problem.rows:
                    builder.forbid(terms, origin)
                assert isinstance(learned, tuple)
                for variable_number, mask in learned:
                    builder.forbid([(variable_number, ~mask)], -1)
                assert best(builder.build()) is None, seed


def test_asking_twice_gives_the_same_answer_and_the_same_work() -> None:
    for kind in KINDS:
        problem = kind(random.Random(5))
        assert solve(problem) == solve(problem)
