"""Common Test Report Format, JSON.

Format: https://ctrf.io, schema of pkg:npm/ctrf@0.3.0. Statuses as in JUnit; what lies below --fail-on is `other`, with its severity as
raw status.
"""

from __future__ import annotations

import json
from typing import Any

from stackcheck.model.finding import Finding, Report
from stackcheck.report.interface import Options
from stackcheck.report.style import visible
from stackcheck.report.wording import details, place, title

SPEC = "0.0.0"


def render(report: Report, options: Options) -> str:
    """Return the document; times are the caller's, the format demands some."""
    tests = [_test(f, "failed" if options.fails(f) else "other") for f in report.findings]
    tests += [_test(f, "skipped") for f in report.accepted]
    if report.doubt:
        tests.append(
            {"name": "enough seen", "status": "skipped", "duration": 0, "message": visible(report.doubt, 200)}
        )
    if not tests:
        tests = [{"name": "no findings", "status": "passed", "duration": 0}]
    statuses = [t["status"] for t in tests]
    summary = {s: statuses.count(s) for s in ("passed", "failed", "skipped", "pending", "other")}
    tool = {"name": "stackcheck"} | ({"version": options.tool_version} if options.tool_version else {})
    body = {
        "reportFormat": "CTRF",
        "specVersion": SPEC,
        "results": {
            "tool": tool,
            "summary": {
                "tests": len(tests),
                **summary,
                "start": options.time_ms,
                "stop": options.time_ms,
            },
            "tests": tests,
            "environment": {"appName": visible(report.subject, 200) or "node"},
        },
    }
    return json.dumps(body, indent=2) + "\n"


def _test(finding: Finding, status: str) -> dict[str, Any]:
    test: dict[str, Any] = {
        "name": f"{visible(finding.id)} {title(finding)}",
        "status": status,
        "duration": 0,
        "suite": ["stackcheck", str(finding.kind)],
        "message": f"accepted: {visible(finding.accepted)}" if finding.accepted else title(finding),
        "trace": details(finding),
        "rawStatus": str(finding.severity),
        "tags": [visible(s) for s in finding.subjects],
    }
    spots = [spot for e in finding.evidence if (spot := place(e.where)) is not None]
    if spots:
        test["filePath"] = visible(spots[0].path)
        if spots[0].line:
            test["line"] = spots[0].line
    return test
