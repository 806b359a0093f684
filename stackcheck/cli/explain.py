"""`stackcheck explain`: what a finding id means, its cause and its remedy."""

from __future__ import annotations

import argparse

from stackcheck.cli import output, streams
from stackcheck.cli.parser import add_matrices


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of explain."""
    parser.add_argument(
        "finding",
        metavar="FINDING-ID",
        help="an id as check prints it: SC-2026-0001, driver-below-cuda-family-floor, gpu-b200-torch, requires-vllm; "
        "its first words are enough where they mean one only",
    )
    output.add_format(parser)
    add_matrices(parser)


def run(options: argparse.Namespace) -> int:
    """Look the id up and tell."""
    from stackcheck.catalog.meaning import completed, meaning_of
    from stackcheck.cli.archive import catalog_for
    from stackcheck.report.meaning_text import meaning_to_json, render_meaning

    catalog = catalog_for(options.matrices)
    meaning = meaning_of(catalog, completed(catalog, options.finding))
    output.deliver(
        options, lambda: render_meaning(meaning, **output.looks()), lambda: meaning_to_json(meaning)
    )
    return streams.OK
