"""The doors through which probes see a node: files, one process, the kernel's log, a closed list of commands.

``live_host`` is this machine, or the file system and environment of one of its processes. ``tree_host`` is a directory:
an unpacked image, or a captured or composed node tree (possibly an overlay on another one).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Callable, NamedTuple, Protocol

from stackcheck_probes import commands, files
from stackcheck_probes.files import Mapped, Read
from stackcheck_probes.interface import HostError
from stackcheck_probes.mounts import GuardedFiles, doubtful_mounts, inner_guard, reach

if TYPE_CHECKING:
    from pathlib import Path

    from stackcheck_probes.tree import TreeFiles

PROCESS_LIMIT = 16 << 20
GIVEN = "environment that was given"  # by --env-file or the caller, not read from a process


class FileSystem(Protocol):
    """The files of a node, by absolute POSIX paths. Methods raise ``AbsentError`` or ``RefusedError``, and nothing else."""

    def read(self, path: str, limit: int = files.TEXT_LIMIT) -> bytes:
        """Return at most ``limit`` bytes of a regular file."""

    def map(self, path: str) -> Mapped:
        """Return the content of a file of any size, read only where it is looked at."""

    def reads(self, path: str) -> AbstractContextManager[Read]:
        """Give short reads at any place of a file, which is closed at the end of the ``with``."""

    def names(self, path: str, limit: int = files.LIST_LIMIT) -> list[str]:
        """Return the names in a directory, sorted."""

    def exists(self, path: str) -> bool:
        """Tell whether anything is there: file, directory, device."""

    def is_dir(self, path: str) -> bool:
        """Tell whether a directory is there."""

    def size(self, path: str) -> int:
        """Return the size of a regular file in bytes."""

    def real(self, path: str) -> str:
        """Return the path with every symbolic link followed, still as a path of the node."""

    def local(self, path: str) -> Path:
        """Return where a regular file lies on this machine, for readers that need a path."""


class Host(NamedTuple):
    """A node: where its files are, whose environment is asked about, and how its commands answer."""

    files: FileSystem
    environ: Mapping[str, str]
    process: Callable[[str], bytes]
    kernel_log: Callable[[], str]
    run: Callable[[str, float], commands.Output]
    live: bool = False
    captured: bool = False
    pid: int | None = None
    environ_where: str = "environment of the probe"
    environ_refused: str = ""
    """Why the environment asked for could not be read, so that ours stands for it."""
    probes: frozenset[str] | None = None
    """The probes for which a tree was captured; None: for all of them."""


def live_host(environ: Mapping[str, str] | None = None, pid: int | None = None) -> Host:
    """Return this machine; with ``pid``, seen from that process (its root directory, environment, limits and maps).

    ``environ`` replaces the environment; by default it is the process's own, and ours if that may not be read.
    """
    proc = f"/proc/{pid}" if pid else "/proc/self"
    root = _other_root(pid) if pid else None
    where = GIVEN if environ is not None else "environment of the probe"
    refused = ""
    if environ is None and pid:
        environ, refused = _environ_of(proc)
        where = where if refused else f"{proc}/environ"
    chosen = dict(os.environ if environ is None else environ)
    return Host(
        files=_tree(root, pid) if root else direct_files(),
        environ=chosen,
        process=lambda name: files.read_file(f"{proc}/{name}", PROCESS_LIMIT),
        kernel_log=lambda: commands.read_kmsg("/dev/kmsg"),
        # under our own environment: that of another process may name libraries to load into what we start, perhaps as root
        run=lambda name, timeout: commands.run(name, os.environ, timeout),
        live=True,
        pid=pid,
        environ_where=where,
        environ_refused=refused,
    )


def direct_files() -> files.DirectFiles:
    """Return the files of this machine, guarded where a mount may not answer."""
    doubtful = doubtful_mounts()
    return GuardedFiles(doubtful) if doubtful else files.DirectFiles()


def tree_host(root: str, environ: Mapping[str, str] | None = None) -> Host:
    """Return the node whose files lie below ``root``; commands are replayed from ``root/cmd/NAME``.

    ``environ`` replaces the captured environment (``root/environ``); a plain image has none.
    """
    tree = _tree(root)
    where = GIVEN
    if environ is None:
        where = "environ of the tree"
        environ = _captured_environ(tree)
    return Host(
        files=tree,
        environ=dict(environ),
        process=lambda name: tree.read(f"/proc/self/{name}", PROCESS_LIMIT),
        kernel_log=lambda: tree.read("/cmd/kernel-log", PROCESS_LIMIT).decode("utf-8", "replace"),
        run=lambda name, _timeout: commands.replay(name, tree.read),
        captured=tree.captured,
        probes=tree.probes,
        environ_where=where,
    )


def parse_environ(raw: bytes) -> dict[str, str]:
    """Return the variables of a NUL- or newline-separated block of NAME=value; what is no such line is left out."""
    text = raw.decode("utf-8", "replace")
    result: dict[str, str] = {}
    for line in text.split("\0") if "\0" in text else text.splitlines():
        name, equals, value = line.strip().partition("=")
        name = name[len("export ") :].strip() if name.startswith("export ") else name
        if not equals or not name.replace("_", "a").isalnum() or name[0].isdigit():
            continue
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        result[name] = value
    return result


def _environ_of(proc: str) -> tuple[dict[str, str] | None, str]:
    """Return the environment of a process, or None and why it may not be read."""
    try:
        return parse_environ(files.read_file(f"{proc}/environ", PROCESS_LIMIT)), ""
    except HostError as error:
        return None, f"{error.subject}: {error.reason}"


def _captured_environ(tree: TreeFiles) -> dict[str, str]:
    try:
        return parse_environ(tree.read("/environ", PROCESS_LIMIT))
    except HostError:
        return {}


def _tree(root: str, pid: int | None = None) -> TreeFiles:
    reach(root)
    from stackcheck_probes.tree import (
        open_tree,  # only where a tree is looked at: it is a third of the start-up time
    )

    return open_tree(root, inner_guard(root, pid))


def _other_root(pid: int) -> str | None:
    """Return where the files of that process are seen, or None if it sees the same ones as we do (or cannot be asked)."""
    from pathlib import Path

    try:
        theirs, ours = Path(f"/proc/{pid}/ns/mnt").readlink(), Path("/proc/self/ns/mnt").readlink()
        root = Path(f"/proc/{pid}/root").readlink()
    except OSError:
        return None
    return None if theirs == ours and str(root) == "/" else f"/proc/{pid}/root"
