"""Reading real files without ever waiting on one: regular files only, bounded, never blocking in ``open``."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING, Callable, Union

from stackcheck_probes.interface import AbsentError, RefusedError

if TYPE_CHECKING:
    from pathlib import Path

Mapped = Union[mmap.mmap, bytes]
Read = Callable[[int, int], bytes]
"""A short read of a file: offset and size to the bytes there, fewer at its end."""
TEXT_LIMIT = 1 << 20
LIST_LIMIT = 20_000
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


def map_file(path: str) -> mmap.mmap:
    """Return the file mapped read-only; pages are read only where somebody looks."""
    fd, size = open_regular(path)
    try:
        if size == 0:
            raise RefusedError(path, "empty file")
        return mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise _refuse(path, error) from None
    except ValueError:
        raise RefusedError(path, "cannot be mapped") from None
    finally:
        os.close(fd)


@contextlib.contextmanager
def short_reads(path: str) -> Iterator[Read]:
    """Give short reads at any place of a regular file. An error while reading is an empty answer."""
    fd, _size = open_regular(path)
    pread = os.pread

    def read(offset: int, size: int) -> bytes:
        try:
            return pread(fd, size, offset)
        except (OSError, OverflowError):
            return b""

    try:
        yield read
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
        """Return the file mapped read-only."""
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
