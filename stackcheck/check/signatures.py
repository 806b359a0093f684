"""Lines that programs print, found in the pasted texts by the catalog's signatures.

Literal anchors are searched in the whole text first, the regular expression sees only the line around one. A long log is first cut
down to the lines that differ in more than numbers.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

from stackcheck.model.errors import MatrixError
from stackcheck.model.inventory import Evidence, FactValue, Inventory, Text
from stackcheck.model.long_text import LONG, occurring, shapes
from stackcheck.model.rule import Signature

GUESS = "unexplained-"
"""How ids of signatures and rules begin that know a program's way to print failures, but not the failure."""

_LONGEST_LINE = 2_000  # characters of a line that a pattern sees
_MOST_TRIES = 40  # occurrences of an anchor that are looked at
_LONGEST_VALUE = 300
_LONGEST_SEARCHED = 1 << 20  # characters of a line in which anchors are searched: more is data
_LONG_TEXT = LONG  # characters from which on repeated lines are left out
_SAME_SHAPE = 8  # lines kept of those that differ in numbers only
_FRAME = r"""File "|(?:^|[\s\]])File [~/]\S+\.py|^\[?[~/]\S{1,300}\.py\S{0,300} in \w"""
"""A frame of a traceback, as Python prints it and as notebooks do."""
_FRAME_LINES = 60  # lines above an error among which its traceback's innermost frame is looked for
_DENIED = r"""(?i)["'\]]?\s{0,4}[:=]\s{0,4}["']?(?:false|none|no|null|0)\s{0,8}(?:["',;)\]}]|\Z)|\s{1,4}(?:count|events?):? {0,4}0\b"""
_ASIDE = (
    r"(?i)\s{0,80}(?:(?:(?:[-*+#]{1,6}|\d{1,3}[.)])\s{1,4})?(?:\[[^\]\n]{1,40}\]\s?)?(?:bug)?fix(?:e[sd]|ing)?\b(?!=)"
    r"|raise [A-Za-z_][\w.]*\(|\w{0,20}log(?:ger|ging)?\.\w{1,20}\(|#\s?define\b|(?:[$#] )?(?:e?grep|rg) )"
)
_DENYING = r"""(?i)\b(?:(?:no|zero|without(?: any)?|not any|(?:detected|found|had|with) 0)\s{1,4}|(?:if|when(?:ever)?) (?:you|users?) (?:see|get|encounter|hit|run into)\b[^\n]{0,200})\Z"""


@lru_cache(maxsize=2048)
def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as fault:
        raise MatrixError(
            f"the signature pattern {pattern[:80]!r} is none: {fault}", fix="see `stackcheck matrices lint`"
        ) from fault


def with_log_facts(
    inventory: Inventory,
    signatures: Sequence[Signature],
    harmless: Sequence[str] = (),
    passing: Sequence[str] = (),
) -> Inventory:
    """Return the inventory with a fact `log:ID` for each signature found in its texts, and the line as evidence.

    A line that holds one of the `harmless` phrases is a program's note of something that it did without; no signature sees it.
    Frames whose paths hold one of `passing` only pass a call on: who asked stands above them.
    """
    searched = [_Searched(text, signatures, harmless, passing) for text in inventory.texts]
    facts: dict[str, FactValue] = {}
    evidence: dict[str, Evidence] = {}
    told = [s for s in signatures if not s.frame and not s.id.startswith(GUESS)]
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
    return inventory._replace(facts={**inventory.facts, **facts}, evidence={**inventory.evidence, **evidence})


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
    seen: dict[str, int] = {}
    kept: list[tuple[int, str]] = []
    for number, (line, shape) in enumerate(zip(lines, shapes(content), strict=True), 1):
        count = seen.get(shape, 0)
        if count < _SAME_SHAPE:
            seen[shape] = count + 1
            kept.append((number, line))
    return kept


def _says(signature: Signature, line: str) -> bool:
    return any(a in line for a in signature.anchors) and _compiled(signature.pattern).search(line) is not None


def _is_denied(match: re.Match[str]) -> bool:
    """Whether the words around a match say that it did not happen here: `no oom_kill event`, `"OOMKilled": false`, `if you see ...`.

    A line of a change log or of a program's source tells what could happen.
    """
    line = match.string
    return (
        _compiled(_ASIDE).match(line) is not None
        or _compiled(_DENIED).match(line, match.end()) is not None
        or _compiled(_DENYING).search(line[max(0, match.start() - _LONGEST_VALUE) : match.start()])
        is not None
    )


class _Searched:
    """A text as it is searched: whole if it is short, else without lines that differ from many others in numbers only."""

    def __init__(
        self, text: Text, signatures: Sequence[Signature], harmless: Sequence[str], passing: Sequence[str]
    ) -> None:
        self.name = text.name
        self._passing = passing
        self._harmless = harmless
        self.content = text.content
        self._numbers: Sequence[int] = ()
        self._starts: Sequence[int] = ()
        self._known: dict[str, bool] = {}
        if len(text.content) > _LONG_TEXT:
            self._keep(_of_many_shapes(text.content))
        self._present = occurring(self.content, (a for s in signatures for a in s.anchors))

    def _keep(self, lines: Sequence[tuple[int, str]]) -> None:
        lines = [(number, line[:_LONGEST_SEARCHED]) for number, line in lines]
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
            if anchor not in self._present:
                continue
            position = content.find(anchor)
            tries = 0
            while position >= 0 and tries < _MOST_TRIES:
                start = content.rfind("\n", 0, position) + 1
                end = content.find("\n", position)
                end = len(content) if end < 0 else end
                start = max(start, position - _LONGEST_LINE)
                line = content[start : min(end, start + 2 * _LONGEST_LINE)]
                match = _compiled(signature.pattern).search(line)
                if (
                    match is not None
                    and self._raised_in(signature.frame, start)
                    and not _is_denied(match)
                    and not any(h in line for h in self._harmless)
                    and not (known and self._is_known(line, known))
                ):
                    return match, self._line(start)
                tries += 1
                position = content.find(anchor, end)
        return None

    def _raised_in(self, frame: str, start: int) -> bool:
        """Whether the traceback that ends in the line at `start` has an innermost frame in which `frame` is found."""
        if not frame:
            return True
        end = start - 1
        for _ in range(_FRAME_LINES):
            if end <= 0:
                return False
            begin = self.content.rfind("\n", 0, end) + 1
            line = self.content[max(begin, end - _LONGEST_LINE) : end]
            if ".py" in line and _compiled(_FRAME).search(line) and not any(p in line for p in self._passing):
                return _compiled(frame).search(line) is not None
            end = begin - 1
        return False

    def _is_known(self, line: str, known: Sequence[Signature]) -> bool:
        if line not in self._known:
            self._known[line] = any(_says(k, line) for k in known)
        return self._known[line]
