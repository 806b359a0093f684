"""``stackcheck-probe``: print the inventory of this node as JSON."""

from __future__ import annotations

import argparse
import contextlib
import errno
import gc
import json
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

OK, USAGE, FAULT, INTERRUPTED = 0, 2, 3, 130
LONGEST_NUMBER = 10  # digits of a process id; Python itself refuses to read thousands
NEEDED = (3, 11)  # by the verdict
VERDICT_FLAGS = ("--format", "--fail-on", "--accept", "--accept-file", "-o", "--output", "--gpu", "--instance", "--matrices",
                 "-v", "--verbose", "--version", "explain")  # fmt: skip


class _Parser(argparse.ArgumentParser):
    """A parser whose words about wrong usage may fail to reach anybody: the status stays."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and end."""
        _say(f"{self.format_usage()}{self.prog}: error: {message}")
        raise SystemExit(USAGE)


def _say(text: str) -> None:
    """Write to standard error, if there is one that takes it."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # full, closed, closed from the start
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def _answer(text: str) -> int:
    """Write the answer at once, as images often run Python unbuffered, and return the status."""
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "it is closed")
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        pass  # whoever read us has had enough
    except OSError as error:
        _say(f"stackcheck-probe: standard output cannot be written: {error.strerror}")
        return USAGE
    return OK


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="stackcheck-probe",
        description="Print what is on this node (or in a directory) as inventory JSON. Writes nothing, needs no root.",
        epilog="exit status: 0 done, 2 wrong usage or unreadable input, 3 fault of our own, 130 interrupted",
    )
    parser.add_argument(
        "--root", default="/", metavar="DIR", help="look at an unpacked image or a captured node tree"
    )
    parser.add_argument(
        "--pid", type=_pid, metavar="N", help="look from this process: its environment, files and maps"
    )
    parser.add_argument(
        "--env-file", metavar="FILE", help="judge this environment (NAME=value lines) instead of ours"
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="PROBE", help="only these probes (comma list)"
    )
    parser.add_argument(
        "--skip", action="append", default=[], metavar="PROBE", help="all but these probes (comma list)"
    )
    parser.add_argument(
        "--timeout", type=_seconds, metavar="SECONDS", help="limit for the whole probe (default 20)"
    )
    parser.add_argument("--list", action="store_true", help="list the probes and the programs they may start")
    parser.add_argument(
        "--capture", metavar="DIR", help="write the files that the probes read, redacted, to DIR"
    )
    return parser


def _pid(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > LONGEST_NUMBER or int(text) < 1:
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


def _names(values: Sequence[str]) -> list[str]:
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def listing() -> str:
    """Return the probes and the programs they may start, one a line."""
    from stackcheck_probes.ahead import WHY
    from stackcheck_probes.commands import COMMANDS
    from stackcheck_probes.registry import PROBES

    lines = [f"{probe.name:<18} {probe.title} (at most {probe.timeout:g} s)" for probe in PROBES]
    lines += ["", "programs that may be started:"]
    lines += [f"{' '.join(command.argv) or 'python':<18} {command.why}" for command in COMMANDS]
    lines += ["", f"and one {WHY}"]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    parser = _parser()
    given = list(sys.argv[1:] if argv is None else argv)
    for argument in given:
        # before Python 3.13 argparse makes an empty list of it
        if argument.startswith("--") and argument.endswith("=--"):
            parser.error(f"argument {argument[:-3]}: expected one argument")
    arguments = parser.parse_args(given)
    if arguments.list:
        return _answer(listing() + "\n")
    from stackcheck_probes.interface import HostError
    from stackcheck_probes.inventory import UnknownProbeError, collect

    try:
        if arguments.capture:
            from stackcheck_probes.capturing import capture

            count = capture(
                arguments.root,
                arguments.capture,
                only=_names(arguments.only),
                skip=_names(arguments.skip),
                timeout=arguments.timeout,
                pid=arguments.pid,
                env_file=arguments.env_file,
                tell=lambda note: _say(f"stackcheck-probe: {note}"),
            )
            _say(f"{count} files written to {arguments.capture}")
            return OK
        result = collect(
            root=arguments.root,
            only=_names(arguments.only),
            skip=_names(arguments.skip),
            timeout=arguments.timeout,
            pid=arguments.pid,
            env_file=arguments.env_file,
        )
    except (UnknownProbeError, HostError) as error:
        _say(f"stackcheck-probe: {error}")
        return USAGE
    return _answer(json.dumps(result, indent=2) + "\n")


def entry() -> NoReturn:
    """Run as a console script: no traceback for an interrupt or a closed pipe; probes left hanging do not hold us up.

    Cyclic garbage is not collected: what is seen lives to the end, and looking through it again and again only costs time. Once all
    is written the process ends at once: threads that hang in a dead mount have no part in it, and nothing needs to be taken down.
    """
    gc.disable()
    status = FAULT
    try:
        status = main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else OK
        with contextlib.suppress(OSError, AttributeError):  # of --help
            sys.stdout.flush()
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:
        status = OK
    except Exception as error:  # noqa: BLE001  whatever it was, it is our fault and must not look like a finding
        _say(f"stackcheck-probe: internal fault: {type(error).__name__}: {error}")
    os._exit(status)


def entry_without_verdict() -> int:
    """Run where an archive holds the verdict too, on a Python that is too old for it: the inventory, and a word about it.

    Where there is a newer Python, it goes on in our place. Who asked for a report otherwise gets none rather than another document.
    """
    from stackcheck_probes.commands import go_on_with_newer_python

    go_on_with_newer_python(NEEDED)
    wanted = [word for word in sys.argv[1:] if word.split("=", 1)[0] in VERDICT_FLAGS]
    version, needed = (".".join(map(str, numbers)) for numbers in (sys.version_info[:2], NEEDED))
    if wanted:
        _say(
            f"stackcheck-probe: {wanted[0]} needs the verdict, which needs Python {needed} or newer; this is {version}: "
            "leave it out for the inventory, and give that to `stackcheck check` elsewhere"
        )
        return USAGE
    _say(
        f"stackcheck-probe: inventory only, the verdict needs Python {needed} or newer and this is {version}; "
        "give it to `stackcheck check` elsewhere"
    )
    sys.argv[1:] = [word for word in sys.argv[1:] if word != "--inventory"]
    entry()


if __name__ == "__main__":
    entry()
