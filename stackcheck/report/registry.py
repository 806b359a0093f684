"""All report formats, in the order in which help shows them."""

from __future__ import annotations

from stackcheck.model.errors import UsageError
from stackcheck.report.interface import Format

FORMATS: tuple[Format, ...] = (
    Format(
        "text",
        "for people: findings worst first, each with evidence, reason and remedy",
        ".txt",
        "stackcheck.report.text",
    ),
    Format(
        "json",
        "for programs: one JSON document with inventory, findings and summary",
        ".json",
        "stackcheck.report.json_document",
    ),
    Format("sarif", "SARIF 2.1.0, for code-scanning views", ".sarif", "stackcheck.report.sarif"),
    Format("junit", "JUnit XML, for continuous integration", ".xml", "stackcheck.report.junit"),
    Format("ctrf", "Common Test Report Format, for test dashboards", ".ctrf.json", "stackcheck.report.ctrf"),
    Format(
        "markdown", "Markdown to paste into an issue, details folded", ".md", "stackcheck.report.markdown"
    ),
    Format("html", "one self-contained page, good to print", ".html", "stackcheck.report.html_page"),
    Format(
        "oneline",
        "one line of ASCII, for a Slurm prolog, HealthCheckProgram or NHC",
        ".line",
        "stackcheck.report.oneline",
    ),
    Format(
        "prometheus",
        "Prometheus metrics, for the textfile collector of the node exporter",
        ".prom",
        "stackcheck.report.prometheus",
    ),
)


def renderer(name: str) -> Format:
    """Return the format of that name.

    Raises:
        UsageError: there is none; the message names the nearest.
    """
    for known in FORMATS:
        if known.name == name:
            return known
    from difflib import get_close_matches

    names = [known.name for known in FORMATS]
    near = get_close_matches(name, names, n=1) or names
    raise UsageError(f"no report format {name[:40]!r}", fix=f"try {', '.join(near)}")
