"""Whether a regular expression can take for ever: repetitions within repetitions that can share one text in many ways.

The engine tries every way before it gives up, and `(a+)+$` has two to the power of the length of the text. The pattern is turned into an
automaton of its characters (Glushkov's: one state for each, no empty moves); it is exponential if some text leads from a state back to
itself on two paths (Weber and Seidl, 1991). Repetitions of a few are written out, longer ones count as endless.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

_FEW = 3  # repetitions that are written out: they multiply the work by little
_WRITTEN_OUT = 12  # repetitions of an exact number that are written out
_LONGEST = 4_000  # characters of a line that a pattern sees
_MOST_WAYS = 10**9  # of a text, before it is given up
_MOST_STATES = 2_000  # patterns with more characters are refused unread
_SAMPLES = "".join(map(chr, range(128))) + "\xe9\u0101\u4e00"
_EVERYTHING = (1 << len(_SAMPLES)) - 1
_CATEGORIES = {
    f"CATEGORY_{name}": re.compile(sign)
    for name, sign in (
        ("DIGIT", r"\d"), ("NOT_DIGIT", r"\D"), ("SPACE", r"\s"), ("NOT_SPACE", r"\S"), ("WORD", r"\w"), ("NOT_WORD", r"\W"),
    )
}  # fmt: skip
_parser: Any = import_module("re._parser")


class _Part(NamedTuple):
    """A piece of the automaton: whether it may be empty, and the states it begins and ends with."""

    empty: bool
    first: frozenset[int]
    last: frozenset[int]


Node = TypeVar("Node", bound=Hashable)
_NOTHING = _Part(True, frozenset(), frozenset())


def fault_of(pattern: str) -> str:
    """Return why a pattern cannot be used, or an empty text: it is none, or it can take for ever."""
    try:
        re.compile(pattern)
        tree = _parser.parse(pattern)
    except (re.error, OverflowError, RecursionError) as fault:
        return str(fault) or type(fault).__name__
    try:
        automaton = _Automaton(ignore_case=bool(tree.state.flags & re.IGNORECASE))
        automaton.sequence(tree)
    except _TooLargeError:
        return f"has more than {_MOST_STATES} characters and repetitions"
    except RecursionError:
        return "nested too deeply"
    if automaton.is_exponential():
        return "a repetition within a repetition can share one text in many ways, so that a search can take for ever"
    if automaton.most_ways() > _MOST_WAYS:
        return "too many long repetitions can share one text between them, so that a search can take for ever"
    return ""


class _TooLargeError(Exception):
    """There are more states than anybody wants to compare."""


class _Automaton:
    def __init__(self, *, ignore_case: bool) -> None:
        self._ignore_case = ignore_case
        self._within = 0  # repetitions around the part that is read
        self._hopeless = False
        self._sets: list[int] = []
        self._known: dict[tuple[str, str], int] = {}
        self._most: dict[int, int] = {}  # states that follow themselves, and how often at most
        self._follow: list[set[int]] = []
        self._twice: set[tuple[int, int]] = set()
        """Moves that two repetitions allow: the engine tries both."""

    # from the parsed pattern to states

    def sequence(self, items: Iterable[tuple[Any, Any]]) -> _Part:
        """Add the states of some parts that follow each other."""
        whole = _NOTHING
        for operation, argument in items:
            whole = self._joined(whole, self._part(str(operation), argument))
        return whole

    def _part(self, operation: str, argument: Any) -> _Part:
        if operation in ("LITERAL", "NOT_LITERAL", "IN", "ANY", "RANGE", "CATEGORY"):
            key = (operation, repr(argument))
            if key not in self._known:
                self._known[key] = _members(operation, argument, ignore_case=self._ignore_case)
            return self._leaf(self._known[key])
        if operation == "BRANCH":
            if self._within and sum(not list(branch) for branch in argument[1]) > 1:
                self._hopeless = True  # `(?:a|a)*`: nothing tells its branches apart
            return _either([self.sequence(branch) for branch in argument[1]])
        if operation == "SUBPATTERN":
            return self.sequence(argument[3])
        if operation in ("MAX_REPEAT", "MIN_REPEAT"):
            return self._repeated(*argument)
        if operation in ("ASSERT", "ASSERT_NOT"):
            self.sequence(argument[1])  # a search of its own
            return _NOTHING
        if operation == "ATOMIC_GROUP":
            return self.sequence(argument)
        if operation == "POSSESSIVE_REPEAT":  # what it took it never gives back
            part = self.sequence(argument[2])
            return part._replace(empty=part.empty or argument[0] == 0)
        if operation == "GROUPREF_EXISTS":
            return _either([self.sequence(branch) for branch in argument[1:] if branch is not None])
        return self._leaf(_EVERYTHING) if operation == "GROUPREF" else _NOTHING

    def _leaf(self, members: int) -> _Part:
        if len(self._sets) >= _MOST_STATES:
            raise _TooLargeError
        self._sets.append(members)
        self._follow.append(set())
        alone = frozenset((len(self._sets) - 1,))
        return _Part(False, alone, alone)

    def _joined(self, one: _Part, other: _Part) -> _Part:
        for state in one.last:
            self._follow[state] |= other.first
        return _Part(
            one.empty and other.empty,
            one.first | other.first if one.empty else one.first,
            one.last | other.last if other.empty else other.last,
        )

    def _repeated(self, least: int, most: int, items: Any) -> _Part:
        self._within += most > _FEW
        whole = _NOTHING
        for _ in range(min(least, _WRITTEN_OUT if least == most else _FEW)):
            whole = self._joined(whole, self.sequence(items))
        if least == most <= _WRITTEN_OUT:
            rest = _NOTHING
        elif most - least <= _FEW and least <= _FEW:
            rest = self._some(most - least, items)
        else:
            rest = self._endless(items)
            for state in rest.last & rest.first:
                self._most[state] = min(most, _LONGEST)
        self._within -= most > _FEW
        if whole.empty and least >= _WRITTEN_OUT:
            self._hopeless = True  # any of them may be the empty ones
        return self._joined(whole, rest)

    def _some(self, most: int, items: Any) -> _Part:
        """Add up to `most` repetitions, each only after the one before it."""
        first = last = frozenset[int]()
        before: _Part | None = None
        for _ in range(most):
            part = self.sequence(items)
            if before is None:
                first = part.first
            else:
                self._joined(before, part)
            last |= part.last
            before = part
        return _Part(True, first, last)

    def _endless(self, items: Any) -> _Part:
        part = self.sequence(items)
        for state in part.last:
            self._twice |= {(state, f) for f in part.first if f in self._follow[state]}
            self._follow[state] |= part.first
        return part._replace(empty=True)

    # two paths for one text

    def is_exponential(self) -> bool:
        """Whether some text leads from a state back to itself on two paths."""
        if self._hopeless:
            return True
        for loop in _loops(range(len(self._sets)), self._follow.__getitem__):
            if any(a in loop and b in loop for a, b in self._twice):
                return True
            pairs = [(a, b) for a in loop for b in loop if self._sets[a] & self._sets[b]]
            for both in _loops(pairs, self._moves_within(loop)):
                if any(a == b for a, b in both) and any(a != b for a, b in both):
                    return True
        return False

    def most_ways(self) -> int:
        """Return in how many ways at most the repetitions share a text of one character between them, if none is within another."""
        most = 1
        if len(self._most) < _FEW:
            return most
        for bit in range(len(_SAMPLES)):
            ways: dict[int, int] = {}
            for state in reversed(range(len(self._sets))):  # what follows has a higher number, but for loops
                if self._sets[state] >> bit & 1:
                    ahead = max((ways.get(f, 1) for f in self._follow[state] if f > state), default=1)
                    ways[state] = ahead * self._most.get(state, 1)
            most = max(most, *ways.values(), 1)
        return most

    def _moves_within(self, loop: frozenset[int]) -> Callable[[tuple[int, int]], Iterator[tuple[int, int]]]:
        """Return the moves of two states of a loop on the same character."""

        def moves(pair: tuple[int, int]) -> Iterator[tuple[int, int]]:
            one, other = pair
            for a in self._follow[one] & loop:
                for b in self._follow[other] & loop:
                    if self._sets[a] & self._sets[b]:
                        yield a, b

        return moves


def _either(parts: list[_Part]) -> _Part:
    return _Part(
        any(p.empty for p in parts),
        frozenset[int]().union(*(p.first for p in parts)),
        frozenset[int]().union(*(p.last for p in parts)),
    )


def _loops(nodes: Iterable[Node], moves: Callable[[Node], Iterable[Node]]) -> Iterator[frozenset[Node]]:
    """Yield the strongly connected components that have a move inside (Tarjan, without recursion)."""
    order: dict[Node, int] = {}
    low: dict[Node, int] = {}
    open_nodes: dict[Node, None] = {}
    for root in nodes:
        if root in order:
            continue
        order[root] = low[root] = len(order)
        open_nodes[root] = None
        path = [(root, iter(moves(root)))]
        while path:
            node, ahead = path[-1]
            for following in ahead:
                if following not in order:
                    order[following] = low[following] = len(order)
                    open_nodes[following] = None
                    path.append((following, iter(moves(following))))
                    break
                if following in open_nodes:
                    low[node] = min(low[node], order[following])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == order[node]:
                    found: list[Node] = []
                    while not found or found[-1] != node:
                        found.append(open_nodes.popitem()[0])
                    if len(found) > 1 or node in moves(node):
                        yield frozenset(found)


def _members(operation: str, argument: Any, *, ignore_case: bool) -> int:
    """Return the sample characters that a part of a pattern stands for, as bits."""
    if ignore_case:
        return sum(
            1 << bit
            for bit, c in enumerate(_SAMPLES)
            if any(_holds(operation, argument, ord(v)) for v in (c, c.lower(), c.upper()) if len(v) == 1)
        )
    return sum(1 << bit for bit, c in enumerate(_SAMPLES) if _holds(operation, argument, ord(c)))


def _holds(operation: str, argument: Any, code: int) -> bool:
    match operation:
        case "LITERAL":
            return bool(code == argument)
        case "NOT_LITERAL":
            return bool(code != argument)
        case "RANGE":
            return bool(argument[0] <= code <= argument[1])
        case "CATEGORY":
            return _CATEGORIES[str(argument)].match(chr(code)) is not None
        case "IN":
            negated = bool(argument) and str(argument[0][0]) == "NEGATE"
            held = any(_holds(str(op), value, code) for op, value in argument[negated:])
            return held != negated
    return code != ord("\n")  # ANY
