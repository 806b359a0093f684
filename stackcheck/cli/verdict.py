"""What check and probe share: severity gate, accepted findings, report formats."""

from __future__ import annotations

import argparse
import os
import time

from stackcheck import __version__
from stackcheck.cli import streams
from stackcheck.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from stackcheck.catalog.catalog import Catalog
    from stackcheck.model.finding import Report
    from stackcheck.model.inventory import Inventory

_DIGITS = 8  # of a day without dashes; another bare number may be that of a ticket, which is a reason
FORMATS = ("text", "json", "sarif", "junit", "ctrf", "markdown", "html", "oneline", "prometheus")


def add_verdict(parser: argparse.ArgumentParser) -> None:
    """Add the flags that decide what counts and how it is shown."""
    parser.add_argument("--format", choices=FORMATS, default="text")
    parser.add_argument(
        "--fail-on",
        choices=["error", "warning", "info", "never"],
        default="error",
        help="exit 1 from this severity on",
    )
    parser.add_argument(
        "--accept",
        action="append",
        default=[],
        metavar="ID:[DATE:]REASON",
        help="live with a finding, until the day YYYY-MM-DD if one is given; it does not count meanwhile",
    )
    parser.add_argument(
        "--accept-file",
        metavar="FILE",
        help="lines of ID:[DATE:]REASON, and comments after #",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the report here; - is stdout")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="also what is fine, every source and every consequence"
    )


def deliver(catalog: Catalog, inventory: Inventory, options: argparse.Namespace) -> int:
    """Check an inventory, print or write the report, and return the exit code."""
    from stackcheck.check import check
    from stackcheck.model.kinds import Severity

    accept = accepted(options)
    report = check(catalog, inventory, accept=accept)
    _doubt(catalog, accept.keys() - {f.id for f in (*report.findings, *report.accepted)})
    text = rendered(report, options, catalog.edition)
    streams.deliver(options.output, text)
    gate = None if options.fail_on == "never" else Severity(options.fail_on)
    failing = gate is not None and any(f.severity.rank <= gate.rank for f in report.findings)
    return streams.FINDINGS if failing else streams.OK


def accepted(options: argparse.Namespace) -> dict[str, str]:
    """Return finding ids and the reasons why they are accepted; those past their day are left out.

    Raises:
        UsageError: an entry has no reason, or what looks like its date is none: it would mute a finding for ever.
        InputError: the file cannot be read.
    """
    entries = list(options.accept)
    if options.accept_file:
        from stackcheck.ingest.read import read_file

        lines = (line.strip() for line in read_file(options.accept_file).splitlines())
        entries += [line for line in lines if line and not line.startswith("#")]
    reasons: dict[str, str] = {}
    today = time.strftime("%Y-%m-%d")
    for entry in entries:
        name, _, reason = entry.partition(":")
        until, separator, rest = reason.partition(":")
        until = until.strip()
        dated = _looks_like_a_date(until) and (
            separator != "" or not until.isdigit() or len(until) == _DIGITS
        )
        if dated:
            if not _is_a_date(until):
                raise UsageError(
                    f"--accept {name.strip()[:80]}: {until[:40]!r} is no date",
                    fix="write ID:YYYY-MM-DD:REASON",
                )
            reason = rest
        if not name.strip() or not reason.strip():
            raise UsageError(
                f"--accept {entry[:80]!r} has no reason", fix="write ID:REASON or ID:YYYY-MM-DD:REASON"
            )
        if dated and until < today:
            streams.remark(f"--accept {name.strip()[:80]}: ended on {until}, so the finding counts again")
        else:
            reasons[name.strip()] = reason.strip() + (f" (until {until})" if dated else "")
    return reasons


def _looks_like_a_date(text: str) -> bool:
    """Whether the second field of an entry was meant as a day: nothing but digits and what people put between them."""
    return text != "" and not text.strip("0123456789-/. ") and any(c.isdigit() for c in text)


def _is_a_date(text: str) -> bool:
    """Whether a text is a day that exists, written YYYY-MM-DD."""
    try:
        return time.strftime("%Y-%m-%d", time.strptime(text, "%Y-%m-%d")) == text
    except ValueError:
        return False


def _doubt(catalog: Catalog, names: Iterable[str]) -> None:
    """Say on stderr which accepted ids no finding can have: a slip of the pen would accept nothing, for ever."""
    from stackcheck.catalog.meaning import meaning_of

    for name in sorted(names):
        try:
            meaning_of(catalog, name)
        except UsageError as fault:
            streams.remark(f"--accept {name[:80]}: {fault}")


def _working_directory() -> str:
    """Return the working directory, or an empty text if it is gone or the root, to which nothing is relative."""
    try:
        return os.getcwd().rstrip("/")  # noqa: PTH109 - pathlib costs more than all else that a report needs
    except OSError:
        return ""


def rendered(report: Report, options: argparse.Namespace, edition: str) -> str:
    """Return the report in the format asked for; `edition` is that of the matrices that judged."""
    from stackcheck.model.kinds import Severity
    from stackcheck.report.interface import Options

    to_file = options.output not in (None, streams.STANDARD_OUTPUT)
    chosen = Options(
        colour=streams.colour() and not to_file,
        ascii_only=not (to_file or streams.unicode()),
        width=streams.width(),
        verbose=options.verbose,
        fail_on=None if options.fail_on == "never" else Severity(options.fail_on),
        tool_version=__version__,
        data_version=edition,
        time_ms=int(time.time() * 1000),
        base=_working_directory(),
    )
    if options.format == "text":
        from stackcheck.report.text import render_report

        return render_report(report, chosen)
    from stackcheck.report.registry import renderer

    return renderer(options.format).render(report, chosen)
