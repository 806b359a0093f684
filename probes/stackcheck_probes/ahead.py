"""Work that a second process of ours does meanwhile: reading headers of libraries takes as long as all else together.

The second process is a copy of this one (``fork``, without ``exec``): it starts no program, writes nothing but lines of JSON into a
pipe, and ends with its work, or with us. It can only save time: what it has not begun when somebody needs it is done here, and so is what it
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

    def __init__(self, pid: int, pipe: int, tie: int, claims: Claims) -> None:
        self._pid = pid
        self._pipe = pipe
        self._tie = tie
        self._claims = claims
        self._lock = threading.Lock()
        self._open = True
        self._rest = b""
        self._results: dict[str, Any] = {}
        self._own: set[str] = set()

    def holds(self, key: str) -> bool:
        """Tell whether there is a result under this key; if not, the caller is to work it out.

        Waits for a piece that is at work, as long as the other process keeps delivering.
        """
        if key in self._results:
            return True
        if key in self._own:
            return False
        if self._claims.claim(key):
            self._own.add(key)
            return False
        while key not in self._results and self._open:
            with self._lock:
                if key not in self._results and self._open:
                    self._read()
        return key in self._results

    def result(self, key: str) -> Any:
        """Return a result that ``holds`` said to be there."""
        return self._results[key]

    def end(self) -> None:
        """End the other process, whatever it does."""
        if not self._lock.acquire(blocking=False):
            self._kill()  # somebody waits for it, and so would we
            self._lock.acquire()
        try:
            self._close()
        finally:
            self._lock.release()

    def _read(self) -> None:
        import select  # nobody who works alone needs it

        poll = select.poll()  # ``select`` itself refuses descriptors above 1023
        poll.register(self._pipe, select.POLLIN)
        data = os.read(self._pipe, CHUNK) if poll.poll(1000 * PATIENCE) else b""
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
            os.close(self._tie)
            if self._kill():
                with contextlib.suppress(RuntimeError):  # no thread to be had: it stays until we end
                    threading.Thread(target=_reap, args=(self._pid,), daemon=True).start()

    def _kill(self) -> bool:
        """Kill the other process; tell whether it is still to be waited for: one that hangs in a dead mount goes when the mount does.

        Where somebody else has waited for it already, its number may be that of a stranger.
        """
        with contextlib.suppress(OSError):
            if os.waitpid(self._pid, os.WNOHANG) == (0, 0):
                os.kill(self._pid, _KILL)
                return os.waitpid(self._pid, os.WNOHANG) == (0, 0)
        return False


def _reap(pid: int) -> None:
    with contextlib.suppress(OSError):  # whoever started us may have had us ignore the ends of children
        os.waitpid(pid, 0)


def start(units: Callable[[], Iterable[Unit]]) -> Ahead | None:
    """Start a second process that does ``units``; None where there is but one processor or where it could harm.

    A copy of a process with several threads may find locks taken that nobody will ever release.
    """
    if not hasattr(os, "fork") or _processors() < 2 or _threads() > 1:
        return None
    ours = os.getpid()
    ends: list[int] = []
    try:
        claims = Claims()
        ends += os.pipe()
        ends += os.pipe()
        source, sink, watched, tie = ends
        pid = os.fork()
        if not pid:
            _detach({sink, watched}, watched)
            _serve(units(), claims, sink)
    except (OSError, RuntimeError):  # not allowed, no room, or not from this interpreter
        for end in ends:
            os.close(end)
        return None
    finally:
        if os.getpid() != ours:
            os._exit(0)  # nothing of what we were copied from is ours to flush or to take down
    os.close(sink)
    os.close(watched)
    return Ahead(pid, source, tie, claims)


def _detach(kept: set[int], watched: int) -> None:
    """Let go of all that we were copied with: who reads our output or waits for a lock must not wait for this process.

    Nor is it ours to answer the signals of the program that we were copied from. We end with it: nothing is ever written into the
    pipe ``watched``, so only its end is something to be told of.
    """
    import fcntl
    import signal

    # before our own copy of its other end is closed: if that was the last one, it ends us
    fcntl.fcntl(watched, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(watched, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(watched, fcntl.F_SETFL, os.O_ASYNC)
    try:
        held = [int(name) for name in os.listdir("/proc/self/fd")]  # noqa: PTH208  pathlib is a tenth of the start-up time
    except OSError:
        held = [*range(max(kept) + 8)]
    for descriptor in held:
        if descriptor not in kept:
            with contextlib.suppress(OSError):
                os.close(descriptor)
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)


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


def _threads() -> int:
    """Return how many threads this process has, those included that Python knows nothing of."""
    try:
        return len(os.listdir("/proc/self/task"))  # noqa: PTH208  pathlib is a tenth of the start-up time
    except OSError:
        return threading.active_count()
