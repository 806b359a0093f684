"""The only writer to the terminal and the only owner of exit codes: stdout is the answer, stderr is the talk."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from stackcheck.model.errors import InputError, StackcheckError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

OK = 0
FINDINGS = 1
USAGE = 2
INTERNAL = 3
INTERRUPTED = 130
STANDARD_OUTPUT = "-"
"""What `-o` and `--export` call stdout, as FILE arguments call stdin."""
_NO = ("0", "false")


def guarded(work: Callable[[], int]) -> int:
    """Run a command; every fault becomes one line on stderr and an exit code."""
    _never_fail_to_encode()
    _remarks.clear()
    try:
        code = _finished(work)
        for text in _remarks:
            say(text)
    except StackcheckError as fault:
        say(fault.last_words)
        return fault.exit_code
    except BrokenPipeError:
        return _closed_pipe()
    except KeyboardInterrupt:
        return INTERRUPTED
    except MemoryError:
        say("out of memory; give less input")
        return USAGE
    except Exception as fault:  # noqa: BLE001 - the last line of defence: a report instead of a traceback
        return _own_fault(fault)
    return code


def _finished(work: Callable[[], int]) -> int:
    """Return the exit code of `work` once its answer has left the process; argparse's way out counts as one."""
    try:
        code = work()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else OK
    _to_stdout("")
    return code


def _never_fail_to_encode() -> None:
    """Let a terminal of another encoding show escapes where it lacks a character."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _closed_pipe() -> int:
    """End quietly: whoever read us has had enough. Exit as a program killed by SIGPIPE would not: 0."""
    _drop(sys.stdout)
    return OK


def _drop(stream: TextIO) -> None:
    """Send what is still buffered nowhere, so that the interpreter's own flush at its end cannot fail."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(devnull, stream.fileno())
    except (OSError, ValueError):
        pass  # it is no file: nothing will be flushed at the end either
    finally:
        os.close(devnull)


def _own_fault(fault: Exception) -> int:
    import traceback

    place = traceback.extract_tb(fault.__traceback__)[-1]
    where = f"{os.path.basename(place.filename)}:{place.lineno}"
    say(
        f"internal fault at {where}: {type(fault).__name__}: {str(fault)[:200]}; please report it with the command line"
    )
    if os.environ.get("STACKCHECK_TRACEBACK"):
        traceback.print_exception(fault)
    return INTERNAL


def say(text: str) -> None:
    """Write one line to stderr, without anything that could drive a terminal."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"stackcheck: {printable(text)}\n")
        sys.stderr.flush()
    except OSError:  # nobody can be told; the exit code still says it
        _drop(sys.stderr)


_remarks: list[str] = []


def remark(text: str) -> None:
    """Say something on stderr once the answer is out; a run that fails ends with its fault alone."""
    if text not in _remarks:
        _remarks.append(text)


def tell(text: str) -> None:
    """Write one line to stderr if a person reads it there; scripts are spared it."""
    if sys.stderr is not None and sys.stderr.isatty():
        say(text)


def progress(text: str) -> None:
    """Show on one line of a terminal what is being done, in place of the last such line; an empty text takes it away."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{printable(text)[: width() - 1]}")
        sys.stderr.flush()


def printable(text: str) -> str:
    """Return a text on one line, without anything that could drive a terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


def answer(text: str) -> None:
    """Write the answer to stdout.

    Raises:
        InputError: standard output is closed or its disk is full.
    """
    if sys.stdout is None:
        raise InputError("standard output is closed", fix="use -o, or open it")
    _to_stdout(text if text.endswith("\n") else f"{text}\n")


def _to_stdout(text: str) -> None:
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as fault:
        _drop(sys.stdout)
        raise InputError(
            f"standard output cannot be written: {fault.strerror or fault}", fix="free space, or use -o"
        ) from fault


def colour() -> bool:
    """Whether stdout is a terminal that wants colour; NO_COLOR and TERM=dumb are obeyed, then FORCE_COLOR, which 0 turns into a no."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    forced = os.environ.get("FORCE_COLOR", "").lower()
    return forced not in _NO if forced else _is_terminal()


def unicode() -> bool:
    """Whether stdout can write the signs outside ASCII."""
    return sys.stdout is not None and (sys.stdout.encoding or "").lower().replace("_", "-").startswith("utf")


def width() -> int:
    """Return the columns to fill: the terminal's, or 100 into a pipe."""
    if not _is_terminal():
        return 100
    try:
        return max(60, min(160, os.get_terminal_size(sys.stdout.fileno()).columns))
    except OSError:
        return 100


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def deliver(path: str | None, text: str) -> None:
    """Write an answer into the file of `-o`, or to stdout where there is none or it is called `-`.

    Raises:
        InputError: it cannot be written.
    """
    if path is None or path == STANDARD_OUTPUT:
        answer(text)
    else:
        write_file(path, text)


def write_file(path: str, text: str) -> None:
    """Write a file whole or not at all; a device, pipe or link that is already there stays one and is written into.

    Raises:
        StackcheckError: it cannot be written.
    """
    data = text.encode("utf-8", "backslashreplace")  # a lone surrogate is no reason to write nothing
    try:
        if os.path.exists(path) and not os.path.isfile(
            path
        ):  # /dev/stdout may be a pipe, which has no other name
            with open(path, "wb", buffering=0) as file:
                file.write(data)
        else:
            _replace(os.path.realpath(path), data)
    except OSError as fault:
        raise InputError(
            f"cannot be written: {fault.strerror or fault}", where=path, fix="choose another path"
        ) from fault


def _replace(path: str, data: bytes) -> None:
    """Put a whole new file in the place of `path`."""
    import tempfile

    temporary = ""
    try:
        with tempfile.NamedTemporaryFile(
            "wb", dir=os.path.dirname(path), prefix=".stackcheck-", delete=False
        ) as file:
            temporary = file.name
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
        temporary = ""
    finally:
        if temporary:
            os.unlink(temporary)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
