"""What ``ld.so`` would load, worked out from files alone.

Search order for a name without a slash (https://man7.org/linux/man-pages/man8/ld.so.8.html, each rule tried with compiled
objects): an object already loaded under that soname; DT_RPATH of the requester and of those that loaded it, unless the
requester has DT_RUNPATH; LD_LIBRARY_PATH; DT_RUNPATH of the requester; /etc/ld.so.cache; the default directories.
Left out: ``glibc-hwcaps`` subdirectories and ``LD_AUDIT``.
"""

from __future__ import annotations

import posixpath
from collections import deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from stackcheck_probes.elf import Dynamic, Elf, ElfError
from stackcheck_probes.host import FileSystem
from stackcheck_probes.interface import HostError, RefusedError

MAX_OBJECTS = 2000
DEFAULT_DIRECTORIES = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
MULTIARCH = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}


class Loaded(NamedTuple):
    """An object in the process to be: the path it was found under, who asked for it first, and by which rule."""

    path: str
    soname: str
    how: str
    dynamic: Dynamic
    requester: Loaded | None = None


class Process:
    """The objects that would be in one process, by soname, in load order; what was needed and not found, and by whom."""

    def __init__(self) -> None:
        self.objects: dict[str, Loaded] = {}
        self.missing: dict[str, str] = {}

    def find(self, prefix: str) -> Loaded | None:
        """Return the first object whose soname begins with ``prefix``."""
        return next((item for name, item in self.objects.items() if name.startswith(prefix)), None)


class Loader:
    """The dynamic loader of a node under one environment."""

    def __init__(
        self, files: FileSystem, environ: Mapping[str, str], cache: Mapping[str, str], machine: str | None
    ) -> None:
        self._files = files
        self._cache = cache
        self._machine = machine
        library_path = environ.get("LD_LIBRARY_PATH", "").replace(";", ":")
        self.library_path = tuple(part for part in library_path.split(":") if part)
        self.preload = tuple(environ.get("LD_PRELOAD", "").replace(":", " ").split())
        multiarch = MULTIARCH.get(machine or "", "")
        extra = (f"/lib/{multiarch}", f"/usr/lib/{multiarch}") if multiarch else ()
        self.default_directories = (*extra, *DEFAULT_DIRECTORIES)
        self.refused: dict[str, str] = {}
        self._read: dict[str, tuple[str, Dynamic] | None] = {}

    def process(self, entries: Iterable[str]) -> Process:
        """Return the process that loads these files or names, one after the other, with all they need."""
        process = Process()
        for name in self.preload:
            self.open(process, name, None, "LD_PRELOAD")
        for entry in entries:
            self.open(process, entry)
        return process

    def open(
        self, process: Process, name: str, requester: Loaded | None = None, how: str = ""
    ) -> Loaded | None:
        """Load one object and, breadth first, its dependencies; return it, or None if it cannot be found."""
        first = self._load(process, name, requester, how)
        queue: deque[Loaded] = deque([first] if first else [])
        while queue and len(process.objects) < MAX_OBJECTS:
            item = queue.popleft()
            for needed in item.dynamic.needed:
                if needed in process.objects or needed in process.missing:
                    continue
                loaded = self._load(process, needed, item, "")
                if loaded is None:
                    process.missing[needed] = item.path
                else:
                    queue.append(loaded)
        return first

    def _load(self, process: Process, name: str, requester: Loaded | None, how: str) -> Loaded | None:
        if "/" not in name and name in process.objects:
            return process.objects[name]
        path, rule = (name, "path") if "/" in name else self.search(name, requester)
        dynamic = self.dynamic(path) if path else None
        if not path or dynamic is None:
            return None
        soname = dynamic.soname or posixpath.basename(path)
        loaded = Loaded(
            path, soname, f"{how}: {rule}" if how and rule != "path" else how or rule, dynamic, requester
        )
        process.objects.setdefault(soname, loaded)
        if "/" not in name:
            process.objects.setdefault(name, loaded)
        return loaded

    def search(self, name: str, requester: Loaded | None) -> tuple[str | None, str]:
        """Return where a bare name is found and by which rule (``RPATH of libtorch_cuda.so``, ``ld.so.cache`` ...)."""
        for directory, rule in self._directories(requester):
            path = posixpath.join(directory, name)
            if self.dynamic(path) is not None:
                return path, rule
        cached = self._cache.get(name)
        if cached and self.dynamic(cached) is not None:
            return cached, "ld.so.cache"
        for directory in self.default_directories:
            path = posixpath.join(directory, name)
            if self.dynamic(path) is not None:
                return path, "default directory"
        return None, ""

    def _directories(self, requester: Loaded | None) -> Iterable[tuple[str, str]]:
        if requester is not None and not requester.dynamic.runpath:
            asking: Loaded | None = requester
            while asking is not None:
                if not asking.dynamic.runpath:
                    for directory in self.expand(asking.dynamic.rpath, asking.path):
                        yield directory, f"RPATH of {posixpath.basename(asking.path)}"
                asking = asking.requester
        for directory in self.library_path:
            yield self._token(directory, ""), "LD_LIBRARY_PATH"
        if requester is not None:
            for directory in self.expand(requester.dynamic.runpath, requester.path):
                yield directory, f"RUNPATH of {posixpath.basename(requester.path)}"

    def expand(self, paths: Iterable[str], object_path: str) -> list[str]:
        """Return search directories with $ORIGIN, $LIB and $PLATFORM put in, as normal paths."""
        try:
            origin = posixpath.dirname(self._files.real(object_path))
        except HostError:
            origin = posixpath.dirname(object_path)
        return [posixpath.normpath(self._token(path, origin)) for path in paths]

    def _token(self, path: str, origin: str) -> str:
        values = {"ORIGIN": origin, "LIB": "lib64", "PLATFORM": self._machine or ""}
        for name, value in values.items():
            path = path.replace("${" + name + "}", value).replace("$" + name, value)
        return path

    def dynamic(self, path: str) -> Dynamic | None:
        """Return the dynamic section of a file that the loader would accept, else None (absent, other machine, no ELF)."""
        if not path.startswith("/"):
            return None
        if path not in self._read:
            self._read[path] = self._read_dynamic(path)
        known = self._read[path]
        return known[1] if known else None

    def _read_dynamic(self, path: str) -> tuple[str, Dynamic] | None:
        try:
            elf = Elf(self._files.map(path))
            if self._machine and elf.machine != self._machine:
                return None
            return elf.machine, elf.dynamic()
        except RefusedError as error:
            self.refused[path] = error.reason
            return None
        except (HostError, ElfError):
            return None
