"""Compare the solver with clingo, resolvelib and nab-resolver on the same problems; print a Markdown table.

    python -m benchmarks.solver_bench                 40 components x 50 releases x 4 dependencies, and 10 times those
    python -m benchmarks.solver_bench --sizes 1,10,100
    python -m benchmarks.solver_bench --real          also the catalog of this repository, as far as it is encoded

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

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing as mp
import platform
import random
import statistics
import sys
from collections.abc import Iterator
from multiprocessing.connection import Connection
from time import perf_counter

from benchmarks.solver_peers import (
    PEERS,
    Case,
    Maker,
    Row,
    Timed,
    Values,
    nab_run,
    ours,
    resolvelib_run,
)


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
    ("b200", ("torch==2.6.0",)),
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


def _measure(make: Maker, case: Case, pipe: Connection) -> None:
    run = make(case)
    if run is not None and case.runs > 1:
        run()
    for _ in range(case.runs if run else 0):
        pipe.send(run() if run else None)
    pipe.close()


def measure(make: Maker, case: Case, limit: float) -> tuple[list[Timed], bool]:
    """Return the runs of a process of its own, and whether it was stopped at the limit, in seconds for all runs."""
    ours_end, theirs = mp.get_context("fork").Pipe(duplex=False)
    process = mp.get_context("fork").Process(target=_measure, args=(make, case, theirs))
    process.start()
    theirs.close()
    found: list[Timed] = []
    deadline = perf_counter() + limit
    stopped = True
    try:
        while ours_end.poll(max(0.0, deadline - perf_counter())):
            found.append(ours_end.recv())
    except EOFError:
        stopped = False
    process.kill()
    process.join()
    return found, stopped


def compare(case: Case, limit: float) -> list[str]:
    """Return the cells of one row of the table: time, and how many times as long as ours."""
    base, cells, expected = 0.0, [], None
    long = sum(len(terms) > 2 for _, terms in case.rows)
    for title, make, optimal in PEERS:
        results, stopped = measure(make, case, limit)
        if not results:
            cells.append(f"> {limit:.0f} s" if stopped else "-" if make(case) is None else "failed")
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
