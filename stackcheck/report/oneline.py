"""One line of printable ASCII, for a Slurm HealthCheckProgram, a prolog or a node health check.

The line may end up as the reason of a drained node, inside somebody's double quotes: it holds no quote, dollar, backquote or
backslash, and at most 240 characters.
"""

from __future__ import annotations

from stackcheck.model.finding import Finding, Report, Severity
from stackcheck.report.interface import Options
from stackcheck.report.style import visible

LONGEST = 240
"""Characters, without the line break."""

_UNSAFE = str.maketrans(dict.fromkeys("\"'`$\\", ""))


def render(report: Report, options: Options) -> str:  # noqa: ARG001 - the interface's signature
    """Return the line: `stackcheck: ERROR 2 warning 1: SC-2026-0001 driver ...`, or `stackcheck: OK`."""
    counts = [(s, report.count(s)) for s in Severity if report.count(s)]
    if not counts:
        line = "stackcheck: OK"
        unread = len(report.inventory.notes)
        line += f" ({unread} not readable)" if unread else ""
    else:
        words = [f"{s} {n}" for s, n in counts]
        words[0] = f"{counts[0][0].upper()} {counts[0][1]}"
        line = f"stackcheck: {' '.join(words)}: {'; '.join(map(_said, report.findings))}"
    return _plain(line) + "\n"


def _said(finding: Finding) -> str:
    return f"{finding.id} {visible(finding.title, LONGEST)}"


def _plain(text: str) -> str:
    line = visible(text).encode("ascii", "replace").decode("ascii").translate(_UNSAFE)
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."
