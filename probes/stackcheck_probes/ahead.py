"""Work that a second process of ours does meanwhile: reading headers of libraries takes as long as all else together.

The second process is a copy of this one (``fork``, without ``exec``): it starts no program, writes nothing but lines of JSON into a
pipe, and ends with its work. It can only save time: what it has not begun when somebody needs it is done here, and so is what it
did not deliver, because it could not be started, was killed or hangs in a dead mount.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import threading
from collections.abc import Iterable
from typing import Any, Callable
from zlib import crc32

WHY = "copy of ourselves that reads headers of libraries meanwhile; it starts no program"
PATIENCE = 2.0  # seconds without a line until the other process is given up
CHUNK = 1 << 16
SLOTS = 1 << 16
_KILL = 9  # as everywhere; the module of signals takes half a millisecond to import
Unit = tuple[str, Callable[[], Any]]
"""A piece of work: its key, and what returns its result, any JSON value."""


class Claims:
    """Which pieces of work somebody has begun, in memory that both processes see.

    No lock is needed: if both begin one at the same moment, or if two keys share a slot, work is done twice or later than it could
    be, and nothing worse.
    """

    def __init__(self) -> None:
        self._taken = mmap.mmap(-1, SLOTS)

    def claim(self, key: str) -> bool:
        """Begin a piece of work; tell whether nobody had."""
        slot = crc32(key.encode("utf-8", "surrogateescape")) % SLOTS
        free = not self._taken[slot]
        self._taken[slot] = 1
        return free


class Ahead:
    """Results by key as they come from the other process."""

    def __init__(self, pid: int, pipe: int, claims: Claims) -> None:
        self._pid = pid
        self._pipe = pipe
        self._claims = claims
        self._lock = threading.Lock()
        self._open = True
        self._rest = b""
        self._results: dict[str, Any] = {}

    def holds(self, key: str) -> bool:
        """Tell whether there is a result under this key; if not, the caller is to work it out.

        Waits for a piece that is at work, as long as the other process keeps delivering.
        """
        if key in self._results:
            return True
        if self._claims.claim(key):
            return False
        with self._lock:
            while key not in self._results and self._open:
                self._read()
        return key in self._results

    def result(self, key: str) -> Any:
        """Return a result that ``holds`` said to be there."""
        return self._results[key]

    def end(self) -> None:
        """End the other process, whatever it does."""
        with self._lock:
            self._close()

    def _read(self) -> None:
        import select  # nobody who works alone needs it

        ready, _, _ = select.select([self._pipe], [], [], PATIENCE)
        data = os.read(self._pipe, CHUNK) if ready else b""
        if not data:
            self._close()
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            key, value = json.loads(line)
            self._results[key] = value

    def _close(self) -> None:
        if self._open:
            self._open = False
            os.close(self._pipe)
            with contextlib.suppress(OSError):
                os.kill(self._pid, _KILL)  # it has ended, or is not worth waiting for
                if os.waitpid(self._pid, os.WNOHANG) == (0, 0):
                    # one that hangs in a dead mount goes when the mount does
                    threading.Thread(target=os.waitpid, args=(self._pid, 0), daemon=True).start()


def start(units: Callable[[], Iterable[Unit]]) -> Ahead | None:
    """Start a second process that does ``units``; None where there is but one processor or where it could harm.

    A copy of a process with several threads may find locks taken that nobody will ever release.
    """
    if threading.active_count() > 1 or not hasattr(os, "fork") or _processors() < 2:
        return None
    claims = Claims()
    source, sink = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(source)
        os.close(sink)
        return None
    if pid:
        os.close(sink)
        return Ahead(pid, source, claims)
    try:
        for descriptor in {source, 0, 1, 2} - {sink}:  # who reads our output must not wait for this process
            with contextlib.suppress(OSError):
                os.close(descriptor)
        _serve(units(), claims, sink)
    finally:
        os._exit(0)  # nothing of what we were copied from is ours to flush or to take down


def _serve(units: Iterable[Unit], claims: Claims, sink: int) -> None:
    for key, work in units:
        if claims.claim(key):
            line = json.dumps([key, work()], separators=(",", ":")).encode() + b"\n"
            while line:
                line = line[os.write(sink, line) :]


def _processors() -> int:
    """Return how many processors we may use."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1
