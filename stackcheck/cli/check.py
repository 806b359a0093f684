"""`stackcheck check`: a verdict on whatever people paste."""

from __future__ import annotations

import argparse

from stackcheck.cli.parser import add_matrices
from stackcheck.cli.verdict import add_verdict, deliver
from stackcheck.model.errors import InputError, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of check."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="texts, inventories or locks of one node; - is standard input",
    )
    parser.add_argument("--gpu", help="the GPU, where the texts do not say")
    parser.add_argument("--instance", help="the instance type, where the texts do not say")
    parser.add_argument(
        "--input-format", metavar="F", help="read every file as this format (docs/formats.md)"
    )
    add_verdict(parser)
    add_matrices(parser)


def run(options: argparse.Namespace) -> int:
    """Read, check, report."""
    from dataclasses import replace

    from stackcheck.catalog import open_catalog
    from stackcheck.cli.collect import read_inventory

    catalog = open_catalog(options.matrices)
    inventory = read_inventory(options.files, catalog, forced_format=options.input_format)
    if options.gpu:
        gpu = catalog.find_gpu(options.gpu)
        if gpu is None:
            near = catalog.nearest(options.gpu, catalog.gpu_ids)
            raise UsageError(
                f"unknown GPU {options.gpu!r}", fix=f"known: {', '.join(near or catalog.gpu_ids)}"
            )
        inventory = replace(inventory, gpu_model=gpu.id)
    if options.instance:
        if catalog.instance(options.instance) is None:
            near = catalog.nearest(options.instance, catalog.instance_ids)
            raise UsageError(
                f"unknown instance type {options.instance!r}",
                fix=f"known: {', '.join(near or catalog.instance_ids)}",
            )
        inventory = replace(inventory, instance=options.instance)
    recognised = bool(inventory.components or inventory.environment or inventory.facts or inventory.gpu_model)
    if not recognised and not any(t.content.strip() for t in inventory.texts):
        raise InputError(
            "nothing in it",
            where=", ".join(options.files),
            fix="give a collect_env, pip freeze, log or inventory",
        )
    return deliver(catalog, inventory, options)
