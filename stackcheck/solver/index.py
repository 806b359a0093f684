"""The watch index: which incompatibilities have to be looked at when a candidate disappears.

Unit propagation must notice two moments: a term starts to hold (its variable has lost its last candidate outside
the mask), and all terms of an incompatibility but one hold. Both are watched lazily, after the two watched literals
of Chaff (Moskewicz et al. 2001), so that most removals cost nothing and undoing costs nothing at all:

* A term is shared by all incompatibilities that contain it; it is known by its mask under its variable. One with a
  single candidate holds exactly when the domain equals the mask, so it needs no watching. Any other is watched at
  *one* candidate outside its mask, and looked at only when that candidate goes. The lowest one is taken, because the
  search decides for the lowest: then a decision visits the terms it can make true and hardly any other.
* Incompatibilities of two terms, the bulk of a catalog, hang on both terms as (other variable, mask excluded there,
  row). They have no state, so all searches share them. Longer ones are watched at two terms, which move.
* Those of one term narrow a domain before the search starts and are never seen again.

All lists here are shared between searches; `Propagator` copies what it changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Row", "Term", "Terms", "WatchIndex", "build_index"]

Term = tuple[int, int]
"""Variable and mask: the value is one of the mask's candidates."""
Terms = tuple[Term, ...]
Row = tuple[int, Terms]
"""Origin and terms of one incompatibility: a plain tuple, because tens of thousands are made for every question."""


class WatchIndex(NamedTuple):
    """What hangs on the terms of each variable (the first five are lists by variable)."""

    full: list[int]
    """The mask of all candidates."""
    pairs: list[dict[int, list[tuple[int, int, int]]]]
    """Mask to what follows when it holds: (other variable, mask excluded there, row)."""
    watchers: list[dict[int, list[int]]]
    """Mask to the longer incompatibilities that watch it, as positions in ``clauses``."""
    buckets: list[dict[int, list[int]]]
    """Candidate to the masks of several candidates that are looked at when it goes."""
    hot: list[int]
    """The candidates that have a bucket."""
    clauses: list[Terms]
    """Incompatibilities of three or more terms; the first two are watched first."""
    clause_rows: list[int]
    units: dict[int, list[tuple[int, int]]]
    """Variable to (excluded mask, row) of its incompatibilities of one term."""
    contradictions: list[int]
    """Rows without terms: they are violated whatever is chosen."""
    linked: list[int]
    """The variables that occur in incompatibilities of two or more terms, in order: the only ones to decide."""


def build_index(full: list[int], rows: Sequence[Row]) -> WatchIndex:
    """Return the index of these rows; ``full`` is the mask of all candidates of each variable."""
    pairs: list[dict[int, list[tuple[int, int, int]]]] = [{} for _ in full]
    units: dict[int, list[tuple[int, int]]] = {}
    contradictions: list[int] = []
    longer: list[int] = []
    for row, (_, terms) in enumerate(rows):
        if len(terms) == 2:
            (left, left_mask), (right, right_mask) = terms
            of_left, of_right = pairs[left], pairs[right]
            if left_mask in of_left:
                of_left[left_mask].append((right, right_mask, row))
            else:
                of_left[left_mask] = [(right, right_mask, row)]
            if right_mask in of_right:
                of_right[right_mask].append((left, left_mask, row))
            else:
                of_right[right_mask] = [(left, left_mask, row)]
        elif len(terms) > 2:
            longer.append(row)
        elif terms:
            units.setdefault(terms[0][0], []).append((terms[0][1], row))
        else:
            contradictions.append(row)
    # The terms with the smallest masks are the last to hold: watched, they are seldom looked at.
    clauses = [tuple(sorted(rows[row][1], key=lambda term: (term[1].bit_count(), term[0]))) for row in longer]
    watchers = _watchers(len(full), clauses)
    buckets = [_buckets(*each) for each in zip(full, pairs, watchers, strict=True)]
    hot = [_union(bucket) for bucket in buckets]
    linked = [variable for variable in range(len(full)) if pairs[variable] or watchers[variable]]
    return WatchIndex(full, pairs, watchers, buckets, hot, clauses, longer, units, contradictions, linked)


def _watchers(count: int, clauses: list[Terms]) -> list[dict[int, list[int]]]:
    """Return the watch lists; every term of a clause has one, if only an empty one, and so is known."""
    watchers: list[dict[int, list[int]]] = [{} for _ in range(count)]
    for number, terms in enumerate(clauses):
        for position, (variable, mask) in enumerate(terms):
            waiting = watchers[variable].setdefault(mask, [])
            if position < 2:
                waiting.append(number)
    return watchers


def _buckets(
    full: int, pairs: dict[int, list[tuple[int, int, int]]], watchers: dict[int, list[int]]
) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for mask in pairs | watchers if watchers else pairs:
        if mask & (mask - 1):
            outside = full ^ mask
            found.setdefault(outside & -outside, []).append(mask)
    return found


def _union(candidates: dict[int, list[int]]) -> int:
    union = 0
    for candidate in candidates:
        union |= candidate
    return union
