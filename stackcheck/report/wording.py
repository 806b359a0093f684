"""The plain-text phrases of a finding that several formats share; all of them on one line and without control characters."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from stackcheck.model.finding import Finding, FindingEvidence, Remedy, Report
from stackcheck.report.style import LONGEST_VALUE, visible, visible_lines

_LINE = re.compile(r"(?P<path>.+?):(?P<line>[1-9]\d{0,8})(?::\d+)?\Z", re.DOTALL)
_BLANK = re.compile(r"\{([A-Za-z][A-Za-z0-9_.:/-]*)\}")
_PATH = re.compile(r"/|[^\s()]*[./][^\s()]*\Z")


class Place(NamedTuple):
    """A place in a file; `line` 0 stands for the whole file."""

    path: str
    line: int = 0


def place(where: str) -> Place | None:
    """Return the file a `where` names (`collect_env.txt:14`, `node.json#/gpu`, `/proc/x`), or None if it names something else."""
    text, _, _ = where.partition("#")
    match = _LINE.match(text)
    path, line = (match["path"], int(match["line"])) if match else (text, 0)
    if path in ("-", "<stdin>"):
        return Place("stdin", line)
    return Place(path, line) if path and (line or _PATH.match(path)) else None


def silence(report: Report) -> str:
    """Return what a report without findings says: silence is no good news where little was seen."""
    if not report.doubt:
        return "no findings"
    return visible(report.doubt if report.doubt.startswith("nothing") else f"no findings, but {report.doubt}")


def title(finding: Finding) -> str:
    """Return what was found, in one line."""
    return visible(finding.title, LONGEST_VALUE)


def evidence_text(item: FindingEvidence) -> str:
    """Return one observation with its place: `driver 550.54.15 (collect_env.txt:14)`."""
    said = visible(f"{item.subject} {item.value}", LONGEST_VALUE)
    source = visible(item.where or item.method, LONGEST_VALUE)
    return f"{said} ({source})" if source else said


def set_text(subject: str, value: object) -> str:
    """Return one change of a remedy as one would type it: `driver >=580.65.06`, `export NCCL_PROTO=...`, `unset NCCL_PROTO`.

    Empty for facts of the node, services and limits: what to do there is said in the remedy's sentence.
    """
    prefix, colon, name = subject.partition(":")
    if colon and prefix != "env":
        return ""
    if colon:
        told = f"unset {name}" if value is None else f"export {name}={shlex.quote(str(value))}"
    else:
        told = f"without {subject}" if value in (None, False) else f"{subject} {value}"
    return visible(told, LONGEST_VALUE)


def change_lines(run: str, sets: Mapping[str, object]) -> list[str]:
    """Return the command of a remedy, or its changes, a line each."""
    return visible_lines(run) if run else [line for s, v in sets.items() if (line := set_text(s, v))]


def remedy_lines(remedy: Remedy) -> list[str]:
    """Return what to do: the sentence, then the command or the changes, indented."""
    return [visible(remedy.text), *(f"  {line}" for line in change_lines(remedy.run, remedy.sets))]


def details(finding: Finding) -> str:
    """Return everything about a finding but its title, as plain lines."""
    lines = [f"seen: {evidence_text(e)}" for e in finding.evidence]
    lines += [f"why: {visible(finding.why)}"] if finding.why else []
    lines += [f"impact: {visible(finding.impact)}"] if finding.impact else []
    for remedy in finding.remedy:
        first, *rest = remedy_lines(remedy)
        lines += [f"fix: {first}", *rest]
    lines += [f"causes: {visible(c.id)} {title(c)}" for c in finding.consequences]
    lines += [f"source: {s}" for s in shown_sources(finding.sources)]
    return "\n".join(lines)


def subject_text(report: Report) -> str:
    """Return what was judged: a node, or the first of the texts with how many more there were; empty if nobody said."""
    subject = visible(report.subject or report.inventory.subject, 120)
    more = len(report.inventory.texts) - 1
    return f"{subject} and {more} more" if subject and more > 0 else subject


def openable(source: str) -> bool:
    """Whether a person can follow a source: a web address or a purl; keys of a table and numbers of an index lead nowhere."""
    return source.startswith(("https://", "http://", "pkg:"))


def shown_sources(sources: Iterable[str]) -> list[str]:
    """Return the sources that a person can follow, each once, on one line."""
    return [visible(s, LONGEST_VALUE) for s in dict.fromkeys(sources) if openable(s)]


def link(source: str) -> str:
    """Return a source if it is a plain web address, else an empty text; nothing else may become a link."""
    return (
        source if re.fullmatch(r"https?://[!-~]{1,2000}", source) and not set(source) & set("<>\"'`") else ""
    )


def blanks(text: str) -> str:
    """Return a rule's text with the places that a node fills in as `<nccl>`: braces look like a fault of ours."""
    return _BLANK.sub(r"<\1>", text)
