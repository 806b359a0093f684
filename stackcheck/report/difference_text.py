"""Differences for people and for programs: findings, worst first, then component by component in the order of the layers, then settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stackcheck.model.difference import ComponentChange, Difference, Direction, SettingChange, Versions
from stackcheck.model.finding import Finding, finding_to_json
from stackcheck.report.style import LONGEST_VALUE, NARROWEST, Style, counted, visible, wrapped

SCHEMA = "stackcheck.diff/1"
_SIGNS = {
    Direction.NEWER: "↑",
    Direction.OLDER: "↓",
    Direction.ADDED: "+",
    Direction.REMOVED: "-",
    Direction.STATED: "?",
    Direction.UNSTATED: "?",
    Direction.CHANGED: "~",
}
_MEANINGS = {
    Direction.NEWER: "newer",
    Direction.OLDER: "older",
    Direction.ADDED: "added",
    Direction.REMOVED: "gone",
    Direction.CHANGED: "otherwise different",
    Direction.STATED: "only one side names it",
    Direction.UNSTATED: "only one side names it",
}
_LETTERS = {**_SIGNS, Direction.NEWER: ">", Direction.OLDER: "<"}


_FEW = 3
"""Facts of one side alone that are told one by one: a probe that could not look takes dozens with it."""


def render_difference(
    difference: Difference,
    *,
    colour: bool = False,
    width: int = 100,
    ascii_only: bool = False,
    verbose: bool = False,
) -> str:
    """Return a difference as text that ends with a newline; `verbose` writes out every fact that only one side has."""
    style = Style(colour, ascii_only)
    return style.encode("\n".join(_lines(difference, style, max(width, NARROWEST), verbose=verbose))) + "\n"


def _lines(difference: Difference, style: Style, width: int, *, verbose: bool) -> Iterator[str]:
    yield style.paint(visible(f"- {difference.before}", LONGEST_VALUE), "red")
    yield style.paint(visible(f"+ {difference.after}", LONGEST_VALUE), "green")
    if difference.same:
        yield "the same, as far as both say"
        return
    if difference.checked:
        yield from _findings("findings that are new", difference.appeared, style, width)
        yield from _findings("findings that are gone", difference.gone, style, width)
    yield from _components(difference.components, style)
    yield from _legend(difference.components, style)
    yield from _settings(difference.settings, style, width, verbose=verbose)
    if difference.checked:
        yield ""
        parts = counted(len(difference.components), "component", "components")
        parts += f" and {counted(len(difference.settings), 'setting', 'settings')} differ"
        came_and_went = f"{len(difference.appeared)} new, {len(difference.gone)} gone"
        yield f"{parts}; findings: {came_and_went}, {difference.remaining} on both sides"


def _components(changes: Sequence[ComponentChange], style: Style) -> Iterator[str]:
    name_width = max((len(visible(c.component, 40)) for c in changes), default=0)
    before_width = min(max((len(_versions(c.before)) for c in changes), default=0), 40)
    layer = None
    for change in changes:
        if change.layer != layer:
            layer = change.layer
            yield ""
            yield style.paint(visible(layer or "other", 40), "bold")
        sign = (_LETTERS if style.ascii_only else _SIGNS)[change.direction]
        arrow = "->" if style.ascii_only else "→"
        name = visible(change.component, 40)
        before = _versions(change.before)
        yield f"  {sign} {name:<{name_width}}  {before:<{before_width}} {arrow} {_versions(change.after)}"


def _legend(changes: Sequence[ComponentChange], style: Style) -> Iterator[str]:
    """Yield what the signs above mean, those that occur."""
    signs = _LETTERS if style.ascii_only else _SIGNS
    found = {c.direction for c in changes}
    told = dict.fromkeys(f"{signs[d]} {meaning}" for d, meaning in _MEANINGS.items() if d in found)
    if told:
        yield ""
        yield style.paint("   ".join(told), "dim")


def _versions(versions: Versions) -> str:
    if versions is None:
        return "not named"
    return visible(", ".join(versions), 120) if versions else "not there"


def _settings(changes: Sequence[SettingChange], style: Style, width: int, *, verbose: bool) -> Iterator[str]:
    if changes:
        yield ""
        yield style.paint("settings", "bold")
    arrow = "->" if style.ascii_only else "→"
    came = [c for c in changes if c.is_fact and c.before is None]
    went = [c for c in changes if c.is_fact and c.after is None]
    folded = [] if verbose else [many for many in (went, came) if len(many) > _FEW]
    left_out = {c.subject for many in folded for c in many}
    for change in changes:
        if change.subject not in left_out:
            before, after = (_value(v) for v in (change.before, change.after))
            yield from wrapped(
                f"{visible(change.subject, 80)}  {before} {arrow} {after}", width, "  ", "      "
            )
    for many in folded:
        some = ", ".join(visible(c.subject.removeprefix("fact:"), 40) for c in many[:_FEW])
        way = f"not there {arrow} there" if many is came else f"there {arrow} not there"
        yield style.paint(f"  {len(many)} facts: {way} ({some} ..., all with --verbose)", "dim")


def _value(value: str | None) -> str:
    return "not there" if value is None else visible(value, 120) or '""'


def _findings(title: str, findings: Sequence[Finding], style: Style, width: int) -> Iterator[str]:
    if findings:
        yield ""
        yield style.paint(title, "bold")
    for finding in sorted(findings, key=lambda f: f.severity.rank):
        head = f"{finding.severity} {visible(finding.id)}: "
        lines = wrapped(visible(finding.title, LONGEST_VALUE), width - 2, head, "    ")
        lines[0] = lines[0].removeprefix(head)
        yield f"  {style.severity(finding.severity)} {style.paint(visible(finding.id), 'bold')}: {lines[0]}"
        yield from (f"  {line}" for line in lines[1:])


def difference_to_json(difference: Difference) -> dict[str, Any]:
    """Return the JSON object of a difference; `null` versions say that a side does not speak of the component."""
    return {
        "schema": SCHEMA,
        "before": difference.before,
        "after": difference.after,
        "same": difference.same,
        "components": [
            {
                "component": c.component,
                "name": c.name,
                "layer": c.layer or None,
                "before": None if c.before is None else list(c.before),
                "after": None if c.after is None else list(c.after),
                "direction": str(c.direction),
            }
            for c in difference.components
        ],
        "settings": [
            {"subject": s.subject, "before": s.before, "after": s.after} for s in difference.settings
        ],
        "findings": {
            "appeared": [finding_to_json(f) for f in difference.appeared],
            "gone": [finding_to_json(f) for f in difference.gone],
            "remaining": difference.remaining,
        }
        if difference.checked
        else None,
    }
