"""Compare the solver with clingo, resolvelib and nab-resolver on the same problems; print a Markdown table.

    python benchmarks/solver_bench.py                 40 components x 50 releases x 4 dependencies, and 10 times those
    python benchmarks/solver_bench.py --sizes 1,10,100
    python benchmarks/solver_bench.py --real          also the catalog of this repository, as far as it is encoded

Processor time is measured, because all of them use one thread and the machine may have other things to do. "This solver"
is everything from bare terms to the optimum (builder, index, search), "asked again" the search on a problem that was
asked before. The peers get their input ready-made: clingo its text (timed: parsing, grounding, solving), resolvelib
(pkg:pypi/resolvelib) and nab-resolver (pkg:pypi/nab-resolver) a table of dependencies per release, of which they
read only what they visit: compare them with "asked again". Those two know no facts about three components at once;
such facts are left out for them, and the table says how many. They stop at the first solution by their own order,
which need not be the optimum. clingo is asked three ways: for any solution; for the lexicographic optimum by a domain
heuristic (its fastest way, if the levels suffice); and for it by `#minimize` with one level per component. Every cell is
measured in a process of its own, the median of several runs is shown, and every answer is checked.
"""

# ruff: noqa: ARG002 - the peers call these methods with arguments that this problem has no use for

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing as mp
import platform
import random
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from time import perf_counter, process_time
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


def catalog(components: int, slack: int, seed: int, runs: int) -> Case:
    """Return a made-up catalog of components with 50 releases and 4 dependencies in which a solution is hidden.

    Every release needs a range of releases of a few components of the neighbourhood, about as new as itself; release
    0 is the newest. ``slack`` is how far the ranges reach to either side at most: with 20 nearly the newest fit
    together, as is usual; with 8 few combinations are left.
    """
    rng = random.Random(seed)
    releases, dependencies = 50, 4
    hidden = [min(releases - 1, int(rng.expovariate(0.2))) for _ in range(components)]
    full = (1 << releases) - 1
    rows: list[Row] = []
    for component in range(components):
        near = [c for c in range(max(0, component - 15), min(components, component + 16)) if c != component]
        for other in rng.sample(near, dependencies):
            for release in range(releases):
                middle = release + rng.randint(-6, 6)
                low = min(releases - 1, max(0, middle - rng.randint(0, slack)))
                high = max(low, min(releases - 1, middle + rng.randint(0, slack)))
                if release == hidden[component]:
                    low, high = min(low, hidden[other]), max(high, hidden[other])
                outside = full ^ ((1 << high + 1) - (1 << low))
                rows.append((len(rows), ((component, 1 << release), (other, outside))))
    kind = "roomy" if slack > 10 else "tight"
    return Case(f"{components} components, {kind}, seed {seed}", (releases,) * components, tuple(rows), runs)


REAL = (
    ("b200", ()),
    ("b200", ("vllm",)),
    ("h100", ("torch>=2.9", "transformer-engine")),
    ("b200", ("torch<2.7",)),
)
"""GPU and frameworks of questions about the catalog of this repository; the last one has no solution."""


def real_cases() -> Iterator[Case]:
    """Yield questions about the real catalog, if the encoder is there."""
    if any(importlib.util.find_spec(f"stackcheck.solver.{name}") is None for name in ("encode", "resolve")):
        print("stackcheck.solver.encode is not there yet", file=sys.stderr)
        return
    from stackcheck.catalog.files import open_catalog
    from stackcheck.solver.request import Request, parse_wish
    from stackcheck.solver.resolve import question

    catalog_of_ours = open_catalog()
    for gpu, frameworks in REAL:
        wishes = tuple(parse_wish(text, flag="--framework") for text in frameworks)
        problem = question(catalog_of_ours, Request(gpu=gpu, frameworks=wishes))[0].problem
        sizes = tuple(variable.size for variable in problem.variables)
        yield Case(" ".join(("real:", gpu, *frameworks)), sizes, problem.rows, 25)


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


PEERS: tuple[tuple[str, Callable[[Case], Callable[[], Timed] | None], bool], ...] = (
    ("this solver", ours, True),
    ("asked again", ours_again, True),
    ("clingo, any solution", clingo_any, False),
    ("clingo, heuristic", clingo_heuristic, True),
    ("clingo, #minimize", clingo_minimize, True),
    ("resolvelib", resolvelib_run, False),
    ("nab-resolver", nab_run, False),
)
"""Title, how to get a run, and whether it gives the optimum."""


def _measure(make: Callable[[Case], Callable[[], Timed] | None], case: Case, pipe: Connection) -> None:
    run = make(case)
    if run is not None and case.runs > 1:
        run()
    for _ in range(case.runs if run else 0):
        pipe.send(run() if run else None)
    pipe.close()


def measure(make: Callable[[Case], Callable[[], Timed] | None], case: Case, limit: float) -> list[Timed]:
    """Return the runs that ended within the limit, in seconds for all of them together; a process of its own."""
    ours_end, theirs = mp.get_context("fork").Pipe(duplex=False)
    process = mp.get_context("fork").Process(target=_measure, args=(make, case, theirs))
    process.start()
    theirs.close()
    found: list[Timed] = []
    deadline = perf_counter() + limit
    try:
        while ours_end.poll(max(0.0, deadline - perf_counter())):
            found.append(ours_end.recv())
    except EOFError:
        pass
    process.kill()
    process.join()
    return found


def compare(case: Case, limit: float) -> list[str]:
    """Return the cells of one row of the table: time, and how many times as long as ours."""
    base, cells, expected = 0.0, [], None
    long = sum(len(terms) > 2 for _, terms in case.rows)
    for title, make, optimal in PEERS:
        results = measure(make, case, limit)
        if not results:
            cells.append("-" if make is clingo_heuristic and make(case) is None else f"> {limit:.0f} s")
            continue
        seconds = statistics.median(time for time, _ in results)
        values = results[0][1]
        if not base:
            base, expected = seconds, values
        partial = long if make in (resolvelib_run, nab_run) else 0
        if not partial:
            _check(case, title, optimal, values, expected)
        ratio = "" if make is ours else f" ({seconds / base:.1f}x)"
        cells.append(f"{_time(seconds)}{ratio}" + (f" without {partial} facts" if partial else ""))
    return cells


def _check(case: Case, title: str, optimal: bool, values: Values | None, expected: Values | None) -> None:
    if (values is None) != (expected is None) or (optimal and values != expected):
        raise SystemExit(f"{case.name}: {title} disagrees: {values} instead of {expected}")
    if values is not None and any(all(m >> values[v] & 1 for v, m in terms) for _, terms in case.rows):
        raise SystemExit(f"{case.name}: {title} gives something that is no solution")


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def main() -> None:
    """Run what was asked for and print the table."""
    parser = argparse.ArgumentParser(description="solver against clingo, resolvelib and nab-resolver")
    parser.add_argument("--sizes", default="1,10", help="multiples of 40 components, such as 1,10,100")
    parser.add_argument("--seeds", type=int, default=2, help="catalogs per size")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for all runs of one cell")
    parser.add_argument(
        "--real", action="store_true", help="also questions about the catalog of this repository"
    )
    arguments = parser.parse_args()
    cases: list[Case] = list(real_cases()) if arguments.real else []
    for factor in map(int, arguments.sizes.split(",")):
        seeds = range(arguments.seeds if factor < 100 else 1)
        runs = {1: 11, 10: 3}.get(factor, 1)
        cases += [catalog(40 * factor, slack, seed, runs) for slack in (20, 8) for seed in seeds]
    machine = f"Python {platform.python_version()}, {platform.machine()}"
    print(f"{machine}; median processor time, in brackets how many times that of this solver\n")
    print("| problem | facts | " + " | ".join(title for title, _, _ in PEERS) + " |")
    print("| --- " * (len(PEERS) + 2) + "|")
    for case in cases:
        print(
            f"| {case.name} | {len(case.rows)} | " + " | ".join(compare(case, arguments.limit)) + " |",
            flush=True,
        )


if __name__ == "__main__":
    main()
