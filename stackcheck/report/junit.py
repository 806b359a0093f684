"""JUnit XML, for continuous integration that knows nothing else.

Format: the common subset that Jenkins, GitLab and GitHub readers share (https://github.com/testmoapp/junitxml). A finding at or above
--fail-on is a failure, a lesser one passes with its text as output, an accepted one is skipped with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from stackcheck.model.finding import Finding, Report
from stackcheck.report.interface import Options
from stackcheck.report.style import visible
from stackcheck.report.wording import details, title


def render(report: Report, options: Options) -> str:
    """Return the document."""
    cases = [line for f in report.findings for line in _case(f, options)]
    cases += [line for f in report.accepted for line in _skipped(f)]
    skipped = len(report.accepted)
    if report.doubt:
        skipped += 1
        cases += _doubted(report)
    if not cases:
        cases = ['    <testcase classname="stackcheck" name="no findings" time="0"/>']
    failed = sum(options.fails(f) for f in report.findings)
    counts = (
        f'tests="{max(len(report.findings) + skipped, 1)}" failures="{failed}" errors="0" '
        f'skipped="{skipped}" time="0"'
    )
    name = _attribute(visible(report.subject, 200) or "node")
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="stackcheck" {counts}>',
        f"  <testsuite name={name} {counts}>",
        *cases,
        "  </testsuite>",
        "</testsuites>",
    ]
    return "\n".join(lines) + "\n"


def _attribute(text: str) -> str:
    return f'"{escape(text)}"'


def _head(finding: Finding) -> str:
    name = _attribute(f"{visible(finding.id)} {title(finding)}")
    return f'    <testcase classname="stackcheck.{finding.kind}" name={name} time="0">'


def _case(finding: Finding, options: Options) -> Iterator[str]:
    yield _head(finding)
    body = escape(details(finding), quote=False)
    if options.fails(finding):
        yield f'      <failure type="{finding.severity}" message={_attribute(title(finding))}>{body}</failure>'
    else:
        yield f"      <system-out>{finding.severity}\n{body}</system-out>"
    yield "    </testcase>"


def _skipped(finding: Finding) -> Iterator[str]:
    yield _head(finding)
    yield f"      <skipped message={_attribute('accepted: ' + visible(finding.accepted))}/>"
    yield "    </testcase>"


def _doubted(report: Report) -> Iterator[str]:
    yield '    <testcase classname="stackcheck" name="enough seen" time="0">'
    yield f"      <skipped message={_attribute(visible(report.doubt, 200))}/>"
    yield "    </testcase>"
