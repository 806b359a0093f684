"""Lines that programs print, found in the pasted texts by the catalog's signatures.

A literal anchor is searched in the whole text first (memchr speed), the regular expression sees only the line around it. A long log
is first cut down to the lines that differ in more than numbers, so that hundreds of anchors cost as much on ten megabytes as on one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from typing import Any

from stackcheck.model.errors import MatrixError
from stackcheck.model.inventory import Evidence, FactValue, Inventory, Text
from stackcheck.model.rule import Signature

GUESS = "unexplained-"
"""How ids of signatures and rules begin that know a program's way to print failures, but not the failure."""

_LONGEST_LINE = 2_000  # characters of a line that a pattern sees
_MOST_TRIES = 40  # occurrences of an anchor that are looked at
_LONGEST_VALUE = 300
_LONG_TEXT = 200_000  # characters from which on repeated lines are left out
_SAME_SHAPE = 8  # lines kept of those that differ in numbers only
_END = ""  # key of the end of an anchor in the tree of anchors
_DIGITS = str.maketrans("", "", "0123456789abcdefABCDEF")


@lru_cache(maxsize=2048)
def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as fault:
        raise MatrixError(
            f"the signature pattern {pattern[:80]!r} is none: {fault}", fix="see `stackcheck matrices lint`"
        ) from fault


def with_log_facts(
    inventory: Inventory, signatures: Sequence[Signature], harmless: Sequence[str] = ()
) -> Inventory:
    """Return the inventory with a fact `log:ID` for each signature found in its texts, and the line as evidence.

    A line that holds one of the `harmless` phrases is a program's note of something that it did without; no signature sees it.
    """
    if not inventory.texts:
        return inventory
    searched = [_Searched(text, signatures, harmless) for text in inventory.texts]
    facts: dict[str, FactValue] = {}
    evidence: dict[str, Evidence] = {}
    told = [s for s in signatures if not s.id.startswith(GUESS)]
    for signature in signatures:
        known = told if signature.id.startswith(GUESS) else ()
        for text in searched:
            match = text.find(signature, known)
            if match is not None:
                found, line = match
                name = f"log:{signature.id}"
                facts.update(_values(name, found))
                evidence[name] = Evidence("log", f"{text.name}:{line}", found.string.strip()[:_LONGEST_VALUE])
                break
    return replace(inventory, facts={**inventory.facts, **facts}, evidence={**inventory.evidence, **evidence})


def _values(name: str, match: re.Match[str]) -> Iterator[tuple[str, FactValue]]:
    """Yield the fact of a line and what its groups hold; `value2` is `value` in another branch of the pattern."""
    groups: dict[str, str] = {}
    for group, text in match.groupdict().items():
        if text is not None:
            groups.setdefault(group.rstrip("0123456789"), text[:_LONGEST_VALUE])
    yield name, groups.pop("value", True)
    for group, text in groups.items():
        yield f"{name}.{group}", text


def _of_many_shapes(content: str) -> list[tuple[int, str]]:
    """Return the lines of a text with their numbers, without those that differ from many before them in numbers only."""
    lines = content.split("\n")
    shapes = content.translate(_DIGITS).split("\n")
    seen: dict[str, int] = {}
    kept: list[tuple[int, str]] = []
    for number, (line, shape) in enumerate(zip(lines, shapes, strict=True), 1):
        count = seen.get(shape, 0)
        if count < _SAME_SHAPE:
            seen[shape] = count + 1
            kept.append((number, line))
    return kept


@lru_cache(maxsize=4)
def _any_of(anchors: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern that finds any of the anchors in one go: a tree of their common beginnings."""
    root: dict[str, dict[str, Any]] = {}
    for anchor in anchors:
        node = root
        for character in anchor:
            if _END in node:
                break
            node = node.setdefault(character, {})
        else:
            node.clear()
            node[_END] = {}
    return re.compile(_as_pattern(root))


def _as_pattern(node: dict[str, dict[str, Any]]) -> str:
    if _END in node:
        return ""
    branches = [re.escape(character) + _as_pattern(below) for character, below in sorted(node.items())]
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"


def _says(signature: Signature, line: str) -> bool:
    return any(a in line for a in signature.anchors) and _compiled(signature.pattern).search(line) is not None


class _Searched:
    """A text as it is searched: whole if it is short, else without lines that differ from many others in numbers only."""

    def __init__(self, text: Text, signatures: Sequence[Signature], harmless: Sequence[str]) -> None:
        self.name = text.name
        self._harmless = harmless
        self.content = text.content
        self._numbers: Sequence[int] = ()
        self._starts: Sequence[int] = ()
        self._known: dict[str, bool] = {}
        if len(text.content) > _LONG_TEXT:
            lines = _of_many_shapes(text.content)
            if sum(len(line) for _, line in lines) > _LONG_TEXT:
                anchored = _any_of(tuple(a for s in signatures for a in s.anchors))
                lines = [(number, line) for number, line in lines if anchored.search(line)]
            self._keep(lines)

    def _keep(self, lines: Sequence[tuple[int, str]]) -> None:
        self.content = "\n".join(line for _, line in lines)
        self._numbers = [number for number, _ in lines]
        self._starts = list(accumulate((len(line) + 1 for _, line in lines), initial=0))

    def _line(self, position: int) -> int:
        if self._starts:
            return self._numbers[bisect_right(self._starts, position) - 1]
        return self.content.count("\n", 0, position) + 1

    def find(self, signature: Signature, known: Sequence[Signature] = ()) -> tuple[re.Match[str], int] | None:
        """Return the first match of a signature and the number of its line; not where one of `known` matches too."""
        content = self.content
        for anchor in signature.anchors:
            position = content.find(anchor)
            tries = 0
            while position >= 0 and tries < _MOST_TRIES:
                start = content.rfind("\n", 0, position) + 1
                end = content.find("\n", position)
                end = len(content) if end < 0 else end
                start = max(start, position - _LONGEST_LINE)
                line = content[start : min(end, start + 2 * _LONGEST_LINE)]
                match = _compiled(signature.pattern).search(line)
                if match is not None and not (
                    any(h in line for h in self._harmless) or (known and self._is_known(line, known))
                ):
                    return match, self._line(start)
                tries += 1
                position = content.find(anchor, end)
        return None

    def _is_known(self, line: str, known: Sequence[Signature]) -> bool:
        if line not in self._known:
            self._known[line] = any(_says(k, line) for k in known)
        return self._known[line]
