"""Unit propagation: the domains as they shrink, the trail that explains each step, and how to go back.

The state is one int per variable (the candidates left) and a trail of steps. Each step says which incompatibility
(the *reason*) took candidates from which domain. Undoing a level restores the domains from the trail and touches
nothing else: a watch that moved to another candidate or term is as good there as where it was.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from stackcheck.solver.index import WatchIndex

__all__ = ["DECIDED", "INITIAL", "NONE", "Propagator", "Step"]

NONE = -1
"""No row is violated."""
DECIDED = -2
"""The reason of a decision."""
INITIAL = -3
"""The reason of the first step of a variable: its incompatibilities of one term, and what is assumed of it."""

Step = tuple[int, int, int, int, int]
"""Variable, domain before, domain after, reason (a row, `DECIDED` or `INITIAL`), position of the variable's last step."""


class Propagator:
    """Domains, trail and watches of one search.

    Rows below ``len(index.rows)`` are the problem's, higher ones were learned. After `propagate` returned `NONE`, no
    incompatibility has all its terms but one holding while the last one could still hold.
    """

    __slots__ = (
        "_active",
        "_buckets",
        "_clause_rows",
        "_clauses",
        "_exact",
        "_extra",
        "_head",
        "_hot",
        "_index",
        "_left",
        "_outside",
        "_owned",
        "_pairs",
        "_right",
        "_variable",
        "_watchers",
        "domains",
        "last",
        "learned",
        "propagations",
        "starts",
        "trail",
    )

    def __init__(self, index: WatchIndex, active: Collection[int] | None) -> None:
        self.domains = index.full[:]
        self.trail: list[Step] = []
        self.last = [-1] * len(index.full)
        """Per variable the position of its latest step in the trail, or -1."""
        self.starts: list[int] = []
        """Per level above 0 the position of its decision."""
        self.learned: list[tuple[tuple[int, int], ...]] = []
        self.propagations = 0
        self._head = 0
        self._index = index
        self._active = active
        self._variable, self._outside, self._pairs = index.variable[:], index.outside[:], index.pairs[:]
        self._exact, self._buckets, self._hot = index.exact[:], index.buckets[:], index.hot[:]
        self._owned = bytearray(len(index.full))
        self._extra: dict[tuple[int, int], int] = {}
        self._clauses, self._clause_rows = index.clauses[:], index.clause_rows[:]
        self._left = [clause[0] for clause in index.clauses]
        self._right = [clause[1] for clause in index.clauses]
        if active is None:
            self._watchers = {term: waiting[:] for term, waiting in index.watchers.items()}
        else:
            rows, of = index.rows, index.clause_rows
            self._watchers = {
                term: [clause for clause in waiting if rows[of[clause]][0] in active]
                for term, waiting in index.watchers.items()
            }

    def is_active(self, row: int) -> bool:
        """Whether a row of the problem takes part in this search."""
        return self._active is None or self._index.rows[row][0] in self._active

    def terms(self, row: int) -> tuple[tuple[int, int], ...]:
        """Return the terms of a row, learned or not."""
        given = len(self._index.rows)
        return self._index.rows[row][1] if row < given else self.learned[row - given]

    def narrow(self, variable: int, after: int, reason: int) -> None:
        """Shrink a domain to ``after`` and write it on the trail."""
        self.trail.append((variable, self.domains[variable], after, reason, self.last[variable]))
        self.last[variable] = len(self.trail) - 1
        self.domains[variable] = after

    def decide(self, variable: int) -> None:
        """Open a level and take the most preferred candidate left."""
        self.starts.append(len(self.trail))
        domain = self.domains[variable]
        self.narrow(variable, domain & -domain, DECIDED)

    def undo(self, level: int) -> None:
        """Go back to the state this level had when it was last propagated."""
        start = self.starts[level]
        del self.starts[level:]
        trail, domains, last = self.trail, self.domains, self.last
        self.propagations += len(trail) - start
        while len(trail) > start:
            variable, domains[variable], _, _, last[variable] = trail.pop()
        self._head = start

    def propagate(self) -> int:
        """Draw all conclusions; return a row whose terms all hold, or `NONE`."""
        trail, domains, last = self.trail, self.domains, self.last
        pairs, watchers, exact, hot = self._pairs, self._watchers, self._exact, self._hot
        rows, active = self._index.rows, self._active
        head = self._head
        while head < len(trail):
            variable, old, domain, _, _ = trail[head]
            head += 1
            now = domains[variable]
            gone = (old ^ domain) & hot[variable]
            held = self._look_at(variable, gone, now) if gone else []
            if now == domain and not now & (now - 1) and now in exact[variable]:
                held.append(exact[variable][now])
            for term in held:
                for other, allowed, row in pairs[term]:
                    before = domains[other]
                    after = before & allowed
                    if after == before or (active is not None and rows[row][0] not in active):
                        continue
                    if not after:
                        return row
                    trail.append((other, before, after, row, last[other]))
                    last[other] = len(trail) - 1
                    domains[other] = after
                if term in watchers:
                    row = self._visit(term)
                    if row != NONE:
                        return row
        self._head = head
        return NONE

    def _look_at(self, variable: int, gone: int, domain: int) -> list[int]:
        """Return the terms that hold now that these candidates are gone; watch the others elsewhere."""
        buckets = self._own_buckets(variable)
        outside, hot = self._outside, self._hot[variable]
        held: list[int] = []
        while gone:
            candidate = gone & -gone
            gone ^= candidate
            stay: list[int] = []
            for term in buckets.pop(candidate):
                left = domain & outside[term]
                if left:
                    left &= -left
                    if left & hot:
                        buckets[left].append(term)
                    else:
                        buckets[left] = [term]
                        hot |= left
                else:
                    stay.append(term)
            if stay:
                # They hold until this very candidate comes back, so here is where they must be watched.
                buckets[candidate] = stay
                held += stay
            else:
                hot ^= candidate
        self._hot[variable] = hot
        return held

    def _own_buckets(self, variable: int) -> dict[int, list[int]]:
        if not self._owned[variable]:
            self._owned[variable] = 1
            shared = self._buckets[variable]
            self._buckets[variable] = {candidate: terms[:] for candidate, terms in shared.items()}
        return self._buckets[variable]

    def _visit(self, term: int) -> int:
        """Look at the longer incompatibilities that watch a term which now holds; return a violated row or `NONE`."""
        domains, variables, outside = self.domains, self._variable, self._outside
        left, right = self._left, self._right
        waiting = self._watchers[term]
        self._watchers[term] = kept = []
        for position, clause in enumerate(waiting):
            other = left[clause] if right[clause] == term else right[clause]
            variable = variables[other]
            before = domains[variable]
            after = before & outside[other]
            if after != before:
                for free in self._clauses[clause]:
                    if free not in (other, term) and domains[variables[free]] & outside[free]:
                        left[clause], right[clause] = other, free
                        self._watchers.setdefault(free, []).append(clause)
                        break
                else:
                    kept.append(clause)
                    if not after:
                        kept += waiting[position + 1 :]
                        return self._clause_rows[clause]
                    self.narrow(variable, after, self._clause_rows[clause])
            else:
                kept.append(clause)
        return NONE

    def learn(self, terms: Sequence[tuple[int, int]]) -> int:
        """Add an incompatibility of which all terms but the first hold; return its row.

        The second term must be one of the last that came to hold, so that the two watches let go together.
        """
        row = len(self._index.rows) + len(self.learned)
        self.learned.append(tuple(terms))
        if len(terms) > 1:
            numbers = [self._number(term) for term in terms]
            for watched in numbers[:2]:
                self._watchers.setdefault(watched, []).append(len(self._clauses))
            self._clauses.append(tuple(numbers))
            self._clause_rows.append(row)
            self._left.append(numbers[0])
            self._right.append(numbers[1])
        return row

    def _number(self, term: tuple[int, int]) -> int:
        """Return the number of a term, made and watched if it is new."""
        found = self._index.number.get(term, self._extra.get(term, NONE))
        if found != NONE:
            return found
        number = self._extra[term] = len(self._variable)
        variable, mask = term
        outside = self._index.full[variable] ^ mask
        self._variable.append(variable)
        self._outside.append(outside)
        self._pairs.append([])
        if mask & (mask - 1):
            left = self._last_outside(variable, outside)
            self._own_buckets(variable).setdefault(left & -left, []).append(number)
            self._hot[variable] |= left & -left
        else:
            self._exact[variable] = {**self._exact[variable], mask: number}
        return number

    def _last_outside(self, variable: int, outside: int) -> int:
        """Return the candidates outside a mask that are left, or those that went last if none is."""
        left = self.domains[variable] & outside
        position = self.last[variable]
        while not left:
            _, old, _, _, position = self.trail[position]
            left = old & outside
        return left
