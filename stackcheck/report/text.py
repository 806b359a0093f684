"""The report for people: what is wrong, worst first, with evidence, reason and one remedy to paste."""

from __future__ import annotations

from collections.abc import Iterator

from stackcheck.model.finding import Finding, FindingEvidence, Remedy, Report, Severity
from stackcheck.report.interface import Options
from stackcheck.report.style import (
    LONGEST_VALUE,
    NARROWEST,
    SEVERITY_PLURALS,
    Style,
    counted,
    visible,
    wrapped,
)
from stackcheck.report.wording import change_lines, shown_sources, silence, subject_text

_INDENT = " " * 10
_LONG_PATH = 30  # characters from which on a path is not said again on the next line


def render(report: Report, options: Options) -> str:
    """Return `render_report`'s text: this is what the registry asks a format for."""
    return render_report(report, options)


def render_report(report: Report, options: Options) -> str:
    """Return the findings in the form what, where, why, fix, then a summary line; nothing about what is fine unless `verbose`."""
    style = Style(options.colour, options.ascii_only)
    lines: list[str] = []
    for finding in report.findings:
        lines += [*_finding(finding, style, options), ""]
    if options.verbose:
        lines += [line for finding in report.accepted for line in _accepted(finding, options)]
        lines += [*_seen(report, style, options)]
    lines.append(_summary(report, style, options))
    return style.encode("\n".join(lines)) + "\n"


def _finding(finding: Finding, style: Style, options: Options) -> Iterator[str]:
    head = f"{finding.severity} {visible(finding.id)}: "
    title = wrapped(visible(finding.title, LONGEST_VALUE), options.width, head, " " * 4)
    title[0] = title[0].removeprefix(head)
    yield f"{style.severity(finding.severity)} {style.paint(visible(finding.id), 'bold')}: {title[0]}"
    yield from title[1:]
    yield from _evidence(finding.evidence, style, options)
    yield from _part("why", finding.why, style, options)
    yield from _part("symptom", finding.symptom, style, options)
    if finding.impact != finding.symptom and (options.verbose or not finding.why):
        yield from _part("impact", finding.impact, style, options)
    shown = finding.remedy if options.verbose else finding.remedy[:1]
    for remedy in shown:
        yield from _remedy(remedy, style, options)
    if len(finding.remedy) > len(shown):
        more = counted(len(finding.remedy) - len(shown), "other way", "other ways")
        yield _INDENT + style.paint(f"{more} with --verbose", "dim")
    if finding.consequences:
        yield from _part("causes", _folded(finding, options), style, options)
    for source in shown_sources(finding.sources):
        yield _label("source", style) + style.paint(source, "dim")


def _folded(finding: Finding, options: Options) -> str:
    """Return the consequences with their titles, or their ids alone where that would not be one line."""
    told = "; ".join(f"{c.id} {c.title}" for c in finding.consequences)
    if options.verbose or len(told) <= options.width - len(_INDENT):
        return told
    return ", ".join(dict.fromkeys(c.id for c in finding.consequences))


def _label(word: str, style: Style) -> str:
    return f"  {style.paint(word, 'dim')}{' ' * (len(_INDENT) - 2 - len(word))}"


def _part(word: str, text: str, style: Style, options: Options) -> Iterator[str]:
    if text:
        lines = wrapped(visible(text), options.width, _INDENT, _INDENT)
        yield _label(word, style) + lines[0].removeprefix(_INDENT)
        yield from lines[1:]


def _evidence(evidence: tuple[FindingEvidence, ...], style: Style, options: Options) -> Iterator[str]:
    shown = evidence if options.verbose else evidence[:5]
    before = ""
    for number, item in enumerate(shown):
        said = visible(f"{item.subject} {item.value}", LONGEST_VALUE)
        file, colon, line = item.where.rpartition(":")
        again = bool(colon) and line.isdecimal() and file == before and len(file) > _LONG_PATH
        before = file
        place = f"line {line}" if again else visible(item.where or item.method, LONGEST_VALUE)
        start = _label("where", style) if number == 0 else _INDENT
        lines = wrapped(said, options.width, _INDENT, f"{_INDENT}  ")
        beside = len(lines[-1]) + len(place) + 4 <= max(options.width, NARROWEST)
        told = style.paint(f"[{place}]", "dim") if place else ""
        lines[-1] += f"  {told}" if told and beside else ""
        yield start + lines[0].removeprefix(_INDENT)
        yield from lines[1:]
        if told and not beside:
            yield f"{_INDENT}  {told}"
    if len(evidence) > len(shown):
        yield f"{_INDENT}{style.paint(f'and {len(evidence) - len(shown)} more with --verbose', 'dim')}"


def _remedy(remedy: Remedy, style: Style, options: Options) -> Iterator[str]:
    text = remedy.text
    if remedy.proved:
        text += " (checked: the finding is gone then)"
    yield from _part("fix", text, style, options)
    yield from (f"{_INDENT}{style.paint(line, 'bold')}" for line in change_lines(remedy.run, remedy.sets))


def _accepted(finding: Finding, options: Options) -> Iterator[str]:
    yield from wrapped(
        visible(f"accepted {finding.id}: {finding.title} ({finding.accepted})"), options.width, "", "    "
    )
    yield ""


def _seen(report: Report, style: Style, options: Options) -> Iterator[str]:
    inventory = report.inventory
    for note in inventory.notes:
        yield from _part("unread", f"{note.source}: {note.text}", style, options)
    for component, observations in sorted(inventory.components.items()):
        versions = (
            ", ".join(dict.fromkeys(o.version or "version unknown" for o in observations)) or "not there"
        )
        yield from _part("seen", f"{component} {versions}", style, options)
    if inventory.notes or inventory.components:
        yield ""


def _summary(report: Report, style: Style, options: Options) -> str:
    parts = []
    for severity in Severity:
        if number := report.count(severity):
            words = counted(number, str(severity), SEVERITY_PLURALS[severity])
            looks = ("bold", "red") if severity is Severity.ERROR else ()
            parts.append(style.paint(words, *looks))
    line = ", ".join(parts) or silence(report)
    if parts and report.doubt:
        line += f"; {visible(report.doubt)}"
    if report.accepted:
        line += f", {len(report.accepted)} accepted"
    if report.unread and not options.verbose:
        line += f"; {counted(report.unread, 'thing', 'things')} could not be read, see --verbose"
    if not report.findings and not options.verbose and (seen := _judged(report)):
        line += f"; seen: {seen} (--verbose lists it)"
    subject = subject_text(report)
    return f"{subject}: {line}" if subject else line


def _judged(report: Report) -> str:
    """Return in a few words what silence is about: `8 x NVIDIA H100, 38 components`."""
    inventory = report.inventory
    there = sum(any(o.version for o in observations) for observations in inventory.components.values())
    gpu = visible(inventory.gpu_model or "")
    count = f"{inventory.gpu_count} x " if gpu and inventory.gpu_count else ""
    return ", ".join(
        [*([count + gpu] if gpu else []), *([counted(there, "component", "components")] if there else [])]
    )
