"""What a finding id means, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stackcheck.model.meaning import Meaning
from stackcheck.report.condition_text import condition_lines
from stackcheck.report.sources_text import source_line, source_to_json
from stackcheck.report.style import NARROWEST, Style, visible, wrapped
from stackcheck.report.wording import blanks, change_lines, openable

SCHEMA = "stackcheck.explain/1"
_INDENT = " " * 11


def render_meaning(
    meaning: Meaning, *, colour: bool = False, width: int = 100, ascii_only: bool = False
) -> str:
    """Return the explanation of a finding id as text that ends with a newline."""
    style = Style(colour, ascii_only)
    return style.encode("\n".join(_lines(meaning, style, max(width, NARROWEST)))) + "\n"


def _lines(meaning: Meaning, style: Style, width: int) -> Iterator[str]:
    severities = style.dot.join(style.severity(s) for s in meaning.severities)
    yield f"{style.paint(visible(meaning.id), 'bold')}  {severities}{style.dot}{meaning.kind}"
    yield from wrapped(visible(blanks(meaning.title)), width, "  ", "  ")
    yield ""
    yield from _part("symptom", blanks(meaning.symptom), style, width)
    yield from _part("impact", blanks(meaning.impact), style, width)
    yield from _part("why", blanks(meaning.why), style, width)
    yield from _block("fires", _when(meaning), style, width)
    if meaning.grade is not None:
        solver = "; resolve keeps away from it" if meaning.serves_solver else "; only check looks for it"
        yield from _part("grade", f"{meaning.grade}{solver}", style, width)
    if meaning.subjects:
        yield from _part("blames", ", ".join(meaning.subjects), style, width)
    for remedy in meaning.remedies:
        yield from _part("fix", blanks(remedy.text), style, width)
        yield from (
            _INDENT + style.paint(blanks(line), "bold") for line in change_lines(remedy.run, remedy.sets)
        )
    yield from _part("causes", ", ".join(meaning.causes), style, width)
    yield from _part("due to", ", ".join(meaning.caused_by), style, width)
    yield from _part("data", meaning.origin, style, width)
    yield from _block("sources", [source_line(s) for s in meaning.sources if openable(s.ref)], style, width)


def _when(meaning: Meaning) -> list[str]:
    """Return the condition in words, one line each."""
    lines = list(meaning.fires)
    if meaning.when is not None:
        lines += ["when", *(f"  {line}" for line in condition_lines(meaning.when))]
    if meaning.unless is not None:
        lines += ["unless", *(f"  {line}" for line in condition_lines(meaning.unless))]
    if meaning.require is not None:
        lines += ["and this does not hold", *(f"  {line}" for line in condition_lines(meaning.require))]
    return lines


def _label(word: str, style: Style) -> str:
    return f"  {style.paint(word, 'dim')}{' ' * (len(_INDENT) - 2 - len(word))}"


def _part(word: str, text: str, style: Style, width: int) -> Iterator[str]:
    if text:
        yield from _block(word, [text], style, width)


def _block(word: str, lines: list[str], style: Style, width: int) -> Iterator[str]:
    first = True
    for line in lines:
        depth = _INDENT + " " * (len(line) - len(line.lstrip()))
        for piece in wrapped(visible(line), width, depth, f"{depth}  "):
            yield _label(word, style) + piece.removeprefix(_INDENT) if first else piece
            first = False


def meaning_to_json(meaning: Meaning) -> dict[str, Any]:
    """Return the JSON object of `stackcheck explain --format json`; conditions are told in words, as lines."""
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "id": meaning.id,
        "title": meaning.title,
        "kind": str(meaning.kind),
        "severities": [str(s) for s in meaning.severities],
        "grade": str(meaning.grade) if meaning.grade else None,
        "subjects": list(meaning.subjects),
        "symptom": meaning.symptom or None,
        "impact": meaning.impact or None,
        "why": meaning.why or None,
        "fires": list(meaning.fires),
        "when": list(condition_lines(meaning.when)) if meaning.when else None,
        "unless": list(condition_lines(meaning.unless)) if meaning.unless else None,
        "require": list(condition_lines(meaning.require)) if meaning.require else None,
        "remedy": [{"text": r.text, "set": dict(r.sets), "run": r.run or None} for r in meaning.remedies],
        "causes": list(meaning.causes),
        "caused_by": list(meaning.caused_by),
        "serves_solver": meaning.serves_solver,
        "origin": meaning.origin or None,
        "sources": [source_to_json(s) for s in meaning.sources],
    }
    return body
