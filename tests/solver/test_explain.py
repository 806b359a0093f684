"""Explanations one can check by reading the problem."""

from __future__ import annotations

import pytest

from stackcheck.solver.explain import Exclusion, alternatives, exclusion, minimal_conflict, why, why_not
from stackcheck.solver.problem import Problem, ProblemBuilder
from stackcheck.solver.search import SearchLimit, Solution, solve

VLLM, TORCH, CUDA, DRIVER = range(4)
VLLM_WANTS_TORCH, TORCH_WANTS_CUDA, CUDA_WANTS_DRIVER = 0, 1, 2
NEW_VLLM, OLD_DRIVER, NO_CUDA_13, ANY_TORCH = 10, 11, 12, 13


def catalog() -> ProblemBuilder:
    """Return four components of three releases; release k wants release k or older of the one below it."""
    builder = ProblemBuilder()
    for name in ("vllm", "torch", "cuda", "driver"):
        builder.add_variable(name, 3)
    for upper, origin in ((VLLM, VLLM_WANTS_TORCH), (TORCH, TORCH_WANTS_CUDA), (CUDA, CUDA_WANTS_DRIVER)):
        builder.forbid([(upper, 0b001), (upper + 1, 0b110)], origin)
        builder.forbid([(upper, 0b010), (upper + 1, 0b100)], origin)
    return builder


def quarrel() -> Problem:
    """Return the catalog with wishes that cannot all be met."""
    builder = catalog()
    builder.forbid([(VLLM, 0b110)], NEW_VLLM)
    builder.forbid([(DRIVER, 0b011)], OLD_DRIVER)
    builder.forbid([(CUDA, 0b001)], NO_CUDA_13)
    builder.forbid([(TORCH, 0b000)], ANY_TORCH)
    return builder.build()


def optimum(problem: Problem) -> Solution:
    answer = solve(problem)
    assert isinstance(answer, Solution)
    return answer


def test_a_minimal_conflict_is_a_chain_without_bystanders() -> None:
    soft = [NEW_VLLM, OLD_DRIVER, VLLM_WANTS_TORCH, TORCH_WANTS_CUDA, CUDA_WANTS_DRIVER]
    assert minimal_conflict(quarrel(), frozenset(), soft) == tuple(soft)


def test_later_origins_are_spared_first() -> None:
    """The proof uses both facts that exclude the middle release; either would do."""
    builder = ProblemBuilder()
    builder.add_variable("torch", 3)
    builder.forbid([(0, 0b011)], 1)
    builder.forbid([(0, 0b110)], 2)
    builder.forbid([(0, 0b101)], 3)
    problem = builder.build()
    for soft in ([1, 2, 3], [3, 2, 1], [2, 3, 1]):
        core = minimal_conflict(problem, frozenset(), soft)
        assert len(core) == 2
        assert list(core) == [origin for origin in soft if origin in core]


def test_hard_origins_are_used_and_never_reported() -> None:
    hard = frozenset({NEW_VLLM, VLLM_WANTS_TORCH})
    assert minimal_conflict(quarrel(), hard, [TORCH_WANTS_CUDA, NO_CUDA_13, NEW_VLLM]) == (
        TORCH_WANTS_CUDA,
        NO_CUDA_13,
    )


def test_hard_origins_in_conflict_leave_nothing_to_report() -> None:
    hard = frozenset({NEW_VLLM, VLLM_WANTS_TORCH, TORCH_WANTS_CUDA, NO_CUDA_13})
    assert minimal_conflict(quarrel(), hard, [OLD_DRIVER, CUDA_WANTS_DRIVER]) == ()


def test_no_conflict_cannot_be_explained() -> None:
    with pytest.raises(ValueError, match="no conflict"):
        minimal_conflict(quarrel(), frozenset(), [NEW_VLLM, OLD_DRIVER, 99])


def test_alternatives_are_the_smallest_ways_out_with_their_results() -> None:
    ways = alternatives(quarrel(), [NEW_VLLM, OLD_DRIVER, NO_CUDA_13, ANY_TORCH], most=10)
    assert [(dropped, found.values) for dropped, found in ways] == [
        ((NEW_VLLM,), (2, 2, 2, 2)),
        ((OLD_DRIVER, NO_CUDA_13), (0, 0, 0, 0)),
    ]


def test_at_most_so_many_alternatives_are_sought() -> None:
    ways = alternatives(quarrel(), [NEW_VLLM, OLD_DRIVER, NO_CUDA_13], most=1)
    assert [dropped for dropped, _ in ways] == [(NEW_VLLM,)]
    assert alternatives(quarrel(), [NEW_VLLM], most=0) == []


def test_without_a_conflict_nothing_needs_to_be_dropped() -> None:
    ((dropped, found),) = alternatives(catalog().build(), [VLLM_WANTS_TORCH], most=5)
    assert dropped == ()
    assert found.values == (0, 0, 0, 0)


def test_a_conflict_of_facts_has_no_alternatives() -> None:
    builder = catalog()
    builder.forbid([(TORCH, 0b111)], 77)
    assert alternatives(builder.build(), [NEW_VLLM, OLD_DRIVER], most=5) == []


def test_many_conflicts_at_once_still_get_one_minimal_way_out() -> None:
    """No set of fewer than 24 repairs this; trying all smaller ones would take for ever."""
    builder = ProblemBuilder()
    for number in range(24):
        builder.add_variable(f"v{number}", 2)
        builder.forbid([(number, 0b01)], 2 * number)
        builder.forbid([(number, 0b10)], 2 * number + 1)
    ((dropped, found),) = alternatives(builder.build(), range(48), most=3)
    assert dropped == tuple(range(1, 48, 2))
    assert found.values == (1,) * 24
    builder.forbid([], 99)
    assert alternatives(builder.build(), range(48), most=3) == []


def test_a_way_out_is_greedy_only_when_effort_ran_out() -> None:
    assert alternatives(quarrel(), [OLD_DRIVER, NO_CUDA_13, NEW_VLLM], most=9, effort=1) == [
        (
            (NEW_VLLM,),
            Solution((2, 2, 2, 2), solve(quarrel(), active=quarrel().origins - {NEW_VLLM}).statistics),
        )
    ]


def test_why_names_what_excludes_everything_better() -> None:
    builder = catalog()
    builder.forbid([(DRIVER, 0b001)], OLD_DRIVER)
    problem = builder.build()
    found = optimum(problem)
    assert found.values == (1, 1, 1, 1)
    assert why(problem, found, VLLM) == (
        VLLM_WANTS_TORCH,
        TORCH_WANTS_CUDA,
        CUDA_WANTS_DRIVER,
        OLD_DRIVER,
    )
    assert why(problem, found, DRIVER) == (OLD_DRIVER,)
    assert why(problem, found, DRIVER, hard={OLD_DRIVER}) == ()


def test_nothing_but_preference_speaks_for_the_first_candidate() -> None:
    problem = catalog().build()
    assert why(problem, optimum(problem), TORCH) == ()


def test_why_not_takes_earlier_choices_as_given() -> None:
    """CUDA 0 would do if torch and vLLM were not chosen first."""
    builder = ProblemBuilder()
    builder.add_variable("image", 2)
    builder.add_variable("nccl", 3)
    builder.add_variable("cuda", 3)
    builder.forbid([(0, 0b01), (1, 0b001)], 1)
    builder.forbid([(1, 0b010), (2, 0b011)], 2)
    problem = builder.build()
    found = optimum(problem)
    assert found.values == (0, 1, 2)
    assert exclusion(problem, found, 1, 0b001) == Exclusion((1,), (0,))
    assert exclusion(problem, found, 2, 0b001) == Exclusion((2,), (1,))
    assert why_not(problem, found, 2, 1) == (2,)


def test_why_not_follows_consequences_of_a_candidate() -> None:
    builder = catalog()
    builder.forbid([(DRIVER, 0b001)], OLD_DRIVER)
    problem = builder.build()
    found = optimum(problem)
    assert exclusion(problem, found, CUDA, 0b001) == Exclusion((CUDA_WANTS_DRIVER, OLD_DRIVER), ())
    assert why_not(problem, found, TORCH, 0) == (TORCH_WANTS_CUDA, CUDA_WANTS_DRIVER, OLD_DRIVER)


def test_a_candidate_that_is_merely_less_preferred_is_not_excluded() -> None:
    problem = catalog().build()
    found = optimum(problem)
    assert exclusion(problem, found, VLLM, 0b100) is None
    assert why_not(problem, found, VLLM, 2) == ()


def test_only_the_active_origins_are_blamed() -> None:
    builder = catalog()
    builder.forbid([(DRIVER, 0b001)], OLD_DRIVER)
    builder.forbid([(VLLM, 0b001)], NEW_VLLM)
    problem = builder.build()
    active = problem.origins - {NEW_VLLM}
    found = solve(problem, active=active)
    assert isinstance(found, Solution)
    assert NEW_VLLM in why(problem, found, VLLM)
    assert NEW_VLLM not in why(problem, found, VLLM, active=active)


def test_a_single_fact_is_preferred_and_the_shortest_one() -> None:
    builder = catalog()
    builder.forbid([(TORCH, 0b001), (VLLM, 0b100)], 20)
    builder.forbid([(TORCH, 0b001)], 21)
    builder.forbid([(VLLM, 0b011)], 22)
    problem = builder.build()
    assert exclusion(problem, optimum(problem), TORCH, 0b001) == Exclusion((21,), ())


def test_a_solution_that_is_no_optimum_is_refused() -> None:
    problem = catalog().build()
    with pytest.raises(ValueError, match="no optimum"):
        why(problem, Solution((1, 1, 1, 1)), VLLM)


@pytest.mark.parametrize("candidate", [-1, 3])
def test_unknown_candidates_are_refused(candidate: int) -> None:
    problem = catalog().build()
    with pytest.raises(ValueError, match=f"torch has no candidate {candidate}"):
        why_not(problem, optimum(problem), TORCH, candidate)


def test_the_search_limit_reaches_the_caller() -> None:
    builder = ProblemBuilder()
    for bird in range(8):
        builder.add_variable(f"bird {bird}", 7)
        for other in range(bird):
            for hole in range(7):
                builder.forbid([(other, 1 << hole), (bird, 1 << hole)], bird)
    problem = builder.build()
    with pytest.raises(SearchLimit):
        minimal_conflict(problem, frozenset(), sorted(problem.origins), limit=20)
    with pytest.raises(SearchLimit):
        alternatives(problem, sorted(problem.origins), most=1, limit=20)
