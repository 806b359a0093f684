"""`stackcheck check`: a verdict on whatever people paste."""

from __future__ import annotations

import argparse

from stackcheck.cli.parser import add_matrices
from stackcheck.cli.verdict import add_verdict, deliver


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of check."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="texts, inventories, reports or locks of one node; - is standard input",
    )
    from stackcheck.cli.image_check import add_image

    add_image(parser)
    parser.add_argument("--gpu", help="the GPU, where the texts do not say")
    parser.add_argument("--instance", help="the instance type, where the texts do not say")
    parser.add_argument(
        "--input-format", metavar="F", help="read every file as this format (docs/reference.md)"
    )
    add_verdict(parser)
    add_matrices(parser)


def run(options: argparse.Namespace) -> int:
    """Read, check, report."""
    from stackcheck.cli.collect import read_inventory, require_understood, with_target
    from stackcheck.cli.data import open_data
    from stackcheck.model.errors import UsageError
    from stackcheck.model.inventory import Inventory

    catalog = open_data(options.matrices)
    if not options.files and not options.image:
        raise UsageError("nothing to check", fix="name a FILE, - for standard input, or --image")
    read = Inventory()
    if options.image:
        from stackcheck.cli.image_check import image_inventory

        read = image_inventory(options, catalog)
    if options.files:
        texts = read_inventory(options.files, catalog, forced_format=options.input_format)
        require_understood(texts, ", ".join(options.files), any_text=not _is_document(options.input_format))
        read = texts.merged(read)
    return deliver(catalog, with_target(read, catalog, options.gpu, options.instance), options)


def _is_document(name: str | None) -> bool:
    """Whether a format is a document of its own, whose lines can be nothing else."""
    from stackcheck.ingest.registry import find

    found = find(name) if name else None
    return found is not None and found.whole
