"""The watch index: which incompatibilities have to be looked at when a candidate disappears.

Unit propagation must notice two moments: a term starts to hold (its variable has lost its last candidate outside
the mask), and all terms of an incompatibility but one hold. Both are watched lazily, after the two watched literals
of Chaff (Moskewicz et al. 2001), so that most removals cost nothing and undoing costs nothing at all:

* A term is shared by all incompatibilities that contain it. One with a single candidate holds exactly when the
  domain is that candidate: a dictionary finds it. Any other is watched at *one* candidate outside its mask, and
  looked at only when that candidate goes. The lowest one is taken, because the search decides for the lowest:
  then a decision visits the terms it can make true and hardly any other.
* Incompatibilities of two terms, the bulk of a catalog, hang on both terms as (other variable, what stays allowed
  there, row): no state, so all searches share them. Longer ones are watched at two terms, which move.
* Those of one term narrow a domain before the search starts and are never seen again.

All lists here are shared between searches; `Propagator` copies what it changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["WatchIndex", "build_index"]


@dataclass(frozen=True, slots=True)
class WatchIndex:
    """Terms, and what hangs on them. ``full``, ``exact``, ``buckets`` and ``hot`` are per variable, the rest per term."""

    full: list[int]
    rows: Sequence[tuple[int, tuple[tuple[int, int], ...]]]
    linked: list[int] = field(default_factory=list)
    """The variables that occur in incompatibilities of two or more terms, in order: the only ones to decide."""
    number: dict[tuple[int, int], int] = field(default_factory=dict)
    """Term (variable, mask) to its number."""
    variable: list[int] = field(default_factory=list)
    outside: list[int] = field(default_factory=list)
    """The candidates that are not in the term's mask: the term holds when the domain has none of them."""
    pairs: list[list[tuple[int, int, int]]] = field(default_factory=list)
    """Per term: what follows for one other variable: (other variable, mask that stays allowed, row)."""
    exact: list[dict[int, int]] = field(default_factory=list)
    """Single candidate to the term that names just it."""
    buckets: list[dict[int, list[int]]] = field(default_factory=list)
    """Candidate to the terms that are looked at when it goes."""
    hot: list[int] = field(default_factory=list)
    """The candidates that have a bucket."""
    clauses: list[tuple[int, ...]] = field(default_factory=list)
    """Incompatibilities of three or more terms as term numbers; the first two are watched first."""
    clause_rows: list[int] = field(default_factory=list)
    watchers: dict[int, list[int]] = field(default_factory=dict)
    """Term to the clauses that watch it."""
    units: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """Variable to (excluded mask, row) of its incompatibilities of one term."""
    contradictions: list[int] = field(default_factory=list)
    """Rows without terms: they are violated whatever is chosen."""

    def add_term(self, term: tuple[int, int]) -> int:
        """Return the number of a new term, watched as if nothing had been excluded yet."""
        variable, mask = term
        number = self.number[term] = len(self.variable)
        outside = self.full[variable] ^ mask
        self.variable.append(variable)
        self.outside.append(outside)
        self.pairs.append([])
        if mask & (mask - 1):
            self.buckets[variable].setdefault(outside & -outside, []).append(number)
        else:
            self.exact[variable][mask] = number
        return number

    def add_clause(self, terms: list[int], row: int) -> None:
        """Add an incompatibility of three or more terms.

        The terms with the smallest masks are watched: they are the last to hold.
        """
        rows, variable = self.rows[row][1], self.variable
        size = {number: mask.bit_count() for number, (_, mask) in zip(terms, rows, strict=True)}
        terms.sort(key=lambda number: (size[number], variable[number]))
        for watched in terms[:2]:
            self.watchers.setdefault(watched, []).append(len(self.clauses))
        self.clauses.append(tuple(terms))
        self.clause_rows.append(row)


def build_index(full: list[int], rows: Sequence[tuple[int, tuple[tuple[int, int], ...]]]) -> WatchIndex:
    """Return the index of these rows; ``full`` is the mask of all candidates of each variable."""
    index = WatchIndex(full, rows)
    index.exact.extend({} for _ in full)
    index.buckets.extend({} for _ in full)
    number, add_term = index.number, index.add_term
    pairs, outside = index.pairs, index.outside
    for row, (_, terms) in enumerate(rows):
        if len(terms) == 2:
            first, second = terms
            left = number.get(first)
            if left is None:
                left = add_term(first)
            right = number.get(second)
            if right is None:
                right = add_term(second)
            pairs[left].append((second[0], outside[right], row))
            pairs[right].append((first[0], outside[left], row))
        elif len(terms) > 2:
            known = [number.get(term) for term in terms]
            index.add_clause(
                [add_term(term) if found is None else found for term, found in zip(terms, known, strict=True)], row
            )
        elif terms:
            index.units.setdefault(terms[0][0], []).append((terms[0][1], row))
        else:
            index.contradictions.append(row)
    for buckets in index.buckets:
        hot = 0
        for candidate in buckets:
            hot |= candidate
        index.hot.append(hot)
    index.linked.extend(sorted(set(index.variable)))
    return index
