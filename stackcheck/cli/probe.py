"""`stackcheck probe`: what is on this node, and the verdict of check on it."""

from __future__ import annotations

import argparse
import os

from stackcheck.cli import streams
from stackcheck.cli.parser import add_matrices
from stackcheck.cli.verdict import add_verdict, deliver
from stackcheck.model.errors import InputError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_LONGEST_NUMBER = 10  # digits of a process id; Python itself refuses to read thousands


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of probe."""
    parser.add_argument(
        "--root", default="/", metavar="DIR", help="look at an unpacked image or a captured node tree"
    )
    parser.add_argument(
        "--pid", type=_pid, metavar="N", help="look from this process: its variables and maps"
    )
    parser.add_argument(
        "--env-file", metavar="FILE", help="judge this environment (NAME=value lines) instead of our own"
    )
    parser.add_argument("--gpu", help="the GPU, where none is seen: an image is judged for this one")
    parser.add_argument("--instance", help="the instance type, where none is seen")
    parser.add_argument(
        "--only", action="append", default=[], metavar="PROBE", help="only these probes (comma list)"
    )
    parser.add_argument(
        "--skip", action="append", default=[], metavar="PROBE", help="all but these probes (comma list)"
    )
    parser.add_argument("--list", action="store_true", help="list the probes and the programs they may start")
    parser.add_argument(
        "--timeout", type=_seconds, metavar="SECONDS", help="limit for the whole probe (default 20)"
    )
    parser.add_argument(
        "--inventory", action="store_true", help="print what was observed as JSON, without a verdict"
    )
    parser.add_argument(
        "--capture", metavar="DIR", help="write the files that the probes read, redacted, to a new directory"
    )
    add_verdict(parser)
    add_matrices(parser)


def _pid(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > _LONGEST_NUMBER or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no process id")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no positive number of seconds")
    return value


def run(options: argparse.Namespace) -> int:
    """Collect, then capture, print or check."""
    if options.list:
        from stackcheck_probes.__main__ import listing

        streams.answer(listing())
        return streams.OK
    if options.root != "/" and options.pid is not None:
        raise UsageError("--root and --pid exclude each other", fix="a tree has no processes: leave one out")
    if options.pid is not None and not os.access(f"/proc/{options.pid}", os.F_OK):
        raise InputError(f"there is no process {options.pid}", fix="name one that runs")
    if (options.capture or options.inventory) and options.format not in ("text", "json"):
        asked = "--capture writes files" if options.capture else "--inventory prints JSON"
        raise UsageError(
            f"{asked} and no verdict, so not --format {options.format}",
            fix="leave one of them out, or give the inventory to `stackcheck check`",
        )
    if options.capture and options.inventory:
        raise UsageError("--capture and --inventory exclude each other", fix="leave one out")
    if options.capture:
        return _capture(options)
    from stackcheck.cli.look import begin

    begun = begin(
        root=options.root,
        only=_names(options.only),
        skip=_names(options.skip),
        timeout=options.timeout,
        pid=options.pid,
        env_file=options.env_file,
    )
    if options.inventory:
        body = begun.inventory()
        _require_something(body, options)
        return _deliver_inventory(body, options)
    # all that is needed for the verdict, while the second process looks
    import stackcheck.check.verdict
    import stackcheck.report.text  # noqa: F401
    from stackcheck.cli.archive import catalog_for
    from stackcheck.cli.collect import inventory_of, with_target

    catalog = catalog_for(options.matrices)
    body = begun.inventory()
    _require_something(body, options)
    inventory = with_target(inventory_of(body, catalog), catalog, options.gpu, options.instance)
    return deliver(catalog, inventory, options)


def _require_something(body: dict[str, Any], options: argparse.Namespace) -> None:
    """Make sure that a tree holds something of a node: a wrong directory must not look healthy.

    Raises:
        UsageError: the time was over before anything was seen.
        InputError: not one component or package was seen.
    """
    from stackcheck.model.inventory import CUT_OFF, SOME_PROBES

    chosen = any(str(note["text"]).startswith(SOME_PROBES) for note in body["notes"])
    if options.root != "/" and not chosen and not any(body["components"].values()) and not body["packages"]:
        late = sum(str(note["text"]).startswith(CUT_OFF) for note in body["notes"])
        if late:
            raise UsageError(
                f"--timeout: the time was too short, {late} probes did not finish and nothing was seen",
                fix="give it more seconds (default 20)",
            )
        raise InputError(
            "nothing of a node was found there",
            where=options.root,
            fix="name the root of an unpacked image or captured node",
        )


def _names(values: list[str]) -> list[str]:
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def _deliver_inventory(body: dict[str, Any], options: argparse.Namespace) -> int:
    import json

    text = json.dumps(body, indent=2) + "\n"
    streams.deliver(options.output, text)
    return streams.OK


def _capture(options: argparse.Namespace) -> int:
    """Write the tree of a node, and say how much it was.

    Raises:
        UsageError: a name is no probe.
        InputError: a path cannot be read or written.
    """
    from stackcheck_probes import capture
    from stackcheck_probes.interface import HostError
    from stackcheck_probes.inventory import UnknownProbeError

    try:
        count = capture(
            options.root,
            options.capture,
            only=_names(options.only),
            skip=_names(options.skip),
            timeout=options.timeout,
            pid=options.pid,
            env_file=options.env_file,
            tell=streams.remark,
        )
    except UnknownProbeError as fault:
        raise UsageError(str(fault), fix="see `stackcheck probe --list`") from fault
    except HostError as fault:
        raise InputError(fault.reason, where=fault.subject, fix="check the path") from fault
    except OSError as fault:
        raise InputError(
            f"cannot be written: {fault.strerror or fault}", where=options.capture, fix="name a new directory"
        ) from fault
    streams.answer(f"{count} files written to {streams.printable(options.capture)}")
    return streams.OK
