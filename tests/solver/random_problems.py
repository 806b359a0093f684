"""Random problems of several kinds, from a seed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from stackcheck.solver.problem import Problem, ProblemBuilder

_Term = tuple[int, int]


def anything(rng: random.Random) -> Problem:
    """Return a problem of any density, with incompatibilities of one to four terms and shared origins."""
    sizes = [rng.randint(2, 6) for _ in range(rng.randint(1, 14))]
    count = int(rng.uniform(0, 18) * len(sizes))
    builder = _builder(sizes)
    for _ in range(count):
        terms = rng.choice([1] + [2] * 80 + [3] * 240 + [4] * 80)
        chosen = rng.sample(range(len(sizes)), min(terms, len(sizes)))
        builder.forbid([_term(rng, sizes, v) for v in chosen], rng.randrange(max(1, count // 2)))
    return builder.build()


def hard_binary(rng: random.Random) -> Problem:
    """Return a binary problem where half of the problems have a solution: there the search is longest."""
    count, size = rng.randint(8, 16), rng.randint(3, 7)
    excluded = max(1, int(size * size * rng.uniform(0.2, 0.4)))
    critical = -count * math.log(size) / math.log(1 - excluded / size**2)
    builder = _builder([size] * count)
    every = [(a, b) for a in range(size) for b in range(size)]
    for origin in range(round(critical * rng.uniform(0.8, 1.1))):
        left, right = rng.sample(range(count), 2)
        for a, b in rng.sample(every, excluded):
            builder.forbid([(left, 1 << a), (right, 1 << b)], origin)
    return builder.build()


def hard_clauses(rng: random.Random) -> Problem:
    """Return a problem with incompatibilities of three and four terms, about half of them unsatisfiable."""
    count, size = rng.randint(6, 12), rng.randint(2, 4)
    sizes = [size] * count
    builder = _builder(sizes)
    for origin in range(round(count * size * rng.uniform(2, 6))):
        chosen = rng.sample(range(count), rng.choice([3, 3, 3, 4]))
        builder.forbid([_term(rng, sizes, v) for v in chosen], origin)
    return builder.build()


def releases(rng: random.Random) -> Problem:
    """Return a small catalog: each release of a component needs a range of releases of some others."""
    count, size = rng.randint(5, 14), rng.randint(4, 14)
    builder = _builder([size] * count)
    origin = 0
    for component in range(count):
        for other in rng.sample([c for c in range(count) if c != component], 3):
            for release in range(size):
                low = max(0, min(size - 1, release - rng.randint(-1, 3)))
                high = max(low, min(size - 1, release + rng.randint(-1, 3)))
                window = (1 << high + 1) - (1 << low)
                builder.forbid([(component, 1 << release), (other, ~window)], origin)
                origin += 1
    for wish in range(rng.randint(0, 3)):
        builder.forbid([(rng.randrange(count), (1 << rng.randrange(1, size)) - 1)], origin + wish)
    return builder.build()


def pigeons(rng: random.Random) -> Problem:
    """Return pigeons that do not share holes, and perhaps one hole too few: short to say, long to prove."""
    holes = rng.randint(2, 5)
    birds = holes + rng.randint(0, 1)
    builder = _builder([holes] * birds)
    for left in range(birds):
        for right in range(left):
            for hole in range(holes):
                builder.forbid([(left, 1 << hole), (right, 1 << hole)], left)
    return builder.build()


KINDS: tuple[Callable[[random.Random], Problem], ...] = (
    anything,
    hard_binary,
    hard_clauses,
    releases,
    pigeons,
)


def _builder(sizes: list[int]) -> ProblemBuilder:
    builder = ProblemBuilder()
    for number, size in enumerate(sizes):
        builder.add_variable(f"v{number}", size)
    return builder


def _term(rng: random.Random, sizes: list[int], variable: int) -> _Term:
    few = rng.choice([1, 2, 2, sizes[variable]])
    return variable, sum({1 << rng.randrange(sizes[variable]) for _ in range(few)})
