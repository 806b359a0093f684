"""SARIF 2.1.0, for code-scanning views.

Format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html. A view needs for every result a physical location and a
fingerprint that survives moved lines; files below the working directory are told relative to it, as views of a repository want them; evidence that names no file stands as a logical location at the subject of the check.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from stackcheck.model.finding import Finding, FindingEvidence, Report, Severity
from stackcheck.report.interface import Options
from stackcheck.report.style import LONGEST_VALUE, visible
from stackcheck.report.wording import (
    Place,
    details,
    evidence_text,
    link,
    place,
    remedy_lines,
    shown_sources,
    title,
)

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_PROBLEMS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "recommendation"}


def render(report: Report, options: Options) -> str:
    """Return the log."""
    findings = (*report.findings, *report.accepted)
    rules = {f.id: f for f in reversed(findings)}
    order = list(dict.fromkeys(f.id for f in findings))
    driver: dict[str, Any] = {"name": "stackcheck", "rules": [_rule(rules[i]) for i in order]}
    if options.tool_version:
        driver["version"] = options.tool_version
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "automationDetails": {"id": f"stackcheck/{quote(report.subject, safe='')[:200]}"},
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": _notes(report)}],
        "results": [_result(f, order.index(f.id), report, options.base) for f in findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _notes(report: Report) -> list[dict[str, Any]]:
    doubt = (
        [{"level": "warning", "message": {"text": visible(report.doubt, LONGEST_VALUE)}}]
        if report.doubt
        else []
    )
    return doubt + [
        {"level": "note", "message": {"text": visible(f"{n.source}: {n.text}", LONGEST_VALUE) or "-"}}
        for n in report.inventory.notes
    ]


def _rule(finding: Finding) -> dict[str, Any]:
    steps = [line for r in finding.remedy for line in remedy_lines(r)]
    sources = shown_sources(finding.sources)
    rule: dict[str, Any] = {
        "id": finding.id,
        "name": "".join(part.capitalize() for part in str(finding.kind).split("-")),
        "shortDescription": {"text": title(finding) or finding.id},
        "fullDescription": {"text": visible(finding.why) or title(finding) or finding.id},
        "defaultConfiguration": {"level": _LEVELS[finding.severity]},
        "help": {
            "text": "\n".join([*steps, *(f"source: {s}" for s in sources)]) or finding.id,
            "markdown": _help_markdown(steps, sources) or finding.id,
        },
        "properties": {
            "tags": list(dict.fromkeys((str(finding.kind), *finding.subjects))),
            "problem.severity": _PROBLEMS[finding.severity],
        },
    }
    address = next(filter(None, map(link, finding.sources)), "")
    if address:
        rule["helpUri"] = address
    return rule


def _help_markdown(steps: list[str], sources: list[str]) -> str:
    """Return headings over indented code blocks: nothing observed is read as markup there."""
    parts = []
    for heading, lines in (("What to do", steps), ("Sources", sources)):
        if lines:
            parts += [f"**{heading}**", "", *(f"    {line}" for line in lines), ""]
    return "\n".join(parts[:-1])


def _result(finding: Finding, index: int, report: Report, base: str) -> dict[str, Any]:
    text = f"{title(finding)}\n{details(finding)}".strip() or finding.id
    result: dict[str, Any] = {
        "ruleId": finding.id,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": _locations(finding.evidence, report, base),
        "partialFingerprints": {"stackcheckFinding/v1": fingerprint(finding)},
        "properties": {"kind": str(finding.kind), "subjects": list(finding.subjects)},
    }
    if finding.consequences:
        result["properties"]["consequences"] = [c.id for c in finding.consequences]
    if finding.accepted:
        result["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": visible(finding.accepted)}
        ]
    return result


def fingerprint(finding: Finding) -> str:
    """Return what stays the same while the same fault is there: its id, subjects and observed values, not their places."""
    values = sorted({(e.subject, e.value) for e in finding.evidence})
    text = json.dumps([finding.id, list(finding.subjects), values])
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:32]


def _locations(evidence: Iterable[FindingEvidence], report: Report, base: str) -> list[dict[str, Any]]:
    """One location per file and line, the first evidence first; the subject of the check if no evidence names a file."""
    found: dict[Place, dict[str, Any]] = {}
    for item in evidence:
        spot = place(item.where)
        if spot is not None and spot not in found:
            found[spot] = _location(spot, evidence_text(item), base)
    named = dict.fromkeys(visible(e.subject, LONGEST_VALUE) for e in evidence)
    logical = [{"fullyQualifiedName": name} for name in named if name]
    if not found:
        spot = Place(report.subject or report.inventory.subject or "node")
        found[spot] = _location(spot, "", base)
    locations = list(found.values())
    if logical:
        locations[0]["logicalLocations"] = logical
    return locations


def _location(spot: Place, message: str, base: str) -> dict[str, Any]:
    told = spot.path.removeprefix(f"{base.rstrip('/')}/") if base else spot.path
    path = quote(told[:1000].encode("utf-8", "replace"), safe="/")
    physical: dict[str, Any] = {
        "artifactLocation": {"uri": f"file://{path}" if path.startswith("/") else path},
        "region": {"startLine": spot.line or 1},
    }
    location: dict[str, Any] = {"physicalLocation": physical}
    if message:
        location["message"] = {"text": message}
    return location
