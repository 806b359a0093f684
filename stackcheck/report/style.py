"""The one place for signs, colours, and what an untrusted text may look like on a terminal.

Everything observed on a node or read from a paste is hostile: `visible` shows control characters, escape sequences and
direction overrides as their escapes, so that none of them reaches a terminal, a log viewer or a browser.
"""

from __future__ import annotations

import textwrap
from typing import NamedTuple

from stackcheck.model.kinds import Grade, Severity

LONGEST_VALUE = 300
"""Characters of one observed value that a report for people shows."""

NARROWEST = 40
"""Columns below which nothing readable fits; narrower terminals are treated as this wide."""

GRADE_SIGNS = {
    Grade.SUPPORTED: "✓",
    Grade.TESTED: "○",
    Grade.CAVEAT: "!",
    Grade.DEGRADED: "↓",
    Grade.BROKEN: "✗",
    Grade.UNKNOWN: "?",
}
GRADE_LETTERS = {
    Grade.SUPPORTED: "+",
    Grade.TESTED: "o",
    Grade.CAVEAT: "!",
    Grade.DEGRADED: "-",
    Grade.BROKEN: "x",
    Grade.UNKNOWN: "?",
}
GRADE_COLOURS = {
    Grade.SUPPORTED: "green",
    Grade.TESTED: "green",
    Grade.CAVEAT: "yellow",
    Grade.DEGRADED: "yellow",
    Grade.BROKEN: "red",
    Grade.UNKNOWN: "magenta",
}
SEVERITY_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
SEVERITY_PLURALS = {Severity.ERROR: "errors", Severity.WARNING: "warnings", Severity.INFO: "infos"}

_SGR = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36"}


class Style(NamedTuple):
    """How a text for people may look: with colour or not, in Unicode or in ASCII alone."""

    colour: bool = False
    ascii_only: bool = False

    def paint(self, text: str, *looks: str) -> str:
        """Return `text` with these looks (`bold`, `dim`, a colour), or unchanged where there is no colour."""
        codes = ";".join(_SGR[look] for look in looks if look)
        return f"\x1b[{codes}m{text}\x1b[0m" if self.colour and codes and text else text

    def sign(self, grade: Grade) -> str:
        """Return the one-character sign of a grade; the six differ without colour."""
        signs = GRADE_LETTERS if self.ascii_only else GRADE_SIGNS
        return self.paint(signs[grade], GRADE_COLOURS[grade])

    def severity(self, severity: Severity) -> str:
        """Return the word for a severity."""
        return self.paint(str(severity), "bold", SEVERITY_COLOURS[severity])

    def encode(self, text: str) -> str:
        """Return `text`, with everything outside ASCII as escapes where only ASCII may be written."""
        return text.encode("ascii", "backslashreplace").decode("ascii") if self.ascii_only else text

    @property
    def dot(self) -> str:
        """Return the separator between parts of one line."""
        return " - " if self.ascii_only else " · "


def visible(text: str, limit: int = 0) -> str:
    """Return `text` on one line, unprintable characters as escapes, cut to `limit` characters (0: not cut)."""
    if limit and len(text) > limit:
        text = f"{text[:limit]}..."
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(map(_shown, line))


def visible_lines(text: str) -> list[str]:
    """Return the lines of a text that must keep its lines and spaces, such as a command to paste."""
    return ["".join(map(_shown, line.rstrip().expandtabs(4))) for line in text.strip("\n").split("\n")]


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def wrapped(text: str, width: int, first: str, rest: str) -> list[str]:
    """Return `text` in lines of at most `width` columns behind a first and a following indent; long words stay whole."""
    return textwrap.wrap(
        text,
        max(width, NARROWEST),
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first.rstrip()]


def counted(number: int, one: str, many: str) -> str:
    """Return a number with its noun: `1 error`, `2 errors`."""
    return f"{number} {one if number == 1 else many}"
