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

from stackcheck.model.inventory import Evidence, FactValue, Inventory, Text
from stackcheck.model.rule import Signature

GUESS = "unexplained-"
"""How ids of signatures and rules begin that know a program's way to print failures, but not the failure."""

_LONGEST_LINE = 2_000  # characters of a line that a pattern sees
_MOST_TRIES = 40  # occurrences of an anchor that are looked at
_LONGEST_VALUE = 300
_LONG_TEXT = 200_000  # characters from which on repeated lines are left out
_SAME_SHAPE = 8  # lines kept of those that differ in numbers only
_DIGITS = str.maketrans("", "", "0123456789abcdefABCDEF")


@lru_cache(maxsize=2048)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def with_log_facts(inventory: Inventory, signatures: Sequence[Signature]) -> Inventory:
    """Return the inventory with a fact `log:ID` for each signature found in its texts, and the line as evidence."""
    if not inventory.texts:
        return inventory
    searched = [_Searched(text) for text in inventory.texts]
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


def _says(signature: Signature, line: str) -> bool:
    return any(a in line for a in signature.anchors) and _compiled(signature.pattern).search(line) is not None


class _Searched:
    """A text as it is searched: whole, or without the lines that differ from many others in numbers only."""

    def __init__(self, text: Text) -> None:
        self.name = text.name
        self.content = text.content
        self._numbers: Sequence[int] = ()
        self._starts: Sequence[int] = ()
        if len(text.content) > _LONG_TEXT:
            self._shorten(text.content)

    def _shorten(self, content: str) -> None:
        lines = content.split("\n")
        shapes = content.translate(_DIGITS).split("\n")
        seen: dict[str, int] = {}
        kept: list[str] = []
        numbers: list[int] = []
        starts: list[int] = []
        position = 0
        for number, (line, shape) in enumerate(zip(lines, shapes, strict=True), 1):
            count = seen.get(shape, 0)
            if count >= _SAME_SHAPE:
                continue
            seen[shape] = count + 1
            kept.append(line)
            numbers.append(number)
            starts.append(position)
            position += len(line) + 1
        self.content, self._numbers, self._starts = "\n".join(kept), numbers, starts

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
                if match is not None and not any(_says(k, line) for k in known):
                    return match, self._line(start)
                tries += 1
                position = content.find(anchor, end)
        return None
