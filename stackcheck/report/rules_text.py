"""The table of rules and advisories, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stackcheck.model.rule import Rule
from stackcheck.report.style import Style
from stackcheck.report.tables import table
from stackcheck.report.wording import blanks


def render_rules(
    rules: Sequence[Rule], others: int, *, colour: bool = False, ascii_only: bool = False
) -> str:
    """Return a table of rules as text that ends with a newline; `others` is how many were left out."""
    style = Style(colour, ascii_only)
    rows = [(r.id, str(r.severity), str(r.kind), blanks(r.title)) for r in rules]
    lines = list(table(("id", "severity", "kind", "title"), rows, style)) if rows else ["no advisories"]
    if others:
        lines.append(f"and {others} rules with --all; `stackcheck explain ID` tells more")
    return style.encode("\n".join(lines)) + "\n"


def rule_to_json(rule: Rule) -> dict[str, Any]:
    """Return the JSON object of a rule in a list."""
    return {
        "id": rule.id,
        "severity": str(rule.severity),
        "kind": str(rule.kind),
        "title": rule.title,
        "subjects": list(rule.subjects),
        "advisory": rule.is_advisory,
    }
