"""`stackcheck diff`: what changed between two locks, images, inventories or pasted texts, and which findings came and went."""

from __future__ import annotations

import argparse
import os

from stackcheck.cli import output, streams
from stackcheck.cli.parser import add_matrices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stackcheck.catalog.catalog import Catalog
    from stackcheck.model.inventory import Inventory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of diff."""
    for name in ("before", "after"):
        parser.add_argument(
            name,
            metavar=name.upper(),
            help="a lock, inventory, report, captured node or text (- is standard input), or an image as repository:tag",
        )
    parser.add_argument("--gpu", help="the GPU of both sides, where they do not say")
    parser.add_argument("--instance", help="the instance type of both sides, where they do not say")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="write out every fact that only one side has"
    )
    parser.add_argument("--no-check", action="store_true", help="only what changed, no findings")
    output.add_format(parser)
    add_matrices(parser)
    parser.epilog = (
        "exit codes: 0 the same; 1 different; 2 wrong usage or unreadable input; 3 a fault of our own"
    )


def run(options: argparse.Namespace) -> int:
    """Read both sides, check both, and tell what differs."""
    from stackcheck.catalog.difference import difference
    from stackcheck.check import check
    from stackcheck.cli.collect import with_target
    from stackcheck.cli.data import open_data
    from stackcheck.model.errors import UsageError
    from stackcheck.report.difference_text import difference_to_json, render_difference

    if options.before == options.after == "-":
        raise UsageError("both sides are standard input", fix="write one into a file")
    catalog = open_data(options.matrices)
    sides = [
        with_target(_side(catalog, name), catalog, options.gpu, options.instance, keep=True)
        for name in (options.before, options.after)
    ]
    before, after = sides
    told = difference(
        catalog,
        before,
        after,
        names=(options.before, options.after),
        reports=None if options.no_check else (check(catalog, before), check(catalog, after)),
    )
    output.deliver(
        options,
        lambda: render_difference(told, **output.looks(), verbose=options.verbose),
        lambda: difference_to_json(told),
    )
    return streams.OK if told.same else streams.FINDINGS


def _side(catalog: Catalog, name: str) -> Inventory:
    """Return the inventory of a file, of standard input, or of an image.

    Raises:
        UsageError: it is neither a file nor a known image.
        InputError: the file cannot be read, or nothing in it is understood.
    """
    from stackcheck.catalog.difference import image_inventory
    from stackcheck.catalog.names import image_named
    from stackcheck.cli.collect import read_inventory, require_understood
    from stackcheck.model.errors import UsageError

    if name == "-" or os.path.lexists(name):
        inventory = read_inventory([name], catalog)
        require_understood(inventory, name)
        return inventory
    try:
        return image_inventory(image_named(catalog, name))
    except UsageError as fault:
        raise UsageError(f"{name[:80]!r} is neither a file nor a known image", fix=fault.fix) from fault
