"""Sources for people: whose word a fact is, and of which day; short marks in a text and the list below it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stackcheck.model.release import Source
from stackcheck.report.style import LONGEST_VALUE, Style, visible, wrapped
from stackcheck.report.wording import openable


def source_line(source: Source) -> str:
    """Return a source with its word and day: `https://... (vendor, read 2026-11-29; table 2)`."""
    about = ", ".join(p for p in (source.word, f"read {source.read}" if source.read else "") if p)
    inside = "; ".join(p for p in (about, source.note) if p)
    return visible(f"{source.ref} ({inside})" if inside else source.ref, LONGEST_VALUE)


def source_to_json(source: Source) -> dict[str, str]:
    """Return the JSON object of a source; what is not known is left out."""
    pairs = (("ref", source.ref), ("word", source.word), ("read", source.read), ("note", source.note))
    return {k: v for k, v in pairs if v}


class Footnotes:
    """Numbers for sources in the order in which a text names them."""

    def __init__(self) -> None:
        self._numbers: dict[Source, int] = {}

    def marks(self, sources: Iterable[Source]) -> str:
        """Return the marks of these sources, `[1][4]`, new ones numbered on; none for those that nobody can follow."""
        return "".join(
            f"[{self._numbers.setdefault(s, len(self._numbers) + 1)}]"
            for s in dict.fromkeys(sources)
            if openable(s.ref)
        )

    def lines(self, style: Style, width: int) -> Iterator[str]:
        """Yield the list of the sources that were marked."""
        for source, number in self._numbers.items():
            for line in wrapped(source_line(source), width, f"[{number}] ", " " * (len(str(number)) + 3)):
                yield style.paint(line, "dim")
