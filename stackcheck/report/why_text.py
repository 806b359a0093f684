"""Why a stack holds a component in this version, and why not a newer one: for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stackcheck.model.explanation import Explanation, NotTaken, Reason, Verdict
from stackcheck.model.release import Source
from stackcheck.report.sources_text import Footnotes
from stackcheck.report.style import NARROWEST, Style, counted, visible, wrapped

SCHEMA = "stackcheck.why/1"
_MOST_VERSIONS = 8  # names of one group that are written out
_MOST_GROUPS = 12
_HEADINGS = {
    Verdict.EXCLUDED: "impossible here, whatever else is chosen",
    Verdict.GIVEN: "not with what is chosen first",
    Verdict.LATER: "possible, but preferred less",
}


def render_explanation(
    explanation: Explanation,
    *,
    colour: bool = False,
    width: int = 100,
    ascii_only: bool = False,
    every: bool = False,
) -> str:
    """Return an explanation as text that ends with a newline; `every` writes out all versions."""
    style = Style(colour, ascii_only)
    return style.encode("\n".join(_lines(explanation, style, max(width, NARROWEST), every))) + "\n"


def _lines(explanation: Explanation, style: Style, width: int, every: bool) -> Iterator[str]:
    notes = Footnotes()
    yield from _head(explanation, style)
    forcing = [r for r in explanation.reasons if r.forces]
    others = [r for r in explanation.reasons if not r.forces]
    yield from _reasons("forced by" if forcing else "", forcing, notes, style, width)
    yield from _reasons("which goes with" if forcing else "because", others, notes, style, width)
    pin = explanation.pin
    if pin is not None and pin.accepts and ("," in pin.accepts or not pin.accepts.startswith("==")):
        yield from wrapped(
            visible(f"as far as the facts say, {pin.accepts} would do as well"), width, "  ", "    "
        )
    for caveat in pin.caveats if pin is not None else ():
        yield from wrapped(visible(caveat), width, "  caveat: ", "    ")
    for title, groups in (
        ("why not newer", explanation.newer),
        ("why not what is preferred", explanation.preferred),
    ):
        yield from _passed_over(title, groups, notes, style, width, every)
    if pin is not None and explanation.component != "image" and not explanation.newer:
        yield ""
        yield "no newer release is known"
    for note in explanation.notes:
        yield from wrapped(visible(note), width, "note: ", "      ")
    yield ""
    yield from notes.lines(style, width)


def _head(explanation: Explanation, style: Style) -> Iterator[str]:
    pin = explanation.pin
    if pin is not None:
        build = f" ({pin.build})" if pin.build and pin.build not in pin.version else ""
        what = f"{style.paint(visible(f'{explanation.component} {pin.version}{build}'), 'bold')}  {style.sign(pin.grade)} {pin.grade}"
    elif explanation.component == "image":
        what = style.paint(visible(f"image {explanation.image or 'none'}"), "bold")
    else:
        what = f"{style.paint(visible(explanation.component), 'bold')} is not pinned in this stack"
    yield what
    target = explanation.target
    parts = [target.gpu_name or target.gpu, target.instance or "", target.arch]
    made = f"policy {explanation.policy}, matrices {explanation.data_version}"
    yield style.paint(visible(f"{style.dot.join(p for p in parts if p)}  {made}"), "dim")
    if explanation.requirements:
        yield style.paint(visible(f"asked for: {', '.join(explanation.requirements)}", 300), "dim")
    yield ""


def _marks(reason: Reason, notes: Footnotes) -> str:
    rules = f" ({', '.join(reason.rules)})" if reason.rules else ""
    marks = notes.marks(Source(s) for s in reason.sources)
    return f"{rules} {marks}".rstrip()


def _reasons(
    title: str, reasons: Iterable[Reason], notes: Footnotes, style: Style, width: int
) -> Iterator[str]:
    told = list(reasons)
    if told:
        yield f"  {style.paint(title, 'dim')}"
    for reason in told:
        yield from wrapped(visible(f"{reason.text}{_marks(reason, notes)}"), width, "    ", "      ")


def _passed_over(
    title: str, groups: Sequence[NotTaken], notes: Footnotes, style: Style, width: int, every: bool
) -> Iterator[str]:
    if not groups:
        return
    yield ""
    yield style.paint(title, "bold")
    shown = groups if every else groups[:_MOST_GROUPS]
    for group in shown:
        versions = group.versions if every else group.versions[:_MOST_VERSIONS]
        more = len(group.versions) - len(versions)
        names = ", ".join(versions) + (f" and {more} older" if more else "")
        verdict = _HEADINGS[group.verdict]
        yield from wrapped(visible(f"{names}: {verdict}"), width, "  ", "    ")
        for reason in group.reasons:
            yield from wrapped(visible(f"{reason.text}{_marks(reason, notes)}"), width, "    ", "      ")
        if group.given:
            yield from wrapped(visible(f"given {', '.join(group.given)}"), width, "    ", "      ")
        if group.ask:
            cost = f" gives {', '.join(group.cost)}" if group.cost else " asks for it"
            yield from wrapped(visible(f"{group.ask}{cost}"), width, "    ", "      ")
    if len(shown) < len(groups):
        yield style.paint(
            f"  and {counted(len(groups) - len(shown), 'more group', 'more groups')} with --all", "dim"
        )


def explanation_to_json(explanation: Explanation) -> dict[str, Any]:
    """Return the JSON object of an explanation."""
    pin, target = explanation.pin, explanation.target
    return {
        "schema": SCHEMA,
        "target": {"gpu": target.gpu, "instance": target.instance, "arch": target.arch},
        "component": explanation.component,
        "name": explanation.name,
        "version": pin.version if pin else None,
        "build": (pin.build or None) if pin else None,
        "grade": str(pin.grade) if pin else None,
        "origin": pin.origin if pin else None,
        "accepts": (pin.accepts or None) if pin else None,
        "caveats": list(pin.caveats) if pin else [],
        "image": explanation.image or None,
        "why": [_reason_to_json(r) for r in explanation.reasons],
        "newer": [_not_taken_to_json(n) for n in explanation.newer],
        "preferred": [_not_taken_to_json(n) for n in explanation.preferred],
        "requirements": list(explanation.requirements),
        "policy": explanation.policy,
        "matrices": explanation.data_version,
        "notes": list(explanation.notes),
    }


def _reason_to_json(reason: Reason) -> dict[str, Any]:
    return {
        "kind": reason.kind,
        "text": reason.text,
        "forces": reason.forces,
        "rules": list(reason.rules),
        "sources": list(reason.sources),
    }


def _not_taken_to_json(group: NotTaken) -> dict[str, Any]:
    return {
        "versions": list(group.versions),
        "verdict": str(group.verdict),
        "because": [
            {"kind": r.kind, "text": r.text, "rules": list(r.rules), "sources": list(r.sources)}
            for r in group.reasons
        ],
        "given": list(group.given),
        "cost": list(group.cost),
        "ask": group.ask or None,
    }
