"""Running the probes: each under its own time limit, nobody waiting behind one that hangs.

One thread begins, as two that compute only take the interpreter from each other: with four, half of all processor time went into
that. Where it waits for a program or a disk, the next one goes on beside it; whoever hangs is left behind.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Callable

from stackcheck_probes.interface import Probe

PATIENCE = 0.2  # seconds without any probe ending until another thread is started
Run = Callable[[Probe, float], None]
Note = Callable[[str, str], None]


class Crew:
    """Threads that work off a list of probes. ``run`` does one of them and raises nothing; ``note`` says what came to nothing."""

    def __init__(self, probes: Sequence[Probe], timeout: float, run: Run, note: Note) -> None:
        self._run = run
        self._note = note
        self._timeout = timeout
        self._end = time.monotonic() + timeout
        self._todo = deque(probes)
        self._running: dict[str, tuple[float, float]] = {}
        """Name of a probe -> when it started, and how long it may take."""
        self._ended = 0
        self._changed = threading.Condition()

    def work(self) -> None:
        """Return when every probe has ended or used up its time, or the time of all together is over."""
        if not self._hire():
            self._worker()  # at the limit of processes no thread is to be had: better late than not at all
        while True:
            with self._changed:
                if self._is_over():
                    return
                before = self._ended
                self._changed.wait(self._until_next())
                stalled = self._ended == before and bool(self._todo)
            if stalled:
                self._hire()

    def _hire(self) -> bool:
        try:
            threading.Thread(target=self._worker, name="probes", daemon=True).start()
        except RuntimeError:
            return False
        return True

    def _worker(self) -> None:
        while True:
            with self._changed:
                if not self._todo or time.monotonic() >= self._end:
                    return
                probe = self._todo.popleft()
                start = time.monotonic()
                limit = min(probe.timeout, self._end - start)
                self._running[probe.name] = (start, limit)
            self._run(probe, limit)
            with self._changed:
                self._ended += 1
                if self._running.pop(probe.name, None) is None:
                    return  # given up on meanwhile: somebody else works in this place
                if not self._running and not self._todo:
                    self._changed.notify()

    def _is_over(self) -> bool:
        """Give up on those that are late; tell whether there is nothing left to wait for."""
        now = time.monotonic()
        for name, (start, limit) in [*self._running.items()]:
            if now >= start + limit:
                del self._running[name]
                self._ended += 1
                self._note(name, f"stopped after {round(limit, 1):g} s; what it had seen by then is kept")
        if now >= self._end:
            while self._todo:
                self._note(
                    self._todo.popleft().name, f"not started: all together may take {self._timeout:g} s"
                )
        return not self._running and not self._todo

    def _until_next(self) -> float:
        """Return the seconds until a probe is late, at most those until one more thread may be wanted."""
        ends = [start + limit for start, limit in self._running.values()]
        return max(0.0, min([PATIENCE, *(end - time.monotonic() for end in [*ends, self._end])]))
