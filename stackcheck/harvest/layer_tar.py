"""The files of an image, layer over layer, without a container engine and without writing one byte to disk.

Format: the OCI image layer specification (tar, whiteouts, opaque whiteouts). A layer is hostile: names are normalised inside an imagined
root and nothing is followed outside it; device nodes are noted by name and never made; links are resolved in the imagined tree alone; what
is unpacked, how much of one file is held, and how many entries there are is bounded.
"""

from __future__ import annotations

import posixpath
import tarfile
import zlib
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field

from stackcheck.harvest.interface import HarvestError

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 20
_LARGEST_READ = 16_000_000  # bytes of one header or one held file
_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What one image may cost: unpacked bytes, entries, bytes of held files."""

    unpacked: int = 120_000_000_000
    entries: int = 6_000_000
    held: int = 400_000_000


@dataclass(slots=True)
class Tree:
    """What is in the image so far: path -> content of a file worth holding, or None for any other file.

    Paths are relative to the root, without `./`. `notes` tell what was odd, at most a hundred of them.
    """

    files: dict[str, bytes | None] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    folders: dict[str, set[str]] = field(default_factory=dict)
    """Folder -> names in it, so that removing one need not look at every file."""
    notes: list[str] = field(default_factory=list)
    unpacked: int = 0
    entries: int = 0
    held: int = 0

    def note(self, text: str) -> None:
        """Keep a remark, unless there are plenty."""
        if len(self.notes) < 100:
            self.notes.append(text)

    def put(self, path: str, content: bytes | None) -> None:
        """Have a file at a path."""
        self.remove(path)
        self.files[path] = content
        self._enrol(path)

    def link(self, path: str, target: str) -> None:
        """Have a symbolic link at a path."""
        self.remove(path)
        self.links[path] = target
        self._enrol(path)

    def _enrol(self, path: str) -> None:
        while path:
            folder, _, name = path.rpartition("/")
            names = self.folders.setdefault(folder, set())
            if name in names:
                return
            names.add(name)
            path = folder

    def remove(self, path: str, keep: Container[str] = ()) -> None:
        """Forget a path and everything below it, except what is to be kept."""
        pending = [path]
        while pending:
            known = pending.pop()
            pending += [f"{known}/{name}" if known else name for name in self.folders.pop(known, ())]
            if known in keep:
                self._enrol(known)
                continue
            self.files.pop(known, None)
            self.links.pop(known, None)

    def read(self, path: str, hops: int = 10) -> bytes | None:
        """Return the content held for a path, through symbolic links inside the image."""
        if path in self.links and hops:
            target = self.links[path]
            joined = target if target.startswith("/") else posixpath.join(posixpath.dirname(path), target)
            return self.read(inside(joined)[0], hops - 1)
        return self.files.get(path)


def inside(name: str) -> tuple[str, bool]:
    """Return a path within the image's root, and whether the name tried to lead out of it."""
    parts: list[str] = []
    escaped = False
    for part in name.split("/"):
        if part in ("", "."):
            continue
        if part == "..":
            escaped = escaped or not parts
            if parts:
                parts.pop()
            continue
        parts.append(part)
    return "/".join(parts), escaped


def apply(
    tree: Tree, chunks: Iterable[bytes], wanted: Callable[[str], bool], bounds: Bounds, where: str
) -> None:
    """Lay one layer over a tree; `wanted` says of which paths to hold the content.

    The chunks are used up to their end, so that a digest over them is complete.

    Raises:
        HarvestError: it is no layer, or costs more than the bounds allow.
    """
    source = _Forward(_unpacked(iter(chunks), tree, bounds, where), where)
    fresh: set[str] = set()  # what this very layer brought: its own whiteouts do not remove that
    try:
        with tarfile.open(fileobj=source, mode="r:", errorlevel=0) as archive:  # type: ignore[call-overload]
            while (member := archive.next()) is not None:
                archive.members = []
                tree.entries += 1
                if tree.entries > bounds.entries:
                    raise HarvestError(f"more than {bounds.entries} files", where=where)
                _lay(tree, archive, member, wanted, bounds, fresh)
    except (tarfile.TarError, UnicodeError, ValueError, OverflowError) as fault:
        raise HarvestError(f"no layer: {type(fault).__name__}: {str(fault)[:100]}", where=where) from fault
    source.drain()


def _lay(
    tree: Tree,
    archive: tarfile.TarFile,
    member: tarfile.TarInfo,
    wanted: Callable[[str], bool],
    bounds: Bounds,
    fresh: set[str],
) -> None:
    path, escaped = inside(member.name)
    if escaped:
        tree.note(f"a name leads out of the image: {member.name[:100]!r}")
        return
    folder, name = posixpath.split(path)
    if name == _OPAQUE:
        tree.remove(folder, keep=fresh)
    elif name.startswith(_WHITEOUT):
        hidden = posixpath.join(folder, name.removeprefix(_WHITEOUT))
        if hidden not in fresh:
            tree.remove(hidden, keep=fresh)
    elif member.isdir():
        if path in tree.links or path in tree.files:
            tree.remove(path)
    elif member.islnk():
        _hard_link(tree, path, member.linkname)
        fresh.add(path)
    elif member.issym():
        tree.link(path, member.linkname[:4_000])
        fresh.add(path)
    elif member.isreg():
        tree.put(path, _content(tree, archive, member, bounds) if wanted(path) else None)
        fresh.add(path)
    elif path:
        tree.remove(path)
        tree.note(f"a device or pipe: {path[:100]!r}")


def _hard_link(tree: Tree, path: str, name: str) -> None:
    target, escaped = inside(name)
    if escaped or (target not in tree.files and target not in tree.links):
        tree.note(f"a hard link to nothing: {path[:100]!r}")
    elif target in tree.links:
        tree.link(path, tree.links[target])
    else:
        tree.put(path, tree.files[target])


def _content(tree: Tree, archive: tarfile.TarFile, member: tarfile.TarInfo, bounds: Bounds) -> bytes | None:
    if member.size > _LARGEST_READ:
        tree.note(f"a file of {member.size} bytes was not read: {member.name[:100]!r}")
        return None
    file = archive.extractfile(member)
    data = file.read(member.size) if file else b""
    tree.held += len(data)
    if tree.held > bounds.held:
        raise HarvestError(f"more than {bounds.held} bytes of files worth reading", where=member.name[:100])
    return data


def _unpacked(chunks: Iterator[bytes], tree: Tree, bounds: Bounds, where: str) -> Iterator[bytes]:
    """Yield the bytes of the tar, at most a chunk at a time, whatever the packing promises."""
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= 4:
            break
    if head.startswith(_ZSTD):
        raise HarvestError(
            "its layers are packed with zstd", where=where, fix="copy it with skopeo first, as gzip"
        )
    unpacker = zlib.decompressobj(31) if head.startswith(_GZIP) else None

    def pieces(data: bytes) -> Iterator[bytes]:
        nonlocal unpacker
        if unpacker is None:
            yield data
            return
        try:
            while data:
                yield unpacker.decompress(data, _CHUNK)
                data = unpacker.unconsumed_tail
                if unpacker.eof:
                    data = unpacker.unused_data
                    if data:
                        unpacker = zlib.decompressobj(31)
        except zlib.error as fault:
            raise HarvestError(f"a layer cannot be unpacked: {fault}", where=where) from fault

    for chunk in _chained(head, chunks):
        for piece in pieces(chunk):
            tree.unpacked += len(piece)
            if tree.unpacked > bounds.unpacked:
                raise HarvestError(f"unpacks to more than {bounds.unpacked} bytes", where=where)
            yield piece


def _chained(head: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from chunks


class _Forward:
    """A file that tarfile can read from a stream: it only goes forward, and gives no huge piece at once."""

    def __init__(self, pieces: Iterator[bytes], where: str) -> None:
        """Read from `pieces`."""
        self._pieces, self._where = pieces, where
        self._buffer = memoryview(b"")
        self._at = 0

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Return exactly `size` bytes, fewer only at the end."""
        if not 0 <= size <= _LARGEST_READ:
            raise HarvestError(f"a header or file of {size} bytes in a layer", where=self._where)
        parts: list[bytes] = []
        left = size
        while left and self._fill():
            part = bytes(self._buffer[:left])
            self._buffer = self._buffer[len(part) :]
            left -= len(part)
            parts.append(part)
        data = b"".join(parts)
        self._at += len(data)
        return data

    def seek(self, position: int) -> int:
        """Skip forward to a position; going back is impossible."""
        if position < self._at:
            raise HarvestError("a layer whose parts overlap", where=self._where)
        while self._at < position and self._fill():
            step = min(position - self._at, len(self._buffer))
            self._buffer = self._buffer[step:]
            self._at += step
        return self._at

    def drain(self) -> None:
        """Use up the rest."""
        for _ in self._pieces:
            pass

    def _fill(self) -> bool:
        while not self._buffer:
            piece = next(self._pieces, None)
            if piece is None:
                return False
            self._buffer = memoryview(piece)
        return True
