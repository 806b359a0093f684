"""Unit propagation: the domains as they shrink, the trail that explains each step, and how to go back.

The state is one int per variable (the candidates left) and a trail of steps. Each step says which incompatibility
(the *reason*) took candidates from which domain. Undoing a level restores the domains from the trail and touches
nothing else: a watch that moved to another candidate or term is as good there as where it was.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from stackcheck.solver.index import Row, Term, Terms, WatchIndex

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

    Rows below ``len(rows)`` are the problem's, higher ones were learned. After `propagate` returned `NONE`, no
    incompatibility has all its terms but one holding while the last one still could.
    """

    __slots__ = (
        "_active",
        "_buckets",
        "_clause_rows",
        "_clauses",
        "_head",
        "_hot",
        "_index",
        "_late",
        "_left",
        "_owned",
        "_right",
        "_rows",
        "_seen",
        "_watchers",
        "domains",
        "full",
        "last",
        "learned",
        "propagations",
        "starts",
        "trail",
    )

    def __init__(self, index: WatchIndex, rows: Sequence[Row], active: Collection[int] | None) -> None:
        self.full = index.full
        self.domains = index.full[:]
        self.trail: list[Step] = []
        self.last = [-1] * len(index.full)
        """Per variable the position of its latest step in the trail, or -1."""
        self.starts: list[int] = []
        """Per level above 0 the position of its decision."""
        self.learned: list[Terms] = []
        self.propagations = 0
        self._index = index
        self._rows = rows
        self._active = active
        self._head = 0
        self._late: list[tuple[int, int, int, int, int]] = []
        """Position, level, variable, mask and row of lessons on the trail that apply on a lower level already."""
        self._seen = index.full[:]
        """The domains as they were when their terms were last looked at."""
        self._buckets, self._hot = index.buckets[:], index.hot[:]
        self._owned = bytearray(len(index.full))
        self._clauses, self._clause_rows = index.clauses[:], index.clause_rows[:]
        self._left = [terms[0] for terms in index.clauses]
        self._right = [terms[1] for terms in index.clauses]
        self._watchers = [{mask: clauses[:] for mask, clauses in each.items()} for each in index.watchers]
        if active is not None and index.clauses:
            idle = {number for number, row in enumerate(index.clause_rows) if rows[row][0] not in active}
            for watchers in self._watchers:
                for mask, clauses in watchers.items():
                    watchers[mask] = [clause for clause in clauses if clause not in idle]

    def terms(self, row: int) -> Terms:
        """Return the terms of a row, learned or not."""
        given = len(self._rows)
        return self._rows[row][1] if row < given else self.learned[row - given]

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
        """Go back to this level as it was when the next one was opened, less what lessons have excluded since."""
        start = self.starts[level]
        del self.starts[level:]
        trail, domains, last, seen, late = self.trail, self.domains, self.last, self._seen, self._late
        self.propagations += len(trail) - start
        while len(trail) > start:
            variable, old, _, _, last[variable] = trail.pop()
            domains[variable] = seen[variable] = old
        self._head = start
        again = []
        while late and late[-1][0] >= start:
            lesson = late.pop()
            if lesson[1] <= level:
                again.append(lesson)
        for _, since, variable, mask, row in reversed(again):
            self.exclude(variable, mask, row, since)

    def exclude(self, variable: int, mask: int, row: int, since: int) -> int:
        """Exclude candidates by a learned row whose other terms hold since level ``since``; return `NONE`.

        Return the row and do nothing if it is violated. If ``since`` is below the current level, `undo` excludes them
        again on every level from there on, which propagation would not notice.
        """
        after = self.domains[variable] & ~mask
        if not after:
            return row
        if since < len(self.starts):
            self._late.append((len(self.trail), since, variable, mask, row))
        self.narrow(variable, after, row)
        return NONE

    def propagate(self) -> int:
        """Draw all conclusions; return a row whose terms all hold, or `NONE`."""
        trail, domains, last, seen = self.trail, self.domains, self.last, self._seen
        hot, pairs, watchers = self._hot, self._index.pairs, self._watchers
        rows, active = self._rows, self._active
        head = self._head
        while head < len(trail):
            variable = trail[head][0]
            head += 1
            now = domains[variable]
            gone = seen[variable] ^ now
            if not gone:
                continue
            seen[variable] = now
            gone &= hot[variable]
            held = self._look_at(variable, gone, now) if gone else []
            if not now & (now - 1):
                held.append(now)
            follows, waiting = pairs[variable], watchers[variable]
            for mask in held:
                for other, excluded, row in follows.get(mask, ()):
                    before = domains[other]
                    common = before & excluded
                    if not common or (active is not None and rows[row][0] not in active):
                        continue
                    if common == before:
                        return row
                    trail.append((other, before, before ^ common, row, last[other]))
                    last[other] = len(trail) - 1
                    domains[other] = before ^ common
                if waiting and mask in waiting:
                    row = self._visit(variable, mask)
                    if row != NONE:
                        return row
        self._head = head
        return NONE

    def _look_at(self, variable: int, gone: int, domain: int) -> list[int]:
        """Return the masks that hold now that these candidates are gone; watch the others elsewhere."""
        buckets = self._own_buckets(variable)
        hot = self._hot[variable]
        held: list[int] = []
        while gone:
            candidate = gone & -gone
            gone ^= candidate
            stay: list[int] = []
            for mask in buckets.pop(candidate):
                left = domain & ~mask
                if left:
                    left &= -left
                    if left & hot:
                        buckets[left].append(mask)
                    else:
                        buckets[left] = [mask]
                        hot |= left
                else:
                    stay.append(mask)
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
            self._buckets[variable] = {candidate: masks[:] for candidate, masks in shared.items()}
        return self._buckets[variable]

    def _visit(self, variable: int, mask: int) -> int:
        """Look at the longer incompatibilities that watch a term which now holds; return a violated row or `NONE`."""
        domains, left, right = self.domains, self._left, self._right
        waiting = self._watchers[variable][mask]
        self._watchers[variable][mask] = kept = []
        for position, clause in enumerate(waiting):
            watched = left[clause]
            if watched[0] == variable:
                watched = right[clause]
            other, excluded = watched
            before = domains[other]
            if before & excluded:
                for term in self._clauses[clause]:
                    if domains[term[0]] & ~term[1] and term[0] != other:
                        left[clause], right[clause] = watched, term
                        self._watchers[term[0]][term[1]].append(clause)
                        break
                else:
                    kept.append(clause)
                    if not before & ~excluded:
                        kept += waiting[position + 1 :]
                        return self._clause_rows[clause]
                    self.narrow(other, before & ~excluded, self._clause_rows[clause])
            else:
                kept.append(clause)
        return NONE

    def learn(self, terms: Terms) -> int:
        """Add an incompatibility of which all terms but the first hold; return its row.

        The second term must be the one that came to hold last, so that both watches are let go together.
        """
        row = len(self._rows) + len(self.learned)
        self.learned.append(terms)
        if len(terms) > 1:
            for term in terms:
                self._make_known(term)
            for variable, mask in terms[:2]:
                self._watchers[variable][mask].append(len(self._clauses))
            self._clauses.append(terms)
            self._clause_rows.append(row)
            self._left.append(terms[0])
            self._right.append(terms[1])
        return row

    def _make_known(self, term: Term) -> None:
        """Give a term a watch list and a candidate to be looked at, unless it has them."""
        variable, mask = term
        if mask in self._watchers[variable]:
            return
        self._watchers[variable][mask] = []
        if mask & (mask - 1) and mask not in self._index.pairs[variable]:
            left = self._last_outside(variable, mask)
            self._own_buckets(variable).setdefault(left & -left, []).append(mask)
            self._hot[variable] |= left & -left

    def _last_outside(self, variable: int, mask: int) -> int:
        """Return the candidates outside a mask that are left, or those that went last if none is."""
        left = self.domains[variable] & ~mask
        position = self.last[variable]
        while not left:
            _, old, _, _, position = self.trail[position]
            left = old & ~mask
        return left
