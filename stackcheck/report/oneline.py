"""One line of printable ASCII, for a Slurm HealthCheckProgram, a prolog or a node health check.

The line may end up as the reason of a drained node, inside somebody's double quotes: it holds no quote, dollar, backquote or
backslash, and at most 240 characters.
"""

from __future__ import annotations

import re

from stackcheck.model.finding import Finding, Report, Severity
from stackcheck.report.interface import Options
from stackcheck.report.style import visible

LONGEST = 240
"""Characters, without the line break."""

_OWNER = re.compile(r"(?<=\w)['\u2019]s\b")
"""The `'s` of an owner: without its apostrophe it would be another word, without both it is a compound."""
_UNSAFE = str.maketrans(dict.fromkeys("\"'`$\\", ""))


def render(report: Report, options: Options) -> str:  # noqa: ARG001 - the interface's signature
    """Return the line: `stackcheck: ERROR 2 warning 1: SC-2026-0001 driver ...`, `stackcheck: OK`, or UNKNOWN where silence says nothing.

    What was accepted is counted in brackets behind the first words: a muted finding must not look like none.
    """
    counts = [(s, report.count(s)) for s in Severity if report.count(s)]
    doubt = visible(report.doubt, LONGEST // 2)
    accepted = [f"{len(report.accepted)} accepted"] if report.accepted else []
    if doubt and not counts:
        line = f"stackcheck: UNKNOWN: {'; '.join([doubt, *accepted])}"
    elif not counts:
        line = "stackcheck: OK"
        unread = report.unread
        beside = [*accepted, *([f"{unread} not readable"] if unread else [])]
        line += f" ({', '.join(beside)})" if beside else ""
    else:
        words = [f"{s} {n}" for s, n in counts]
        words[0] = f"{counts[0][0].upper()} {counts[0][1]}"
        beside = [*([doubt] if doubt else []), *accepted]
        said = [f"({'; '.join(beside)})"] if beside else []
        line = f"stackcheck: {' '.join([*words, *said])}: {'; '.join(map(_said, report.findings))}"
    return _plain(line) + "\n"


def _said(finding: Finding) -> str:
    return f"{finding.id} {visible(finding.title, LONGEST)}"


def _plain(text: str) -> str:
    line = _OWNER.sub("", visible(text)).encode("ascii", "replace").decode("ascii").translate(_UNSAFE)
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."
