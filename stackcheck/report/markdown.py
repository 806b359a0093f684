"""Markdown to paste into an issue: a summary line, then one folded block per finding.

Format: GitHub Flavored Markdown, https://github.github.com/gfm/. Observed values stand in code spans; running text is escaped, and
neither mentions anybody nor refers to an issue.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackcheck.model.finding import Finding, Remedy, Report, Severity
from stackcheck.report.interface import Options
from stackcheck.report.style import LONGEST_VALUE, SEVERITY_PLURALS, counted, visible
from stackcheck.report.wording import change_lines, link, openable, silence, subject_text

_MARKUP = re.compile(r"([\\`*_\[\]|~])")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "@<!-- -->", "#": "#<!-- -->"}


def render(report: Report, options: Options) -> str:
    """Return the text."""
    counts = [counted(n, str(s), SEVERITY_PLURALS[s]) for s in Severity if (n := report.count(s))]
    subject = escaped(subject_text(report)) or "node"
    lines = [f"### stackcheck: {subject}: {', '.join(counts) or escaped(silence(report))}", ""]
    if counts and report.doubt:
        lines += [escaped(f"Beware: {report.doubt}."), ""]
    for finding in report.findings:
        lines += [*_block(finding), ""]
    if report.accepted:
        lines += ["Accepted:", "", *(_accepted(f) for f in report.accepted), ""]
    if report.inventory.notes:
        lines += ["Not read:", ""]
        lines += [f"- {code(f'{n.source}: {n.text}')}" for n in report.inventory.notes] + [""]
    if options.verbose:
        lines += [*_seen(report), ""]
    return "\n".join(lines[:-1]) + "\n"


def escaped(text: str) -> str:
    """Return one line of text that Markdown shows as it is."""
    return "".join(_HTML.get(c, c) for c in _MARKUP.sub(r"\\\1", visible(text)))


def code(text: str) -> str:
    """Return a code span; its fence is longer than any run of backquotes inside."""
    line = visible(text, LONGEST_VALUE) or " "
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def _block(finding: Finding) -> Iterator[str]:
    is_open = " open" if finding.severity is Severity.ERROR else ""
    summary = f"<b>{finding.severity}</b> {_html(finding.id)}: {_html(finding.title[:LONGEST_VALUE])}"
    yield f"<details{is_open}><summary>{summary}</summary>"
    yield ""
    for item in finding.evidence:
        place = item.where or item.method
        yield f"- seen: {code(f'{item.subject} {item.value}')}" + (f" in {code(place)}" if place else "")
    if finding.why:
        yield f"- why: {escaped(finding.why)}"
    if finding.impact:
        yield f"- impact: {escaped(finding.impact)}"
    for remedy in finding.remedy:
        yield from _remedy(remedy)
    if finding.consequences:
        yield "- causes: " + ", ".join(code(c.id) for c in finding.consequences)
    for source in filter(openable, finding.sources):
        yield f"- source: {f'<{link(source)}>' if link(source) else code(source)}"
    yield ""
    yield "</details>"


def _html(text: str) -> str:
    """Return text for inside an HTML element, where Markdown is not read but mentions are."""
    return "".join(_HTML.get(c, c) for c in visible(text))


def _remedy(remedy: Remedy) -> Iterator[str]:
    yield f"- fix: {escaped(remedy.text)}"
    lines = change_lines(remedy.run, remedy.sets)
    if lines:
        longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
        fence = "`" * max(3, longest + 1)
        yield from (f"  {line}" for line in (f"{fence}sh" if remedy.run else f"{fence}text", *lines, fence))


def _accepted(finding: Finding) -> str:
    return f"- {code(finding.id)} {escaped(finding.title)}: {escaped(finding.accepted)}"


def _seen(report: Report) -> Iterator[str]:
    yield "<details><summary>Components seen</summary>"
    yield ""
    for component, observations in sorted(report.inventory.components.items()):
        versions = ", ".join(dict.fromkeys(code(o.version) for o in observations if o.version))
        yield f"- {escaped(component)}: {versions or ('version unknown' if observations else 'not there')}"
    yield ""
    yield "</details>"
