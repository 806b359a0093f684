"""Conflict analysis: what a dead end teaches, and the proof when there is no way out.

Both are resolution, walked backwards along the trail. If row C cannot hold and one of its terms, (v, M), came to hold
by a step with reason R = {(v, r), ...}, then v was in M or in r before that step, so the terms of C and R without
those two, together with (v, M | r), cannot all hold either. Masks of the same variable in both are intersected, which
is what lets one conflict rule out a whole range of releases (PubGrub's generalisation of a clause).

`analyse` stops at the first unique implication point, the one term that came to hold on the last level (the scheme
of GRASP and Chaff). `refute` runs to the beginning of the trail, where nothing is left but facts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from stackcheck.solver.propagate import Propagator

__all__ = ["Lesson", "analyse", "level_of"]

Needs = tuple[tuple[int, int], ...]


class Lesson(NamedTuple):
    """A learned incompatibility and its proof."""

    terms: tuple[tuple[int, int], ...]
    """The asserting term first, then the one that came to hold last, then the others."""
    level: int
    """The level to go back to: the lowest on which all terms but the first hold."""
    rows: tuple[int, ...]
    """The rows it was resolved from."""
    needs: Needs
    """Terms left out because they hold on level 0; the proof of each is in the trail of that level."""


def level_of(state: Propagator, variable: int, mask: int) -> tuple[int, int]:
    """Return the level on which a term came to hold, and the trail position (-1: it always did)."""
    trail = state.trail
    position = state.last[variable]
    while position >= 0 and not trail[position][1] & ~mask:
        position = trail[position][4]
    return bisect_right(state.starts, position), position


class _Open:
    """The terms of the incompatibility being derived, and which of them came to hold on the current level."""

    __slots__ = ("_before", "_start", "_state", "latest", "masks")

    def __init__(self, state: Propagator) -> None:
        self.masks: dict[int, int] = {}
        self.latest: set[int] = set()
        self._state = state
        self._start = state.starts[-1]
        self._before: dict[int, int] = {}

    def _domain_before_level(self, variable: int) -> int:
        found = self._before.get(variable)
        if found is None:
            state = self._state
            found = state.domains[variable]
            position = state.last[variable]
            while position >= self._start:
                _, found, _, _, position = state.trail[position]
            self._before[variable] = found
        return found

    def put(self, variable: int, mask: int) -> None:
        """Set the mask of a variable."""
        self.masks[variable] = mask
        if self._domain_before_level(variable) & ~mask:
            self.latest.add(variable)
        else:
            self.latest.discard(variable)

    def add(self, terms: Iterable[tuple[int, int]], without: int = -1) -> None:
        """Join these terms to the others, except the one of variable ``without``."""
        masks = self.masks
        for variable, mask in terms:
            if variable != without:
                known = masks.get(variable)
                if known is None:
                    self.put(variable, mask)
                elif known & ~mask:
                    self.put(variable, known & mask)


def _mask_of(terms: Iterable[tuple[int, int]], variable: int) -> int:
    return next(mask for other, mask in terms if other == variable)


def analyse(state: Propagator, row: int) -> Lesson:
    """Return what the violation of a row on a level above 0 teaches."""
    derived = _Open(state)
    derived.add(state.terms(row))
    rows = [row]
    position = len(state.trail)
    while len(derived.latest) > 1:
        position -= 1
        variable, old, _, reason, _ = state.trail[position]
        if variable in derived.latest and old & ~derived.masks[variable]:
            terms = state.terms(reason)
            rows.append(reason)
            derived.add(terms, without=variable)
            derived.put(variable, derived.masks[variable] | _mask_of(terms, variable))
    (asserting,) = derived.latest
    needs: list[tuple[int, int]] = []
    others: list[tuple[int, int, int]] = []
    for variable, mask in derived.masks.items():
        if variable != asserting:
            level, position = level_of(state, variable, mask)
            if level:
                others.append((position, variable, mask))
            elif position >= 0:
                needs.append((variable, mask))
    others.sort(reverse=True)
    level = bisect_right(state.starts, others[0][0]) if others else 0
    terms = ((asserting, derived.masks[asserting]), *((variable, mask) for _, variable, mask in others))
    return Lesson(terms, level, tuple(rows), tuple(needs))
