"""Mounts that may not answer: network and user-space file systems are asked once, in a thread that can be left behind."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import NamedTuple

from stackcheck_probes.files import LIST_LIMIT, TEXT_LIMIT, DirectFiles, Mapped, Read, read_file
from stackcheck_probes.interface import HostError, RefusedError

NETWORK = (
    "lustre",
    "nfs",
    "nfs4",
    "efs",
    "gpfs",
    "beegfs",
    "cifs",
    "smb3",
    "ceph",
    "wekafs",
    "9p",
    "afs",
    "pvfs2",
)
PATIENCE = 1.0
MOUNTS_LIMIT = 4 << 20


class Mount(NamedTuple):
    """A mount: what, where, type of file system, options."""

    source: str
    point: str
    kind: str
    options: str


def parse_mounts(text: str) -> Iterator[Mount]:
    """Yield the mounts of /proc/mounts; spaces in paths are written as octal there."""
    for line in text.splitlines():
        fields = line.split(" ")
        if len(fields) >= 4:
            yield Mount(fields[0], fields[1].replace("\\040", " "), fields[2], fields[3])


def doubtful_mounts() -> list[Mount]:
    """Return the mounts of this machine whose answer depends on somebody else."""
    try:
        text = read_file("/proc/self/mounts", MOUNTS_LIMIT).decode("utf-8", "replace")
    except HostError:
        return []
    return [mount for mount in parse_mounts(text) if mount.kind in NETWORK or mount.kind.startswith("fuse")]


class GuardedFiles(DirectFiles):
    """The files of this machine, but nothing below a mount that does not answer within a second."""

    def __init__(self, doubtful: list[Mount]) -> None:
        self._doubtful = sorted(doubtful, key=lambda mount: -len(mount.point))
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._known: dict[str, bool] = {}

    def read(self, path: str, limit: int = TEXT_LIMIT) -> bytes:
        """Return at most ``limit`` bytes of a regular file."""
        self._check(path)
        return super().read(path, limit)

    def map(self, path: str) -> Mapped:
        """Return the file mapped read-only."""
        self._check(path)
        return super().map(path)

    def reads(self, path: str) -> contextlib.AbstractContextManager[Read]:
        """Give short reads at any place of a file."""
        self._check(path)
        return super().reads(path)

    def names(self, path: str, limit: int = LIST_LIMIT) -> list[str]:
        """Return the names in a directory, sorted."""
        self._check(path)
        return super().names(path, limit)

    def exists(self, path: str) -> bool:
        """Tell whether anything is there; what cannot be asked is not."""
        return self._may(path) and super().exists(path)

    def is_dir(self, path: str) -> bool:
        """Tell whether a directory is there."""
        return self._may(path) and super().is_dir(path)

    def size(self, path: str) -> int:
        """Return the size of a regular file in bytes."""
        self._check(path)
        return super().size(path)

    def real(self, path: str) -> str:
        """Return the path with every symbolic link followed."""
        self._check(path)
        return super().real(path)

    def _may(self, path: str) -> bool:
        try:
            self._check(path)
        except RefusedError:
            return False
        return True

    def _check(self, path: str) -> None:
        for mount in self._doubtful:
            if path == mount.point or path.startswith(mount.point.rstrip("/") + "/"):
                if not self._answers(mount.point):
                    raise RefusedError(path, f"mount {mount.point} ({mount.kind}) does not answer")
                return

    def _answers(self, point: str) -> bool:
        with self._lock:
            lock = self._locks.setdefault(point, threading.Lock())
        with lock:
            if point not in self._known:
                self._known[point] = answers(point)
            return self._known[point]

    def silent(self) -> list[str]:
        """Ask every doubtful mount, all at once, and return those that do not answer."""
        points = sorted({mount.point for mount in self._doubtful})
        threads = []
        for point in points:
            thread = threading.Thread(target=self._answers, args=(point,), daemon=True)
            with contextlib.suppress(RuntimeError):  # at the limit of processes
                thread.start()
                threads.append(thread)
        for thread in threads:
            thread.join(2 * PATIENCE)
        return [point for point in points if not self._known.get(point, False)]


def answers(point: str, patience: float = PATIENCE) -> bool:
    """Tell whether a mount answers in time; the asking thread is left behind if it does not."""
    done = threading.Event()

    def ask() -> None:
        with contextlib.suppress(OSError):  # an error is an answer too
            os.lstat(point)
        done.set()

    try:
        threading.Thread(target=ask, daemon=True, name="mount-check").start()
    except RuntimeError:  # at the limit of processes: nobody can be left behind
        return False
    return done.wait(patience)
