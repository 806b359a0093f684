"""What a probe holds in its hands: the node to look at, and the place for what it saw."""

from __future__ import annotations

import posixpath
import time
from collections.abc import Mapping

from stackcheck_probes import files
from stackcheck_probes.commands import Output
from stackcheck_probes.elf import Elf, ElfError
from stackcheck_probes.host import Host
from stackcheck_probes.interface import AbsentError, HostError, RefusedError
from stackcheck_probes.observations import Observations, Value
from stackcheck_probes.shared import Shared


class Look:
    """One probe's view of a node. Reading never raises: what is absent is None, what refuses leaves a note."""

    def __init__(self, host: Host, seen: Observations, probe: str, timeout: float, shared: Shared) -> None:
        self.host = host
        self.seen = seen
        self.probe = probe
        self.shared = shared
        self._deadline = time.monotonic() + timeout
        self._timeout = timeout

    @property
    def time_left(self) -> float:
        """Return the seconds left to this probe."""
        return max(0.0, self._deadline - time.monotonic())

    def text(self, path: str, limit: int = files.TEXT_LIMIT) -> str | None:
        """Return the text of a file without white space around it, or None."""
        try:
            return self.host.files.read(path, limit).decode("utf-8", "replace").strip()
        except AbsentError:
            return None
        except RefusedError as error:
            self.note(f"{error.subject}: {error.reason}")
            return None

    def number(self, path: str) -> int | None:
        """Return the whole number in a file (decimal or 0x...), or None."""
        text = self.text(path, 64)
        try:
            return int(text or "", 0)
        except ValueError:
            return None

    def names(self, path: str, limit: int = files.LIST_LIMIT) -> list[str]:
        """Return the sorted names in a directory; empty if it is not there."""
        try:
            return self.host.files.names(path, limit)
        except AbsentError:
            return []
        except RefusedError as error:
            self.note(f"{error.subject}: {error.reason}")
            return []

    def children(self, path: str) -> list[str]:
        """Return the full paths of what lies in a directory."""
        return [posixpath.join(path, name) for name in self.names(path)]

    def exists(self, path: str) -> bool:
        """Tell whether anything is at this path."""
        return self.host.files.exists(path)

    def is_dir(self, path: str) -> bool:
        """Tell whether a directory is at this path."""
        return self.host.files.is_dir(path)

    def real(self, path: str) -> str:
        """Return the path with links followed; the path itself if they lead nowhere."""
        try:
            return self.host.files.real(path)
        except HostError:
            return path

    def elf(self, path: str) -> Elf | None:
        """Return an ELF object, read once for all probes; None if the file is none or cannot be read, which leaves a note."""
        return self.shared.once(f"elf:{path}", lambda: self.brief_elf(path))

    def brief_elf(self, path: str) -> Elf | None:
        """Return an ELF object as ``elf`` does, to be looked at once and dropped: each one that is kept keeps its file open.

        An environment may hold thousands of them, and a process may mostly open 1024 files.
        """
        try:
            return Elf(self.host.files.map(path))
        except RefusedError as error:
            self.note(f"{error.subject}: {error.reason}")
        except (AbsentError, ElfError):
            pass
        return None

    def process(self, name: str) -> str | None:
        """Return the text of ``/proc/PID/name`` of the process asked about, or None (with a note if it refuses)."""
        try:
            return self.host.process(name).decode("utf-8", "replace")
        except AbsentError:
            return None
        except RefusedError as error:
            self.note(f"{error.subject}: {error.reason}")
            return None

    def run(self, name: str, timeout: float | None = None) -> Output | None:
        """Return the output of a command of the closed list, or None; a failure leaves a note, absence does not."""
        try:
            return self.host.run(name, max(0.1, min(timeout or self._timeout, self.time_left - 0.2)))
        except AbsentError:
            return None
        except RefusedError as error:
            self.note(f"{error.subject}: {error.reason}")
            return None

    def note(self, text: str) -> None:
        """Say what could not be looked at, and why."""
        self.seen.note(self.probe, text)

    def fact(self, name: str, value: Value, where: str, method: str = "file", raw: str = "") -> None:
        """Record a fact of the node with where it was read; a value None is not recorded (unknown stays unknown)."""
        if value is not None:
            self.seen.fact(name, value, where, method, raw)

    def looked_for(self, *components: str) -> None:
        """Say that these components were looked for: absent ones get an empty list."""
        self.seen.looked_for(components)

    def component(
        self,
        name: str,
        version: str | None,
        path: str,
        method: str,
        scope: str = "",
        raw: str = "",
        attributes: Mapping[str, Value] | None = None,
        **extra: Value,
    ) -> None:
        """Record one copy of a component; no ``version`` says that it is there but its version cannot be told."""
        entry: dict[str, Value] = {"version": version} if version else {}
        entry.update(scope=scope or self.seen.scope, path=path, method=method, where=path)
        kept = {key: value for key, value in (attributes or {}).items() if value is not None}
        if kept:
            entry["attributes"] = kept
        if raw:
            entry["raw"] = raw
        entry.update({key: value for key, value in extra.items() if value is not None})
        self.seen.component(name, entry)
