"""Writing down a node: the files the probes read (and no others), redacted, as a tree that gives the same inventory."""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Callable

from stackcheck_probes import commands, files, redaction, skeleton
from stackcheck_probes.files import Mapped, Read
from stackcheck_probes.host import FileSystem, Host
from stackcheck_probes.interface import HostError, RefusedError
from stackcheck_probes.inventory import DEFAULT_TIMEOUT, choice, chosen, observe, open_host
from stackcheck_probes.probes.environment import wanted

VIRTUAL = ("/sys/", "/proc/", "/dev/")
SMALL_DIRECTORY = 300  # of larger ones (libraries, site-packages) only what was looked at is kept
KEPT_VARIABLES = ("PATH", "HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "container")


class RecordingFiles:
    """The files of another host, with a memory of what was asked. See ``host.FileSystem`` for the contract."""

    def __init__(self, inner: FileSystem) -> None:
        self._inner = inner
        self.contents: dict[str, bytes] = {}
        self.mapped: set[str] = set()
        self.links: dict[str, str] = {}
        self.there: dict[str, bool] = {}
        self.unreadable: set[str] = set()

    def _at(self, path: str) -> str:
        """Return the real path, and remember the links on the way: of the last part, and of the directories before it."""
        real = self._inner.real(path)
        if real != path:
            directory, name = posixpath.split(path.rstrip("/"))
            parent = self._at(directory) if directory not in ("", "/") else directory
            own = posixpath.join(parent, name)
            if own != real:
                self.links[own] = real
        return real

    def read(self, path: str, limit: int = files.TEXT_LIMIT) -> bytes:
        """Return at most ``limit`` bytes of a regular file."""
        try:
            data = self._inner.read(path, limit)
        except RefusedError:
            self.unreadable.add(path)
            raise
        self.contents.setdefault(self._at(path), data)
        return data

    def map(self, path: str) -> Mapped:
        """Return the content of a file of any size."""
        data = self._inner.map(path)
        self.mapped.add(self._at(path))
        return data

    def reads(self, path: str) -> AbstractContextManager[Read]:
        """Give short reads at any place of a file."""
        self.mapped.add(self._at(path))
        return self._inner.reads(path)

    def names(self, path: str, limit: int = files.LIST_LIMIT) -> list[str]:
        """Return the names in a directory, sorted; of virtual file systems and small directories all are remembered."""
        names = self._inner.names(path, limit)
        real = self._at(path)
        self.there[real] = True
        if (real + "/").startswith(VIRTUAL) or len(names) <= SMALL_DIRECTORY:
            for name in names:
                child = posixpath.join(real, name)
                if self._inner.exists(child):
                    self.there[self._at(child)] = self._inner.is_dir(child)
        return names

    def exists(self, path: str) -> bool:
        """Tell whether anything is there."""
        found = self._inner.exists(path)
        if found:
            self.there[self._at(path)] = self._inner.is_dir(path)
        return found

    def is_dir(self, path: str) -> bool:
        """Tell whether a directory is there."""
        found = self._inner.is_dir(path)
        if found:
            self.there[self._at(path)] = True
        return found

    def size(self, path: str) -> int:
        """Return the size of a regular file in bytes."""
        size = self._inner.size(path)
        self.mapped.add(self._at(path))
        return size

    def real(self, path: str) -> str:
        """Return the path with every symbolic link followed."""
        return self._at(path)

    def local(self, path: str) -> Path:
        """Return where a regular file lies on this machine."""
        return self._inner.local(path)


def capture(
    root: str,
    target_dir: str,
    only: Iterable[str] = (),
    skip: Iterable[str] = (),
    timeout: float | None = None,
    pid: int | None = None,
    env_file: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> int:
    """Write a node (``/`` or a directory) as a tree to ``target_dir``, which must not exist or be empty; return the files written.

    The other options are those of ``inventory.begin``: the tree gives the inventory that they give. ``tell`` hears what of a
    file of variables could not be used, as the tree does not say. Raises ``UnknownProbeError`` for
    a wrong name, ``HostError`` if the node, or the environment asked for, cannot be read or the target not be written.
    """
    host, notes = open_host(root, pid, env_file)
    for note in notes:
        tell(note)
    if host.environ_refused:
        path, _, reason = host.environ_refused.partition(": ")
        raise RefusedError(path, f"{reason}; our own environment would stand for it")
    probes = chosen(host, only, skip)
    target = Path(target_dir)
    try:
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise RefusedError(target_dir, "is not empty")
    except OSError as error:
        raise RefusedError(target_dir, (error.strerror or "cannot be written").lower()) from None
    recording = RecordingFiles(host.files)
    outputs: dict[str, str] = {}
    observe(_recorded(host, recording, outputs), probes, timeout or DEFAULT_TIMEOUT)
    names = [probe.name for probe in probes] if choice(probes) else []
    try:
        return _write(target, host, recording, outputs, names)
    except OSError as error:
        raise RefusedError(target_dir, (error.strerror or "cannot be written").lower()) from None


def _recorded(host: Host, recording: RecordingFiles, outputs: dict[str, str]) -> Host:
    def process(name: str) -> bytes:
        data = host.process(name)
        if name != "maps":
            outputs[f"/proc/self/{name}"] = data.decode("utf-8", "replace")
        return data

    def kernel_log() -> str:
        outputs["/cmd/kernel-log"] = host.kernel_log()
        return outputs["/cmd/kernel-log"]

    def run(name: str, timeout: float) -> commands.Output:
        output = host.run(name, timeout)
        outputs[f"/cmd/{name}"] = output.out
        if output.rc:
            outputs[f"/cmd/{name}.rc"] = f"{output.rc}\n"
        if output.err:
            outputs[f"/cmd/{name}.err"] = output.err
        return output

    return Host(
        recording,
        host.environ,
        process,
        kernel_log,
        run,
        host.live,
        host.captured,
        host.pid,
        host.environ_where,
        host.environ_refused,
    )


def _write(
    target: Path, host: Host, recording: RecordingFiles, outputs: dict[str, str], probes: list[str]
) -> int:
    texts = {path: data.decode("utf-8", "replace") for path, data in recording.contents.items()
             if path not in recording.mapped and not path.startswith("/proc/self/") and b"\0" not in data}  # fmt: skip
    texts.update(outputs)
    kept = {name: value for name, value in host.environ.items() if wanted(name) or name in KEPT_VARIABLES}
    texts["/environ"] = "".join(f"{name}={redaction.path(value)}\n" for name, value in sorted(kept.items()))
    small: dict[str, str] = {}
    count = 0
    if host.live:
        small["/proc/sys/kernel/arch"] = os.uname().machine + "\n"
    for path, text in sorted(texts.items()):
        redacted = text if path == "/environ" else redaction.content(path, text)
        place = redaction.path(path)
        if place.startswith(VIRTUAL):
            small[place] = redacted
        else:
            count += _put(target, place, redacted.encode())
    binaries = {
        path: data
        for path, data in recording.contents.items()
        if b"\0" in data and path not in recording.mapped
    }
    for path, data in binaries.items():
        count += _put(target, redaction.path(path), data)
    for path in sorted(recording.mapped):
        count += _skeleton(target, recording, path)
    _marker(target, recording, small, {*texts, *binaries, *recording.mapped}, probes)
    return count + 1


def _put(target: Path, path: str, data: bytes) -> int:
    place = target / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    return 1


def _skeleton(target: Path, recording: RecordingFiles, path: str) -> int:
    """Write a binary as a sparse file of the same size, with the parts that the probes read."""
    try:
        data = recording.map(path)
    except HostError:
        return 0
    place = target / redaction.path(path).lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("wb") as file:
        file.truncate(len(data))
        for offset, size in skeleton.blocks(data, place.name):
            os.pwrite(file.fileno(), data[offset : offset + size], offset)
    return 1


def _marker(
    target: Path, recording: RecordingFiles, small: dict[str, str], written: set[str], probes: list[str]
) -> None:
    """Write node.json: small files of virtual file systems, links, directories, devices, what refused, and the probes if chosen."""
    directories = []
    for path, is_dir in sorted(recording.there.items()):
        if path in written:
            continue
        if is_dir:
            directories.append(redaction.path(path))
        else:
            small.setdefault(redaction.path(path), "")
    links = {
        redaction.path(path): redaction.path(real)
        for path, real in sorted(recording.links.items())
        if path not in written
    }
    marker: dict[str, object] = {
        "why": "captured from a node", "files": small, "links": links, "directories": directories,
        "unreadable": sorted(redaction.path(path) for path in recording.unreadable),
    }  # fmt: skip
    if probes:
        marker["probes"] = probes
    (target / "node.json").write_text(json.dumps(marker, indent=1, sort_keys=True) + "\n")
