"""The colours of a grid's cells, out of the theme in force. Here and not in a style sheet, since parsing one delays the first paint."""

from __future__ import annotations

from collections.abc import Mapping

from rich.style import Style
from textual.color import Color

from stackcheck.model.kinds import Grade

_TINTS = {
    Grade.SUPPORTED: ("text-success", "success", 0.22),
    Grade.TESTED: ("text-primary", "primary", 0.20),
    Grade.CAVEAT: ("text-warning", "warning", 0.22),
    Grade.DEGRADED: ("text-accent", "accent", 0.14),
    Grade.BROKEN: ("text-error", "error", 0.26),
}
"""By grade: the colour of the sign, the colour of the cell, and how much of it lies over the background."""
_STRONG = (Grade.CAVEAT, Grade.BROKEN)
_QUIET, _FAINT = 0.6, 0.38  # how much of the foreground is left in what stays back


def looks(variables: Mapping[str, str]) -> dict[str, Style]:
    """Return the looks of headers, cursor and grades by name."""
    back, front = _colour(variables, "background", "#000000"), _colour(variables, "foreground", "#ffffff")
    panel, accent = _colour(variables, "panel", "#222222"), _colour(variables, "accent", "#ffaa00")
    found = {
        "head": _style(back.blend(front, _QUIET), back),
        "head-here": _style(front, panel, bold=True),
        "cursor": _style(back, accent, bold=True),
        str(Grade.UNKNOWN): _style(back.blend(front, _FAINT), back),
    }
    for grade, (sign, cell, part) in _TINTS.items():
        below = back.blend(_colour(variables, cell, "#888888"), part)
        found[str(grade)] = _style(_colour(variables, sign, "#ffffff"), below, bold=grade in _STRONG)
    return found


def _colour(variables: Mapping[str, str], name: str, fallback: str) -> Color:
    """Return a colour of the theme; themes may leave one to the terminal, which then is the fallback."""
    text = variables.get(name, fallback)
    if text.startswith(("auto", "ansi")):
        text = fallback
    return Color.parse(text.partition(" ")[0])


def _style(front: Color, back: Color, *, bold: bool = False) -> Style:
    return Style(color=front.rich_color, bgcolor=back.rich_color, bold=bold or None)
