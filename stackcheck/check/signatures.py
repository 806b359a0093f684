"""Lines that programs print, found in the pasted texts by the catalog's signatures.

A literal anchor is searched in the whole text first (memchr speed), the regular expression sees only the line around it:
that is what makes ten megabytes of log cheap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from stackcheck.model.inventory import Evidence, FactValue, Inventory, Text
from stackcheck.model.rule import Signature

_LONGEST_LINE = 2_000  # characters of a line that a pattern sees
_MOST_TRIES = 40  # occurrences of an anchor that are looked at
_LONGEST_VALUE = 300


@lru_cache(maxsize=2048)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def with_log_facts(inventory: Inventory, signatures: Iterable[Signature]) -> Inventory:
    """Return the inventory with a fact `log:ID` for each signature found in its texts, and the line as evidence."""
    if not inventory.texts:
        return inventory
    facts: dict[str, FactValue] = {}
    evidence: dict[str, Evidence] = {}
    for signature in signatures:
        for text in inventory.texts:
            match = _find(signature, text)
            if match is not None:
                found, position = match
                name = f"log:{signature.id}"
                facts.update(_values(name, found))
                line = text.content.count("\n", 0, position) + 1
                evidence[name] = Evidence("log", f"{text.name}:{line}", found.string.strip()[:_LONGEST_VALUE])
                break
    return replace(inventory, facts={**inventory.facts, **facts}, evidence={**inventory.evidence, **evidence})


def _values(name: str, match: re.Match[str]) -> Iterator[tuple[str, FactValue]]:
    groups = match.groupdict()
    value = groups.pop("value", None)
    yield name, True if value is None else value[:_LONGEST_VALUE]
    for group, text in groups.items():
        if text is not None:
            yield f"{name}.{group}", text[:_LONGEST_VALUE]


def _find(signature: Signature, text: Text) -> tuple[re.Match[str], int] | None:
    content = text.content
    for anchor in signature.anchors:
        position = content.find(anchor)
        tries = 0
        while position >= 0 and tries < _MOST_TRIES:
            start = content.rfind("\n", 0, position) + 1
            end = content.find("\n", position)
            end = len(content) if end < 0 else end
            start = max(start, position - _LONGEST_LINE)
            match = _compiled(signature.pattern).search(content[start : min(end, start + 2 * _LONGEST_LINE)])
            if match is not None:
                return match, start
            tries += 1
            position = content.find(anchor, end)
    return None
