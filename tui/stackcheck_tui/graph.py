"""The neighbourhood of a component, drawn: who asks for it at the left, what it asks for at the right."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from stackcheck.catalog.surroundings import Surroundings
from stackcheck.model.release import Component
from stackcheck_tui import telling

_LINE = "$text-primary"
_WIDE = 96  # columns from which on both sides fit beside each other
Row = tuple[str, str]
"""A neighbour and what is asked of it, or by it."""


def graph(component: Component, around: Surroundings, width: int) -> Content:
    """Return the drawing, as two columns around the component where there is room, else one below the other."""
    left = [
        (f"{r.component} {r.version}", r.range + (f" [{r.extra}]" if r.extra else ""))
        for r in around.required_by
    ]
    left += [(f"{b.component} {b.version}", f"brings {b.brings}") for b in around.brought_by]
    right = [(a.component, f"{a.range} {a.when}".strip()) for a in around.requires]
    right += [(n, f"{v} inside it") for n, v in around.bundles]
    me = f" {component.id} {around.release} "
    drawn = _beside(left, right, me, width) if width >= _WIDE else _below(left, right, me)
    told = [*drawn]
    if not around.read and not right:
        told.append(Content.styled("its requirements were not read", telling.MUTED))
    if around.rules:
        told += [Content(), telling.heading(f"{len(around.rules)} rules look at it")]
        told.append(Content.styled(", ".join(around.rules), telling.MUTED))
    return telling.lines(told)


def _beside(left: Sequence[Row], right: Sequence[Row], me: str, width: int) -> list[Content]:
    side = (width - len(me) - 8) // 2
    rows = max(len(left), len(right), 1)
    lines: list[Content] = []
    for row in range(rows):
        name, asked = left[row] if row < len(left) else ("", "")
        room = max(0, side - len(name) - 1)
        asked = asked if len(asked) <= room else f"{asked[: max(0, room - 1)]}…"
        pad = " " * (side - len(name) - 1 - len(asked))
        near = (
            "─┐"
            if row == 0 and rows > 1 and left
            else ("─┤" if row < len(left) - 1 else ("─┘" if row < len(left) else "  "))
        )
        near = "──" if len(left) == 1 and row == 0 else near
        middle = ("▶ ", me) if row == 0 else ("  ", " " * len(me))
        far = (
            "┬─"
            if row == 0 and len(right) > 1
            else ("├─" if row < len(right) - 1 else ("└─" if row < len(right) else "  "))
        )
        far = "──" if len(right) == 1 and row == 0 else far
        target, bounds = right[row] if row < len(right) else ("", "")
        arrow = ("▶ " if target else "  ",)
        lines.append(
            Content.assemble(
                pad,
                (name, "bold" if name else ""),
                " ",
                (asked, telling.MUTED),
                (near if name else "  ", _LINE),
                (middle[0] if left else "  ", _LINE),
                (middle[1], "bold reverse" if row == 0 else ""),
                (far if target else "  ", _LINE),
                (arrow[0], _LINE),
                (target, "bold"),
                " ",
                (bounds, telling.MUTED),
            )
        )
    return lines


def _below(left: Sequence[Row], right: Sequence[Row], me: str) -> list[Content]:
    lines = [Content.styled(me, "bold reverse")]
    if right:
        lines.append(telling.heading("asks for"))
    lines += [Content.assemble(("  ▶ ", _LINE), (n, "bold"), " ", (t, telling.MUTED)) for n, t in right]
    if left:
        lines.append(telling.heading("asked for by"))
    lines += [Content.assemble(("  ◀ ", _LINE), (n, "bold"), " ", (t, telling.MUTED)) for n, t in left]
    return lines
