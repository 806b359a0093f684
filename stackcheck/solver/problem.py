"""The shape of a problem: variables, their candidates, and what cannot hold at once.

A problem knows nothing of releases or rules. A variable has a fixed number of candidates, written as the bits of
an int: bit 0 is the most preferred one. An *incompatibility* (the word and the idea are PubGrub's) is a set of
terms ``(variable, mask)`` that cannot all hold at once; a term holds if the variable's value is in the mask. It
carries an *origin*, a number by which the caller finds the fact or the wish it came from.

Everything is kept in one canonical order, so that neither answers nor explanations depend on the order in which
somebody listed the facts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from stackcheck.solver.index import Row, Terms, WatchIndex, build_index

__all__ = ["Incompatibility", "Problem", "ProblemBuilder", "Row", "Terms", "Variable"]


class Variable(NamedTuple):
    """One choice to make: ``size`` candidates, numbered by preference from 0."""

    name: str
    size: int

    @property
    def full(self) -> int:
        """Return the mask of all candidates."""
        return (1 << self.size) - 1


class Incompatibility(NamedTuple):
    """Terms that cannot all hold at once, and the number of the fact that says so."""

    terms: Terms
    origin: int


class Problem:
    """Variables in decision order and the incompatibilities between them; immutable, made by `ProblemBuilder`.

    The index the search needs is made at the first question and shared by all later ones.
    """

    def __init__(self, variables: Iterable[Variable], rows: Iterable[Row]) -> None:
        self.variables: tuple[Variable, ...] = tuple(variables)
        self.rows: tuple[Row, ...] = tuple(rows)

    @property
    def incompatibilities(self) -> Iterator[Incompatibility]:
        """Yield the incompatibilities in canonical order: by origin, then by terms."""
        return (Incompatibility(terms, origin) for origin, terms in self.rows)

    @cached_property
    def origins(self) -> frozenset[int]:
        """The origins that occur."""
        return frozenset(self._spans)

    @cached_property
    def index(self) -> WatchIndex:
        """The watch index of the search."""
        return build_index([variable.full for variable in self.variables], self.rows)

    @cached_property
    def _spans(self) -> dict[int, tuple[int, int]]:
        """First and last-plus-one row of each origin: rows of one origin are neighbours."""
        starts: dict[int, int] = {}
        for position, (origin, _) in enumerate(self.rows):
            if origin not in starts:
                starts[origin] = position
        edges = [*starts.values(), len(self.rows)]
        return {origin: (edges[i], edges[i + 1]) for i, origin in enumerate(starts)}

    @cached_property
    def _occurrences(self) -> tuple[tuple[int, ...], ...]:
        found: list[list[int]] = [[] for _ in self.variables]
        for position, (_, terms) in enumerate(self.rows):
            for variable, _ in terms:
                found[variable].append(position)
        return tuple(map(tuple, found))

    def occurrences(self, variable: int) -> tuple[int, ...]:
        """Return the positions of the rows that speak of this variable."""
        return self._occurrences[variable]

    def restricted(self, origins: Collection[int]) -> Problem:
        """Return the problem with the same variables and only the rows of these origins."""
        spans = self._spans
        rows: list[Row] = []
        for origin in sorted(set(origins) & spans.keys()):
            start, stop = spans[origin]
            rows += self.rows[start:stop]
        return Problem(self.variables, rows)


class ProblemBuilder:
    """Collects variables and incompatibilities, tidies them, and builds a `Problem`."""

    def __init__(self) -> None:
        self._variables: list[Variable] = []
        self._full: list[int] = []
        self._rows: list[Row] = []

    def add_variable(self, name: str, size: int) -> int:
        """Add a choice after all the earlier ones in decision order and return its number.

        Raises ValueError if there is no candidate: a choice without candidates is a fact about the caller's
        data that only the caller can explain.
        """
        if size < 1:
            raise ValueError(f"variable {name!r} has no candidates")
        self._variables.append(Variable(name, size))
        self._full.append((1 << size) - 1)
        return len(self._full) - 1

    def forbid(self, terms: Iterable[tuple[int, int]], origin: int) -> None:
        """Say that these terms cannot all hold at once, and which fact says so.

        Bits beyond a domain are ignored (so ``~mask`` is a fine complement), terms that always hold are dropped,
        terms on one variable are intersected, and an incompatibility with a term that never holds is dropped
        whole. One whose terms all always hold makes the problem unsatisfiable. Repeating one changes nothing.
        Raises ValueError for a variable that was not added.
        """
        terms = tuple(terms)
        full = self._full
        known = len(full)
        if len(terms) == 2:
            # Nearly all are such pairs: this path takes a third of the time of the general one.
            (left, left_mask), (right, right_mask) = terms
            if left > right:
                left, left_mask, right, right_mask = right, right_mask, left, left_mask
            if 0 <= left < right < known:
                left_mask &= full[left]
                right_mask &= full[right]
                if not left_mask or not right_mask:
                    return
                if left_mask != full[left] and right_mask != full[right]:
                    self._rows.append((origin, ((left, left_mask), (right, right_mask))))
                    return
        kept: dict[int, int] = {}
        for variable, wanted in terms:
            if not 0 <= variable < known:
                raise ValueError(f"no variable {variable}: there are {known}")
            kept[variable] = wanted & kept.get(variable, full[variable])
        if all(kept.values()):
            self._rows.append(
                (origin, tuple(sorted(term for term in kept.items() if term[1] != full[term[0]])))
            )

    def build(self) -> Problem:
        """Return the problem as it stands; the builder can be used on."""
        rows = sorted(self._rows)
        once = [row for row, following in pairwise(rows) if row != following]
        return Problem(self._variables, once + rows[-1:])
