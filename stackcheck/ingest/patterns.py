"""Patterns that are compiled when they are first used: a run looks at a few formats, and compiling all of them would take longer than reading."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any


class Lazy:
    """A regular expression with the methods of `re.Pattern` that ingesters use."""

    __slots__ = ("_compiled", "_flags", "_source")

    def __init__(self, source: str, flags: int = 0) -> None:
        """Keep the source."""
        self._source = source
        self._flags = flags
        self._compiled: re.Pattern[str] | None = None

    def compiled(self) -> re.Pattern[str]:
        """Return the compiled pattern."""
        if self._compiled is None:
            self._compiled = re.compile(self._source, self._flags)
        return self._compiled

    def match(self, text: str, position: int = 0) -> re.Match[str] | None:
        """See `re.Pattern.match`."""
        return (self._compiled or self.compiled()).match(text, position)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """See `re.Pattern.fullmatch`."""
        return (self._compiled or self.compiled()).fullmatch(text)

    def search(self, text: str) -> re.Match[str] | None:
        """See `re.Pattern.search`."""
        return (self._compiled or self.compiled()).search(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """See `re.Pattern.finditer`."""
        return (self._compiled or self.compiled()).finditer(text)

    def findall(self, text: str) -> list[tuple[str, ...]]:
        """See `re.Pattern.findall`; for patterns with several groups."""
        return (self._compiled or self.compiled()).findall(text)

    def split(self, text: str) -> list[str | Any]:
        """See `re.Pattern.split`."""
        return (self._compiled or self.compiled()).split(text)

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
        """See `re.Pattern.sub`."""
        return (self._compiled or self.compiled()).sub(replacement, text)
