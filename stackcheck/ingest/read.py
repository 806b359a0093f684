"""Read one file or standard input as text, whatever it is, within a size limit."""

from __future__ import annotations

import codecs
import os
import re
import stat
import sys
from pathlib import Path
from typing import Protocol

from stackcheck.model.errors import InputError

SIZE_LIMIT = 64 << 20
STANDARD_INPUT = "-"
_SAMPLE = 64 << 10
_CONTROL_SHARE = 0.03
_FEW = 8
_CONTROLS = bytes((*range(8), *range(14, 27), *range(28, 32), 127))  # none that a terminal's log is full of
_NULS = re.compile(rb"\0+")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes | None:
        """Return up to `size` bytes; none at the end."""
        ...


def read_file(path: str | os.PathLike[str], *, limit: int = SIZE_LIMIT) -> str:
    """Return the text of a file, or of standard input for `-`; never more than `limit` bytes are read.

    UTF-8 with or without a byte order mark and UTF-16 with one are decoded; bytes that are neither become replacement
    characters. NUL separates the entries of /proc/PID/environ, so a NUL becomes a line break there and is dropped elsewhere; a log may
    hold a run of them where a machine lost power.

    Raises:
        InputError: there is no such file, it may not be read, it is a directory, device, FIFO or socket, it is larger
            than `limit`, or its bytes are no text.
    """
    if os.fspath(path) == STANDARD_INPUT:
        return _text(_bounded(sys.stdin.buffer, "standard input", limit), "standard input")
    where = _printable(os.fspath(path))
    try:
        # O_NONBLOCK: opening a FIFO must not wait for a writer; the kind is asked of the open file, not of its name.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise InputError("there is no such file", where=where, fix="check the path") from None
    except (OSError, ValueError) as fault:
        reason = (fault.strerror if isinstance(fault, OSError) else None) or "no usable path"
        raise InputError(
            f"cannot be opened ({reason})", where=where, fix="check path and permissions"
        ) from None
    try:
        return _text(_regular(descriptor, where, limit), where)
    except OSError as fault:
        raise InputError(f"cannot be read ({fault.strerror})", where=where, fix="check the file") from None
    finally:
        os.close(descriptor)


def _regular(descriptor: int, where: str, limit: int) -> bytes:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        kind = _kind(status.st_mode)
        raise InputError(
            f"is {kind}, not a file", where=where, fix="give a regular file, or - for standard input"
        )
    if status.st_size > limit:
        raise _too_large(where, limit)
    with os.fdopen(descriptor, "rb", buffering=0, closefd=False) as raw:
        return _bounded(raw, where, limit)


def _bounded(stream: _Readable, where: str, limit: int) -> bytes:
    """Read to the end, in pieces: /proc files say size 0, and a stream can be endless."""
    pieces: list[bytes] = []
    size = 0
    while piece := stream.read(1 << 20):
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise _too_large(where, limit)
    return b"".join(pieces)


def _too_large(where: str, limit: int) -> InputError:
    return InputError(
        f"is larger than {limit >> 20} MiB",
        where=where,
        fix="give the part that matters, for example with head or grep",
    )


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISDIR, "a directory"), (stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"))
    return next((name for test, name in kinds if test(mode)), "a device")


def _printable(path: str | bytes) -> str:
    text = path.decode("utf-8", "replace") if isinstance(path, bytes) else path
    return "".join(c if c.isprintable() else "?" for c in text)[:300]


def _text(data: bytes, where: str) -> str:
    if is_binary(data):
        raise InputError(
            "is a binary file, not text",
            where=where,
            fix="give a collect_env, pip freeze, log, inventory or lock (docs/reference.md)",
        )
    return decode(data)


def is_binary(data: bytes) -> bool:
    """Whether the beginning of `data` holds more control characters than any text does; a run of NULs counts as one."""
    sample = _NULS.sub(b"\0", data[:_SAMPLE])
    if data.startswith(_UTF16) or _is_environ(sample.decode("utf-8", "replace")):
        return False
    odd = len(sample) - len(sample.translate(None, _CONTROLS))
    return odd > max(_FEW, _CONTROL_SHARE * len(sample))


def decode(data: bytes) -> str:
    """Return the text of `data`."""
    if data.startswith(_UTF16):
        text = data.decode("utf-16", "replace")
    else:
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    if "\0" not in text:
        return text
    return text.replace("\0", "\n" if _is_environ(text) else "")


def _is_environ(text: str) -> bool:
    """Whether NULs separate entries as in /proc/PID/environ: every early piece is an assignment."""
    pieces = [p for p in text[:4096].split("\0")[:-1] if p][:8]
    return bool(pieces) and all("=" in p[:128] and "\n" not in p.partition("=")[0] for p in pieces)


def file_name(path: str | os.PathLike[str]) -> str:
    """Return how evidence names an input: the path as given, or `stdin`."""
    text = os.fspath(path)
    return "stdin" if text == STANDARD_INPUT else str(Path(text))
