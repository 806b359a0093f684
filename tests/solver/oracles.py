"""Two independent answers to a problem: enumeration, and clingo."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import product

import clingo

from stackcheck.solver.problem import Problem

Values = tuple[int, ...]


def violates(problem: Problem, values: Values, active: Collection[int] | None = None) -> bool:
    """Whether an incompatibility has all its terms true."""
    return any(
        all(mask >> values[variable] & 1 for variable, mask in terms)
        for origin, terms in problem.rows
        if active is None or origin in active
    )


def solutions(problem: Problem, active: Collection[int] | None = None) -> Iterator[Values]:
    """Yield all solutions, the best first."""
    for values in product(*(range(variable.size) for variable in problem.variables)):
        if not violates(problem, values, active):
            yield values


def best(problem: Problem, active: Collection[int] | None = None) -> Values | None:
    """Return the optimum by trying everything in order."""
    return next(solutions(problem, active), None)


class Clingo:
    """A problem told to clingo, atom by atom."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._control = clingo.Control(["--warn=none"])
        with self._control.backend() as backend:
            self._atoms = [[backend.add_atom() for _ in range(each.size)] for each in problem.variables]
            for atoms in self._atoms:
                backend.add_rule(atoms, choice=True)
                backend.add_rule([], [-atom for atom in atoms])
                for position, atom in enumerate(atoms):
                    for other in atoms[:position]:
                        backend.add_rule([], [atom, other])
            terms: dict[tuple[int, int], int] = {}
            for term in (term for _, row in problem.rows for term in row):
                if term not in terms:
                    variable, mask = term
                    terms[term] = backend.add_atom()
                    for candidate, atom in enumerate(self._atoms[variable]):
                        if mask >> candidate & 1:
                            backend.add_rule([terms[term]], [atom])
            for _, row in problem.rows:
                backend.add_rule([], [terms[term] for term in row])

    def satisfiable(self, assumptions: Collection[int] = ()) -> bool:
        """Whether there is a solution in which these literals are true."""
        return bool(self._control.solve(assumptions=list(assumptions)).satisfiable)

    def refuse_better(self, values: Values) -> bool:
        """Whether this is a solution and none is better: agrees up to a variable and has a preferred candidate there."""
        prefix: list[int] = []
        for atoms, value in zip(self._atoms, values, strict=True):
            if value and self.satisfiable([*prefix, *(-atom for atom in atoms[value:])]):
                return False
            prefix.append(atoms[value])
        return self.satisfiable(prefix)
