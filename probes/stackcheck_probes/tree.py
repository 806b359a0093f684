"""A directory seen as the root of a node: an unpacked image, a captured or composed tree, or overlays of such trees.

Symbolic links are followed inside the tree only, as ``chroot`` would, so a tree cannot point at files of this machine.
Beside plain files a tree may hold one JSON file, ``node.json`` or (for an overlay) ``overlay.json``:

- ``base``: the directory of the tree below, relative to this one; it must have such a file too (overlays only);
- ``files``: path to text, for many small files such as those of /sys;
- ``links``: path to target of a symbolic link;
- ``directories``: empty directories; ``absent``: paths of the base that are not there; ``unreadable``: paths that refuse;
- ``probes``: the probes for which it was captured, if not for all.
"""

from __future__ import annotations

import contextlib
import json
import posixpath
import stat
from pathlib import Path
from typing import NamedTuple

from stackcheck_probes import files
from stackcheck_probes.files import Mapped, Read
from stackcheck_probes.interface import AbsentError, HostError, RefusedError
from stackcheck_probes.mounts import Guard

MARKERS = ("node.json", "overlay.json")
MAX_LINKS = 40
MAX_LAYERS = 8
MARKER_LIMIT = 32 << 20


class Layer(NamedTuple):
    """One directory of a tree with what its marker file adds and takes away; paths begin with a slash."""

    root: Path
    inline: dict[str, bytes]
    links: dict[str, str]
    directories: frozenset[str]
    absent: frozenset[str]
    unreadable: frozenset[str]
    children: dict[str, set[str]]
    inside: dict[str, bool]
    """Directories that were looked at: whether they are reached without a link, which could lead out of the tree."""

    def hides(self, path: str) -> bool:
        """Tell whether this layer says that ``path`` (or a directory above it) of the layers below is gone."""
        while path != "/":
            if path in self.absent:
                return True
            path = posixpath.dirname(path)
        return False

    def place(self, path: str) -> Path | None:
        """Return where a path lies, or None if a directory above it is a link in this layer.

        Links of the tree are followed before; one that a layer above covers with a directory is not, and must not be walked through.
        """
        parent = posixpath.dirname(path)
        known = self.inside.get(parent)
        if known is None:
            known = self.inside[parent] = self._reaches(parent)
        return self.root / path.lstrip("/") if known else None

    def _reaches(self, directory: str) -> bool:
        here = self.root
        for part in directory.split("/"):
            here = here / part if part else here
            try:
                if part and stat.S_ISLNK(here.lstat().st_mode):
                    return False
            except (OSError, ValueError):
                return True  # nothing is there, and nothing below it
        return True


class Found(NamedTuple):
    """What is at a path before links are followed: ``kind`` is file, dir, link or other."""

    kind: str
    real: Path | None = None
    inline: bytes | None = None
    target: str = ""


class TreeFiles:
    """The files of a tree, topmost layer first. See ``host.FileSystem`` for the contract."""

    def __init__(
        self,
        layers: tuple[Layer, ...],
        captured: bool,
        guard: Guard | None = None,
        probes: frozenset[str] | None = None,
    ) -> None:
        self._layers = layers
        self.probes = probes
        self.guard = guard
        self.captured = captured
        self._unreadable = frozenset(path for layer in layers for path in layer.unreadable)

    def read(self, path: str, limit: int = files.TEXT_LIMIT) -> bytes:
        """Return at most ``limit`` bytes of a regular file."""
        found = self._file(path)
        return found.inline[:limit] if found.inline is not None else files.read_file(str(found.real), limit)

    def map(self, path: str) -> Mapped:
        """Return the content of a file, mapped if it is a real one."""
        found = self._file(path)
        return found.inline if found.inline is not None else files.map_file(str(found.real))

    def reads(self, path: str) -> contextlib.AbstractContextManager[Read]:
        """Give short reads at any place of a file."""
        found = self._file(path)
        inline = found.inline
        if inline is None:
            return files.short_reads(str(found.real))
        return contextlib.nullcontext(lambda offset: inline[offset : offset + files.SHORT])

    def names(self, path: str, limit: int = files.LIST_LIMIT) -> list[str]:
        """Return the names in a directory of all layers, sorted."""
        real = self.real(path)
        found = self._lookup(real)
        if found is None:
            raise AbsentError(path, "no such file or directory")
        if found.kind != "dir" or real in self._unreadable:
            raise RefusedError(path, "not a readable directory")
        names: set[str] = set()
        for layer in self._layers:
            names.update(_own_names(layer, real, limit))
            if layer.hides(real):
                break
        kept = (name for name in sorted(names) if self._is_there(posixpath.join(real, name)))
        return list(kept)[:limit]

    def exists(self, path: str) -> bool:
        """Tell whether anything is there."""
        return self._find(path) is not None

    def is_dir(self, path: str) -> bool:
        """Tell whether a directory is there."""
        found = self._find(path)
        return found is not None and found.kind == "dir"

    def size(self, path: str) -> int:
        """Return the size of a regular file in bytes."""
        found = self._file(path)
        if found.inline is not None:
            return len(found.inline)
        try:
            return found.real.stat().st_size if found.real else 0
        except OSError as error:
            raise AbsentError(path, str(error.strerror)) from None

    def real(self, path: str) -> str:
        """Return the path with every symbolic link of the tree followed."""
        todo = [part for part in path.split("/") if part not in ("", ".")][::-1]
        done, links = "/", 0
        while todo:
            part = todo.pop()
            if part == "..":
                done = posixpath.dirname(done)
                continue
            here = posixpath.join(done, part)
            found = self._lookup(here)
            if found is None or found.kind != "link":
                done = here
                continue
            links += 1
            if links > MAX_LINKS:
                raise AbsentError(path, "too many symbolic links")
            if found.target.startswith("/"):
                done = "/"
            todo += [part for part in found.target.split("/") if part not in ("", ".")][::-1]
        return done

    def local(self, path: str) -> Path:
        """Return where a regular file lies on this machine; an inline file lies nowhere."""
        found = self._file(path)
        if found.real is None:
            raise RefusedError(path, "no file of its own")
        return found.real

    def _is_there(self, path: str) -> bool:
        try:
            return self._lookup(path) is not None
        except RefusedError:
            return True  # a mount that does not answer is there all the same

    def _find(self, path: str) -> Found | None:
        try:
            return self._lookup(self.real(path))
        except HostError:
            return None

    def _file(self, path: str) -> Found:
        real = self.real(path)
        found = self._lookup(real)
        if found is None:
            raise AbsentError(path, "no such file or directory")
        if real in self._unreadable:
            raise RefusedError(path, "permission denied")
        if found.kind != "file":
            raise RefusedError(path, "not a regular file")
        return found

    def _lookup(self, path: str) -> Found | None:
        if path in ("/", *(f"/{marker}" for marker in MARKERS)):
            return Found("dir") if path == "/" else None
        if self.guard is not None:
            self.guard.check(path)
        for layer in self._layers:
            found = _own(layer, path)
            if found is not None or layer.hides(path):
                return found
        return None


def _own(layer: Layer, path: str) -> Found | None:
    if path in layer.inline:
        return Found("file", inline=layer.inline[path])
    if path in layer.links:
        return Found("link", target=layer.links[path])
    real = layer.place(path)
    try:
        if real is None:
            return Found("dir") if path in layer.directories else None
        mode = real.lstat().st_mode
        if stat.S_ISLNK(mode):
            return Found("link", target=str(real.readlink()))
    except (OSError, ValueError):
        return Found("dir") if path in layer.directories else None
    if stat.S_ISDIR(mode):
        return Found("dir", real=real)
    return Found("file" if stat.S_ISREG(mode) else "other", real=real)


def _own_names(layer: Layer, path: str, limit: int) -> set[str]:
    names = set(layer.children.get(path, ()))
    real = layer.place(posixpath.join(path, "."))
    if real is not None:
        with contextlib.suppress(HostError):  # a layer need not have the directory itself
            names.update(files.list_directory(str(real), limit))
    return names


def open_tree(root: str, guard: Guard | None = None) -> TreeFiles:
    """Return the tree at ``root`` with the trees it lies on. Raises ``AbsentError`` or ``RefusedError`` for a bad one.

    ``guard`` watches over mounts below ``root``.
    """
    layers: list[Layer] = []
    captured = False
    probes: frozenset[str] | None = None
    path: Path | None = Path(root)
    while path is not None:
        if not path.is_dir():
            raise AbsentError(str(path), "no such directory")
        if len(layers) == MAX_LAYERS:
            raise RefusedError(root, f"more than {MAX_LAYERS} trees on top of each other")
        marker = _read_marker(path)
        if layers and marker is None:
            raise RefusedError(
                str(path), "no tree: an overlay lies on one that has a node.json or overlay.json"
            )
        captured = captured or marker is not None
        if probes is None and (marker or {}).get("probes"):
            probes = frozenset(_strings((marker or {}).get("probes")))
        layers.append(_layer(path, marker or {}))
        base = (marker or {}).get("base")
        path = path / str(base) if base else None
    return TreeFiles(tuple(layers), captured, guard, probes)


def _read_marker(root: Path) -> dict[str, object] | None:
    for name in MARKERS:
        try:
            loaded = json.loads(files.read_file(str(root / name), MARKER_LIMIT))
        except AbsentError:
            continue
        except (ValueError, RecursionError):
            raise RefusedError(str(root / name), "no valid JSON") from None
        if not isinstance(loaded, dict):
            raise RefusedError(str(root / name), "no JSON object")
        return loaded
    return None


def _layer(root: Path, marker: dict[str, object]) -> Layer:
    texts, links = _mapping(marker.get("files")), _mapping(marker.get("links"))
    directories = {_path(item) for item in _strings(marker.get("directories"))}
    for path in [*texts, *links, *directories]:
        parent = posixpath.dirname(path)
        while parent != "/" and parent not in directories:
            directories.add(parent)
            parent = posixpath.dirname(parent)
    children: dict[str, set[str]] = {}
    for path in [*texts, *links, *directories]:
        children.setdefault(posixpath.dirname(path), set()).add(posixpath.basename(path))
    return Layer(
        root=root,
        inside={"/": True},
        children=children,
        inline={path: _bytes_of(text) for path, text in texts.items()},
        links=links,
        directories=frozenset(directories),
        absent=frozenset(_path(item) for item in _strings(marker.get("absent"))),
        unreadable=frozenset(_path(item) for item in _strings(marker.get("unreadable"))),
    )


def _bytes_of(text: str) -> bytes:
    """Return the content of an inline file: bytes that are no UTF-8 stand in it as JSON can hold them, others have no meaning."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _path(text: str) -> str:
    return posixpath.normpath("/" + text.strip("/"))


def _mapping(value: object) -> dict[str, str]:
    return {_path(str(key)): str(text) for key, text in value.items()} if isinstance(value, dict) else {}


def _strings(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []
