"""Work that several probes need and that is done once, by whichever comes first."""

from __future__ import annotations

import threading
from typing import Any, Callable, TypeVar

from stackcheck_probes.ahead import Ahead

T = TypeVar("T")


class Shared:
    """A memory of results by key. If the first asker hangs, the others wait with it, each within its own time."""

    def __init__(self, other: Ahead | None = None) -> None:
        self._other = other
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._results: dict[str, object] = {}

    def once(self, key: str, work: Callable[[], T]) -> T:
        """Return the result of ``work``, done at most once per key; a failure is raised to each asker, who tries anew."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._results:
                self._results[key] = work()
            return self._results[key]  # type: ignore[return-value]  # a key names one kind of work

    def ahead(self, key: str, work: Callable[[], Any]) -> Any:
        """Return the JSON value that another process of ours worked out meanwhile, or else that of ``work``, as ``once`` does."""
        if self._other is not None and self._other.holds(key):
            return self._other.result(key)
        return self.once(key, work)
