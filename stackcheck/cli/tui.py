"""`stackcheck tui`: explore it all in the terminal, or in a browser."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from functools import partial

from stackcheck.cli.parser import add_matrices
from stackcheck.model.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of tui."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="texts, inventories or a captured directory of one node, opened on the Node screen",
    )
    parser.add_argument(
        "--web", action="store_true", help="serve it to browsers on this machine (extra: web)"
    )
    parser.add_argument("--port", type=int, metavar="N", help="port of --web, 8765 if not given")
    parser.add_argument(
        "--host", metavar="ADDRESS", help="address of --web; other than loopback lets other machines in"
    )
    add_matrices(parser)


def run(options: argparse.Namespace) -> int:
    """Run the app.

    Raises:
        UsageError: flags do not fit together, or there is no terminal.
    """
    if (options.port or options.host) and not options.web:
        raise UsageError("--port and --host belong to --web", fix="add --web")
    if options.port is not None and not 0 < options.port < 65536:
        raise UsageError(f"no port {options.port}", fix="take one from 1024 to 65535")
    served = "TEXTUAL_DRIVER" in os.environ  # textual-serve runs us without a terminal and says so here
    if not (options.web or served or (sys.stdin.isatty() and sys.stdout.isatty())):
        raise UsageError(
            "no terminal to draw on", fix="run it in a terminal, or use --web, `show` or `resolve`"
        )
    # Imported here and not first in the app's workers: two of them at once ended in a deadlock of import locks.
    from stackcheck.catalog import open_catalog
    from stackcheck_tui.app import run as run_app

    return run_app(
        partial(open_catalog, options.matrices),
        files=options.files,
        web=options.web,
        host=options.host,
        port=options.port,
        command=shlex.join(_again(options)),
    )


def _again(options: argparse.Namespace) -> list[str]:
    """Return the command that starts the same app in a terminal."""
    command = [sys.executable, "-m", "stackcheck", "tui"]
    if options.matrices:
        command += ["--matrices", options.matrices]
    return [*command, *options.files]
