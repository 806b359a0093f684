"""Write the pages that are made from the program itself: docs/reference.md.

Run `python docs/generate.py` after changing a command, a format or the data's lists; a test compares.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from stackcheck.catalog import open_catalog
from stackcheck.catalog.relations import RELATIONS
from stackcheck.cli.parser import parser_for
from stackcheck.cli.registry import COMMANDS
from stackcheck.export.registry import EXPORTERS
from stackcheck.ingest.registry import INGESTERS
from stackcheck.model.kinds import Grade, Kind, Severity
from stackcheck.report.registry import FORMATS as REPORT_FORMATS

PAGE = Path(__file__).with_name("reference.md")


def reference() -> str:
    """Return the text of docs/reference.md."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# Reference"
    yield ""
    yield "Made by `python docs/generate.py`; do not edit."
    yield ""
    yield "## Commands"
    for command in COMMANDS:
        parser = parser_for(command)
        yield from ("", f"### {command.name}", "", "```", parser.format_help().rstrip(), "```")
        for inner in _inner(parser):
            name = inner.prog.removeprefix("stackcheck ")
            yield from ("", f"#### {name}", "", "```", inner.format_help().rstrip(), "```")
    yield from _table(
        "Exports (`resolve --export`)", ("name", "what"), ((e.name, e.title) for e in EXPORTERS)
    )
    yield from _table(
        "Report formats (`check --format`)", ("name", "what"), ((f.name, f.title) for f in REPORT_FORMATS)
    )
    yield from _table(
        "Texts that are read (`check`)", ("format", "what"), ((f.format, f.title) for f in INGESTERS)
    )
    yield from _table("Words", ("what", "values"), _words())
    catalog = open_catalog(environ={})
    yield from _table(
        "GPUs",
        ("id", "name", "capability"),
        ((g.id, g.name, str(g.attributes.get("capability", "?"))) for g in catalog.gpus()),
    )
    yield from _table(
        "Components",
        ("id", "name", "scope", "layer"),
        ((c.id, c.name, c.scope, c.layer) for c in catalog.components()),
    )


def _inner(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parsers of the kinds or actions below a command."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to look at a parser
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            yield from action.choices.values()


def _words() -> Iterator[tuple[str, str]]:
    yield "kinds of finding", ", ".join(f"`{k}`" for k in Kind)
    yield "severities", ", ".join(f"`{s}`" for s in Severity)
    yield "grades, best first", ", ".join(f"`{g}`" for g in Grade)
    yield "relations of the rule language", ", ".join(f"`{r}`" for r in RELATIONS)


def _table(title: str, head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield from ("", f"## {title}", "", f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}")
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def main(arguments: list[str]) -> None:
    """Write the page; any argument but --help is wrong usage, and neither writes anything."""
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args(arguments)
    PAGE.write_text(reference(), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.name}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
