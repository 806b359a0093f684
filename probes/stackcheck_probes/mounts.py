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
MAX_LINKS = 40
LONGEST_PATH = 4096
MOUNTS_LIMIT = 4 << 20
_ESCAPED = (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\043", "#"), ("\\134", "\\"))


class Mount(NamedTuple):
    """A mount: what, where, type of file system, options."""

    source: str
    point: str
    kind: str
    options: str


def parse_mounts(text: str) -> Iterator[Mount]:
    """Yield the mounts of /proc/mounts; white space and backslashes in paths are written as octal there."""
    for line in text.split("\n"):
        fields = line.split(" ")
        if len(fields) >= 4:
            point = fields[1]
            for written, meant in _ESCAPED if "\\" in point else ():
                point = point.replace(written, meant)
            yield Mount(fields[0], point, fields[2], fields[3])


def doubtful_mounts(table: str = "/proc/self/mounts") -> list[Mount]:
    """Return the mounts of this machine, or of another table, whose answer depends on somebody else."""
    try:
        text = read_file(table, MOUNTS_LIMIT).decode("utf-8", "surrogateescape")
    except HostError:
        return []
    return [mount for mount in parse_mounts(text) if mount.kind in NETWORK or mount.kind.startswith("fuse")]


class Guard:
    """The doubtful mounts of a file system, below ``base``: each is asked once, when somebody first wants to go there."""

    def __init__(self, doubtful: list[Mount], base: str = "") -> None:
        self._doubtful = sorted(doubtful, key=lambda mount: -len(mount.point))
        self._base = base
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._known: dict[str, bool] = {}

    def check(self, path: str) -> None:
        """Raise ``RefusedError`` for a path at or below a mount that does not answer; links in it are not followed."""
        for mount in self._doubtful:
            if path == mount.point or path.startswith(mount.point.rstrip("/") + "/"):
                if not self._answers(mount.point):
                    raise RefusedError(path, f"mount {mount.point} ({mount.kind}) does not answer")
                return

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

    def _answers(self, point: str) -> bool:
        with self._lock:
            lock = self._locks.setdefault(point, threading.Lock())
        with lock:
            if point not in self._known:
                self._known[point] = answers(self._base + point)
            return self._known[point]


class GuardedFiles(DirectFiles):
    """The files of this machine, but nothing at or below a mount that does not answer within a second, through links neither."""

    def __init__(self, doubtful: list[Mount]) -> None:
        self.guard = Guard(doubtful)
        self._followed: dict[str, str] = {}

    def read(self, path: str, limit: int = TEXT_LIMIT) -> bytes:
        """Return at most ``limit`` bytes of a regular file."""
        self.check(path)
        return super().read(path, limit)

    def map(self, path: str) -> Mapped:
        """Return the content of a file of any size, read only where it is looked at."""
        self.check(path)
        return super().map(path)

    def reads(self, path: str) -> contextlib.AbstractContextManager[Read]:
        """Give short reads at any place of a file."""
        self.check(path)
        return super().reads(path)

    def names(self, path: str, limit: int = LIST_LIMIT) -> list[str]:
        """Return the names in a directory, sorted."""
        self.check(path)
        return super().names(path, limit)

    def exists(self, path: str) -> bool:
        """Tell whether anything is there; what cannot be asked is not."""
        return self._may(path) and super().exists(path)

    def is_dir(self, path: str) -> bool:
        """Tell whether a directory is there."""
        return self._may(path) and super().is_dir(path)

    def size(self, path: str) -> int:
        """Return the size of a regular file in bytes."""
        self.check(path)
        return super().size(path)

    def real(self, path: str) -> str:
        """Return the path with every symbolic link followed."""
        self.check(path)
        return super().real(path)

    def _may(self, path: str) -> bool:
        try:
            self.check(path)
        except RefusedError:
            return False
        return True

    def check(self, path: str) -> None:
        """Go the way to a path link by link, asking each mount before it is touched."""
        if len(path) > LONGEST_PATH:
            return  # nothing can be there
        directory, _slash, name = path.rstrip("/").rpartition("/")
        known = self._followed.get(directory)
        if known is None:
            known = self._followed[directory] = self._follow("", directory)
        self._follow(known, name)

    def _follow(self, done: str, way: str) -> str:
        """Return where a way leads from a directory; as it stands from where there is nothing."""
        todo = way.split("/")[::-1]
        links = 0
        while todo:
            part = todo.pop()
            if part in ("", "."):
                continue
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            here = f"{done}/{part}"
            self.guard.check(here)
            try:
                target = os.readlink(here)  # noqa: PTH115  pathlib is a tenth of the start-up time
            except (OSError, ValueError):
                done = here
                continue
            links += 1
            if links > MAX_LINKS:
                break
            if target.startswith("/"):
                done = ""
            todo += target.split("/")[::-1]
        return done


def reach(path: str) -> None:
    """Raise ``RefusedError`` if the way to a path of this machine leads over a mount that does not answer."""
    doubtful = doubtful_mounts()
    if doubtful:
        with contextlib.suppress(
            FileNotFoundError
        ):  # the working directory is gone, and with it a relative path
            GuardedFiles(doubtful).check(os.path.abspath(path))  # noqa: PTH100


def inner_guard(root: str, pid: int | None = None) -> Guard | None:
    """Return a guard over the mounts below a directory; with ``pid``, over those that this process has below its root."""
    if pid is not None:
        doubtful, base = doubtful_mounts(f"/proc/{pid}/mounts"), root
    else:
        base = os.path.realpath(root)
        doubtful = [mount._replace(point=mount.point[len(base) :]) for mount in doubtful_mounts()
                    if base != "/" and mount.point.startswith(base + "/")]  # fmt: skip
    return Guard(doubtful, base) if doubtful else None


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
