"""The same problem for each solver: this one, clingo, resolvelib and nab-resolver.

A maker takes a case and returns a run, which solves it once and returns the processor time and the values found; what is
done before the run is not timed. To add a solver: write a maker, and add its line to `PEERS`.
"""

# ruff: noqa: ARG002 - the peers call these methods with arguments that this problem has no use for

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

from stackcheck.solver.problem import Problem, ProblemBuilder
from stackcheck.solver.search import Solution, solve

Values = tuple[int, ...]
Timed = tuple[float, Values | None]
"""Seconds of processor time and the values found; None if the solver says there is no solution."""
Row = tuple[int, tuple[tuple[int, int], ...]]


@dataclass(frozen=True, slots=True)
class Case:
    """One problem and how often to solve it."""

    name: str
    sizes: tuple[int, ...]
    rows: tuple[Row, ...]
    runs: int


def ours(case: Case) -> Callable[[], Timed]:
    """Return a run of this solver, from bare terms."""

    def run() -> Timed:
        start = process_time()
        builder = ProblemBuilder()
        for number, size in enumerate(case.sizes):
            builder.add_variable(str(number), size)
        for origin, terms in case.rows:
            builder.forbid(terms, origin)
        answer = solve(builder.build())
        return process_time() - start, answer.values if isinstance(answer, Solution) else None

    return run


def ours_again(case: Case) -> Callable[[], Timed]:
    """Return a run of this solver on a problem that was asked before: search alone."""
    problem = _problem(case)
    solve(problem)

    def run() -> Timed:
        start = process_time()
        answer = solve(problem)
        return process_time() - start, answer.values if isinstance(answer, Solution) else None

    return run


def _problem(case: Case) -> Problem:
    builder = ProblemBuilder()
    for number, size in enumerate(case.sizes):
        builder.add_variable(str(number), size)
    for origin, terms in case.rows:
        builder.forbid(terms, origin)
    return builder.build()


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def clingo_text(case: Case) -> str:
    """Return the problem for clingo, in the shortest way of several that were tried.

    A fact about two components becomes needs of the side with fewer candidates on a set of runs of the other side;
    facts about more components become constraints over terms.
    """
    lines = [f"size({number},{size})." for number, size in enumerate(case.sizes)]
    lines.append("1 { pick(V,C) : C = 0..S-1 } 1 :- size(V,S).")
    lines.append("in(S) :- set(S,V,A,Z), pick(V,C), A <= C, C <= Z.")
    lines.append(":- need(V,C,S), pick(V,C), not in(S).")
    numbers: dict[tuple[int, int], int] = {}

    def number_of(variable: int, mask: int) -> int:
        if (variable, mask) not in numbers:
            numbers[variable, mask] = len(numbers)
            lines.extend(
                f"set({numbers[variable, mask]},{variable},{low},{high})." for low, high in _runs(mask)
            )
        return numbers[variable, mask]

    for _, row in case.rows:
        if len(row) == 2:
            (owner, mask), (other, excluded) = sorted(row, key=lambda term: term[1].bit_count())
            number = number_of(other, ((1 << case.sizes[other]) - 1) ^ excluded)
            lines += [f"need({owner},{candidate},{number})." for candidate in _bits(mask)]
        else:
            lines.append(":- " + ", ".join(f"in({number_of(*term)})" for term in row) + ".")
    return "\n".join(lines)


def _runs(mask: int) -> Iterator[tuple[int, int]]:
    """Yield first and last of each run of candidates."""
    start = None
    for candidate in range(mask.bit_length() + 1):
        inside = mask >> candidate & 1
        if inside and start is None:
            start = candidate
        elif not inside and start is not None:
            yield start, candidate - 1
            start = None


def clingo_run(case: Case, extra: str, *options: str) -> Callable[[], Timed]:
    """Return a run of clingo on the problem's text with some lines and options more."""
    import clingo

    text = clingo_text(case) + "\n" + extra

    def run() -> Timed:
        start = process_time()
        control = clingo.Control([*options, "--warn=none"])
        control.add("base", [], text)
        control.ground([("base", [])])
        picks: list[Any] = []
        with control.solve(yield_=True) as handle:
            for model in handle:
                picks = [symbol for symbol in model.symbols(atoms=True) if symbol.name == "pick"]
        seconds = process_time() - start
        found = sorted((pick.arguments[0].number, pick.arguments[1].number) for pick in picks)
        return seconds, tuple(candidate for _, candidate in found) if found else None

    return run


def clingo_any(case: Case) -> Callable[[], Timed]:
    """Return a run of clingo that stops at any solution."""
    return clingo_run(case, "", "1")


def clingo_minimize(case: Case) -> Callable[[], Timed]:
    """Return a run of clingo that minimises one component after the other."""
    wish = f"#minimize {{ C@{len(case.sizes)}-V,V : pick(V,C) }}."
    return clingo_run(case, wish, "--opt-strategy=usc")


def clingo_heuristic(case: Case) -> Callable[[], Timed] | None:
    """Return a run of clingo that decides in our order, so that its first solution is the optimum."""
    levels = sum(case.sizes)
    if levels >= 1 << 15:
        return None
    lines = []
    for variable, size in enumerate(case.sizes):
        for candidate in range(size):
            lines.append(f"#heuristic pick({variable},{candidate}). [{levels},true]")
            levels -= 1
    return clingo_run(case, "\n".join(lines), "1", "--heuristic=Domain")


def _dependencies(case: Case) -> tuple[list[int], list[dict[int, dict[int, int]]]]:
    """Return what each variable may be at all, and per variable and candidate what others may be: masks."""
    full = [(1 << size) - 1 for size in case.sizes]
    allowed = full[:]
    needs: list[dict[int, dict[int, int]]] = [{} for _ in case.sizes]
    for _, terms in case.rows:
        if len(terms) == 1:
            allowed[terms[0][0]] &= ~terms[0][1]
        elif len(terms) == 2:
            # Said on the side with fewer candidates, as a package index would.
            (owner, mask), (other, excluded) = sorted(terms, key=lambda term: term[1].bit_count())
            for candidate in _bits(mask):
                of = needs[owner].setdefault(candidate, {})
                of[other] = of.get(other, full[other]) & ~excluded
    return allowed, needs


def resolvelib_run(case: Case) -> Callable[[], Timed]:
    """Return a run of resolvelib: all components required, in order, causes of backtracking first as in pip."""
    import resolvelib

    allowed, needs = _dependencies(case)
    tables = [{c: tuple(of.items()) for c, of in each.items()} for each in needs]

    class Provider(resolvelib.AbstractProvider[Any, Any, int]):
        def identify(self, requirement_or_candidate: tuple[int, int]) -> int:
            return requirement_or_candidate[0]

        def narrow_requirement_selection(
            self,
            identifiers: Any,
            resolutions: Any,
            candidates: Any,
            information: Any,
            backtrack_causes: Sequence[Any],
        ) -> Any:
            causes = {cause.requirement[0] for cause in backtrack_causes}
            causes |= {cause.parent[0] for cause in backtrack_causes if cause.parent is not None}
            among = [identifier for identifier in identifiers if identifier in causes] if causes else []
            return among or identifiers

        def get_preference(
            self, identifier: int, resolutions: Any, candidates: Any, information: Any, backtrack_causes: Any
        ) -> int:
            return identifier

        def find_matches(
            self,
            identifier: int,
            requirements: Mapping[int, Iterator[Any]],
            incompatibilities: Mapping[int, Iterator[Any]],
        ) -> list[tuple[int, int]]:
            mask = -1
            for _, fitting in requirements[identifier]:
                mask &= fitting
            for _, candidate in incompatibilities[identifier]:
                mask &= ~(1 << candidate)
            return [(identifier, candidate) for candidate in _bits(mask & allowed[identifier])]

        def is_satisfied_by(self, requirement: tuple[int, int], candidate: tuple[int, int]) -> bool:
            return bool(requirement[1] >> candidate[1] & 1)

        def get_dependencies(self, candidate: tuple[int, int]) -> tuple[tuple[int, int], ...]:
            return tables[candidate[0]].get(candidate[1], ())

    def run() -> Timed:
        start = process_time()
        resolver: Any = resolvelib.Resolver(Provider(), resolvelib.BaseReporter())
        try:
            result = resolver.resolve(list(enumerate(allowed)), max_rounds=10_000_000)
        except resolvelib.ResolutionImpossible:
            return process_time() - start, None
        return process_time() - start, tuple(result.mapping[v][1] for v in range(len(case.sizes)))

    return run


def nab_run(case: Case) -> Callable[[], Timed]:
    """Return a run of nab-resolver; a preferred candidate is a higher version."""
    from nab_resolver.errors import ResolutionError
    from nab_resolver.ranges import Range
    from nab_resolver.resolver import BaseProvider, Resolver

    allowed, needs = _dependencies(case)

    def as_range(mask: int) -> Any:
        return Range(tuple((low, True, high, True) for low, high in _runs(mask)))

    tables = [
        {c: {other: as_range(mask) for other, mask in of.items()} for c, of in each.items()} for each in needs
    ]
    roots = {variable: as_range(mask) for variable, mask in enumerate(allowed)}

    class Provider(BaseProvider[int, int]):
        def choose_version(self, package: int, version_range: Any) -> int | None:
            return next((c for c in range(case.sizes[package]) if c in version_range), None)

        def has_satisfying_version(self, package: int, version_range: Any) -> bool:
            return self.choose_version(package, version_range) is not None

        def get_dependencies(self, package: int, version: int) -> Any:
            return tables[package].get(version, {})

        def prioritize(self, package: int, *_: Any) -> int:
            return package

        def widen_decision(self, package: int, version: int) -> None:
            return None

    def run() -> Timed:
        start = process_time()
        try:
            pins = Resolver(Provider(), max_iterations=100_000_000).resolve(roots)
        except ResolutionError:
            return process_time() - start, None
        return process_time() - start, tuple(pins[v] for v in range(len(case.sizes)))

    return run


Maker = Callable[[Case], Callable[[], Timed] | None]

PEERS: tuple[tuple[str, Maker, bool], ...] = (
    ("this solver", ours, True),
    ("asked again", ours_again, True),
    ("clingo, any solution", clingo_any, False),
    ("clingo, heuristic", clingo_heuristic, True),
    ("clingo, #minimize", clingo_minimize, True),
    ("resolvelib", resolvelib_run, False),
    ("nab-resolver", nab_run, False),
)
"""Title, how to get a run, and whether it gives the optimum."""
