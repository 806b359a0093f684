"""Reading real files without ever waiting on one: regular files only, bounded, never blocking in ``open``."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Callable, Union

from stackcheck_probes.interface import AbsentError, RefusedError

if TYPE_CHECKING:
    from pathlib import Path

Mapped = Union["Pages", bytes]
Read = Callable[[int], bytes]
"""A short read of a file: offset to the ``SHORT`` bytes there, fewer at its end. Raises what ``pread`` does."""
SHORT = 256  # as cheap as 64 bytes, and some images of GPU code are as small
TEXT_LIMIT = 1 << 20
LIST_LIMIT = 20_000
BLOCK, KEPT_BLOCKS = 1 << 14, 64
SEARCHED = 1 << 20  # bytes at a time
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO, errno.ESRCH, errno.ELOOP)


def _refuse(path: str, error: OSError | ValueError) -> Exception:
    if isinstance(error, ValueError):  # a NUL in it, or a letter that the names of files cannot have here
        return AbsentError(path, "no name of a file")
    reason = (error.strerror or type(error).__name__).lower()
    return AbsentError(path, reason) if error.errno in _GONE else RefusedError(path, reason)


def open_regular(path: str) -> tuple[int, int]:
    """Return a descriptor of the regular file ``path`` and its size in bytes; the caller closes it.

    A FIFO or a device in the way is refused, not waited for: ``O_NONBLOCK`` keeps ``open`` from blocking.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        raise _refuse(path, error) from None
    try:
        info = os.fstat(fd)
    except OSError as error:
        os.close(fd)
        raise _refuse(path, error) from None
    if not stat.S_ISREG(info.st_mode):
        os.close(fd)
        raise RefusedError(path, "not a regular file")
    return fd, info.st_size


def read_file(path: str, limit: int = TEXT_LIMIT) -> bytes:
    """Return at most ``limit`` bytes of a regular file (files of /proc and /sys say size 0, so read to the end)."""
    fd, size = open_regular(path)
    chunks: list[bytes] = []
    left = limit
    step = max(1 << 16, size + 1)  # one read for a file that tells its size, and one that finds the end
    try:
        while left > 0:
            chunk = os.read(fd, min(left, step))
            if not chunk:
                break
            chunks.append(chunk)
            left -= len(chunk)
    except OSError as error:
        raise _refuse(path, error) from None
    finally:
        os.close(fd)
    return b"".join(chunks)


class Pages:
    """The bytes of a file, read in blocks where somebody looks.

    A mapping would be the same to those who look, but kills the process where the file was cut off meanwhile, where the disk cannot
    read it or its server is gone. Here such a place is empty.
    """

    def __init__(self, fd: int, size: int) -> None:
        self._fd = fd
        self._size = size
        self._blocks: dict[int, bytes] = {}

    def __del__(self) -> None:
        os.close(self._fd)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        start, stop, _step = part.indices(self._size)
        first = start // BLOCK
        if stop <= (first + 1) * BLOCK:
            block = self._blocks.get(first)
            if block is None:
                if len(self._blocks) >= KEPT_BLOCKS:
                    self._blocks.clear()
                block = self._blocks[first] = self._read(first * BLOCK, BLOCK)
            return block[start - first * BLOCK : max(0, stop - first * BLOCK)]
        return self._read(start, stop - start)

    def find(self, wanted: bytes, start: int, stop: int) -> int:
        """Return where these bytes first stand in a range, or -1."""
        stop = min(stop, self._size)
        while start < stop:
            end = min(stop, start + SEARCHED)
            found = self[start:end].find(wanted)
            if found >= 0:
                return start + found
            start = end if end == stop else end - len(wanted) + 1
        return -1

    def _read(self, start: int, size: int) -> bytes:
        parts: list[bytes] = []
        with contextlib.suppress(OSError):
            while size > 0:
                part = os.pread(self._fd, size, start)
                if not part:
                    break
                parts.append(part)
                start, size = start + len(part), size - len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def map_file(path: str) -> Pages:
    """Return the content of a file, which is read only where somebody looks."""
    fd, size = open_regular(path)
    if size == 0:
        os.close(fd)
        raise RefusedError(path, "empty file")
    return Pages(fd, size)


@contextlib.contextmanager
def short_reads(path: str) -> Iterator[Read]:
    """Give short reads at any place of a regular file."""
    fd, _size = open_regular(path)
    try:
        yield partial(os.pread, fd, SHORT)
    finally:
        os.close(fd)


def list_directory(path: str, limit: int = LIST_LIMIT) -> list[str]:
    """Return the names in a directory, sorted; at most ``limit`` of them, in directory order, when there are more."""
    names: list[str] = []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) >= limit:
                    break
    except (OSError, ValueError) as error:
        raise _refuse(path, error) from None
    return sorted(names)


def _is_there(path: str) -> bool:
    try:
        return os.access(path, os.F_OK)
    except ValueError:
        return False


class DirectFiles:
    """The files of this machine, under their own paths. See ``host.FileSystem`` for the contract."""

    def read(self, path: str, limit: int = TEXT_LIMIT) -> bytes:
        """Return at most ``limit`` bytes of a regular file."""
        return read_file(path, limit)

    def map(self, path: str) -> Mapped:
        """Return the content of a file of any size, read only where it is looked at."""
        return map_file(path)

    def reads(self, path: str) -> contextlib.AbstractContextManager[Read]:
        """Give short reads at any place of a file."""
        return short_reads(path)

    def names(self, path: str, limit: int = LIST_LIMIT) -> list[str]:
        """Return the names in a directory, sorted."""
        return list_directory(path, limit)

    def exists(self, path: str) -> bool:
        """Tell whether anything is there."""
        return _is_there(path)

    def is_dir(self, path: str) -> bool:
        """Tell whether a directory is there."""
        return _is_there(f"{path}/.")

    def size(self, path: str) -> int:
        """Return the size of a regular file in bytes."""
        fd, size = open_regular(path)
        os.close(fd)
        return size

    def real(self, path: str) -> str:
        """Return the path with every symbolic link followed."""
        try:
            return os.path.realpath(path)
        except (OSError, ValueError) as error:
            raise _refuse(path, error) from None

    def local(self, path: str) -> Path:
        """Return the path itself, if it is a regular file."""
        fd, _size = open_regular(path)
        os.close(fd)
        from pathlib import Path  # one rare caller; pathlib alone takes a tenth of the start-up time

        return Path(path)
