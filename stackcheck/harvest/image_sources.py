"""Images at rest and images in a registry, behind one door: an OCI layout (folder or tar), `docker save`'s archive, a reference."""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self

from stackcheck.harvest import oci_documents as oci
from stackcheck.harvest.image_reference import DIGEST, Reference
from stackcheck.harvest.interface import HarvestError
from stackcheck.harvest.oci_registry import Registry

_CHUNK = 1 << 20
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,300}\Z")
_MOST_MEMBERS = 20_000


class Source(Protocol):
    """Where the parts of an image come from."""

    def images(self) -> tuple[tuple[str, str, oci.Manifest], ...]:
        """Return (architecture or empty, digest, manifest) of each image."""
        ...

    def small(self, wanted: oci.Descriptor) -> bytes:
        """Return the bytes of a document."""
        ...

    def chunks(self, wanted: oci.Descriptor) -> Iterator[bytes]:
        """Yield the bytes of a layer; a wrong digest raises at the end."""
        ...


class RegistrySource:
    """An image of a registry."""

    def __init__(self, registry: Registry, reference: Reference) -> None:
        """Read `reference` from `registry`."""
        self._registry, self._reference = registry, reference

    def images(self) -> tuple[tuple[str, str, oci.Manifest], ...]:
        """Return what the registry lists; see `Registry.images`."""
        return self._registry.images(self._reference)

    def small(self, wanted: oci.Descriptor) -> bytes:
        """Return the bytes of a document."""
        return self._registry.blob(self._reference.repository, wanted, oci.LARGEST)

    def chunks(self, wanted: oci.Descriptor) -> Iterator[bytes]:
        """Yield the bytes of a layer."""
        return self._registry.stream(self._reference.repository, wanted)


class LayoutSource:
    """An OCI image layout: `index.json` and `blobs/sha256/`, as a folder or a tar of it."""

    def __init__(self, files: Files) -> None:
        """Read from `files`."""
        self._files = files

    def images(self) -> tuple[tuple[str, str, oci.Manifest], ...]:
        """Return the images of index.json, indexes within it included.

        Raises:
            HarvestError: a document is missing, malformed, or not what its digest says.
        """
        where = self._files.where
        pending = [
            (d, 0) for d in oci.index(oci.document(self._files.read("index.json", oci.LARGEST), where), where)
        ]
        found = []
        while pending:
            row, depth = pending.pop(0)
            body = oci.document(self.small(row), where)
            if oci.is_index(body):
                if depth > 3:
                    raise HarvestError("indexes within indexes without end", where=where)
                pending += [(d, depth + 1) for d in oci.index(body, where)]
            else:
                found.append((row.arch, row.digest, oci.manifest(body, where)))
        return tuple(found)

    def small(self, wanted: oci.Descriptor) -> bytes:
        """Return the bytes of a document."""
        return oci.verified(self._files.read(_blob(wanted), oci.LARGEST), wanted.digest, self._files.where)

    def chunks(self, wanted: oci.Descriptor) -> Iterator[bytes]:
        """Yield the bytes of a layer."""
        yield from _summed(self._files.open(_blob(wanted)), wanted.digest, self._files.where)


class DockerArchiveSource:
    """What `docker save` writes: a tar with manifest.json, configurations and layers."""

    def __init__(self, files: Files) -> None:
        """Read from `files`."""
        self._files = files

    def images(self) -> tuple[tuple[str, str, oci.Manifest], ...]:
        """Return the images of manifest.json; the archive states no sizes and only digests of unpacked layers.

        Raises:
            HarvestError: it is malformed.
        """
        where = self._files.where
        try:
            rows = json.loads(self._files.read("manifest.json", oci.LARGEST))
        except (ValueError, RecursionError) as fault:
            raise HarvestError(f"manifest.json is no JSON: {fault}", where=where) from fault
        found = []
        for row in rows if isinstance(rows, list) else ():
            config, layers = (row.get("Config"), row.get("Layers")) if isinstance(row, dict) else (None, None)
            if not isinstance(config, str) or not isinstance(layers, list):
                raise HarvestError("manifest.json names no configuration and layers", where=where)
            names = [_named(str(n), where) for n in layers[:1_000]]
            manifest = oci.Manifest(
                oci.Descriptor(_named(config, where), 0, ""), tuple(oci.Descriptor(n, 0, "") for n in names)
            )
            found.append(("", "", manifest))
        return tuple(found)

    def small(self, wanted: oci.Descriptor) -> bytes:
        """Return the bytes of a document."""
        return self._files.read(wanted.digest, oci.LARGEST)

    def chunks(self, wanted: oci.Descriptor) -> Iterator[bytes]:
        """Yield the bytes of a layer."""
        file = self._files.open(wanted.digest)
        while chunk := file.read(_CHUNK):
            yield chunk


class Files(Protocol):
    """Named files, in a folder or in a tar."""

    where: str

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        ...

    def read(self, name: str, most: int) -> bytes:
        """Return the bytes of a small file."""
        ...

    def open(self, name: str) -> IO[bytes]:
        """Return an open file."""
        ...


class Folder:
    """The files below a folder."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        """Read below `path`; open files are closed with `stack`."""
        self.where = str(path)
        self._path, self._stack = path, stack

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        return (self._path / name).is_file()

    def read(self, name: str, most: int) -> bytes:
        """Return the bytes of a small file."""
        return _bounded(self.open(name), most, self.where, name)

    def open(self, name: str) -> IO[bytes]:
        """Return an open file, if it really lies in the folder."""
        path = self._path / name
        try:
            if not path.resolve().is_relative_to(self._path.resolve()):
                raise HarvestError(f"{name} leads out of it", where=self.where)
            return self._stack.enter_context(path.open("rb"))
        except OSError as fault:
            raise HarvestError(f"{name}: {fault.strerror}", where=self.where) from fault


class Archive:
    """The files of a tar that can be read back and forth."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        """Open the tar at `path`; it is closed with `stack`.

        Raises:
            HarvestError: it is no tar, or packed as a whole.
        """
        self.where = str(path)
        try:
            self._tar = stack.enter_context(tarfile.open(path, "r:"))  # noqa: SIM115
            self._members: dict[str, tarfile.TarInfo] = {}
            for count, member in enumerate(self._tar):
                if count > _MOST_MEMBERS:
                    raise HarvestError(f"more than {_MOST_MEMBERS} files", where=self.where)
                self._members[member.name.removeprefix("./")] = member
        except (OSError, tarfile.TarError, ValueError, UnicodeError, OverflowError) as fault:
            raise HarvestError(
                "is neither an OCI layout nor an archive of `docker save`",
                where=self.where,
                fix="unpack it first if it is packed",
            ) from fault

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        return name in self._members

    def read(self, name: str, most: int) -> bytes:
        """Return the bytes of a small file."""
        return _bounded(self.open(name), most, self.where, name)

    def open(self, name: str) -> IO[bytes]:
        """Return an open file of the tar; links lead to other files of the tar alone."""
        member = self._members.get(name)
        hops = 0
        while member is not None and (member.issym() or member.islnk()) and hops < 5:
            base = name.rpartition("/")[0] if member.issym() else ""
            member, hops = self._members.get(_joined(base, member.linkname)), hops + 1
        file = self._tar.extractfile(member) if member is not None and member.isreg() else None
        if file is None:
            raise HarvestError(f"has no file {name[:80]}", where=self.where)
        return file


class Opened:
    """An image source with what must be closed after it."""

    def __init__(self, path: Path) -> None:
        """Look at a folder or file.

        Raises:
            HarvestError: it is neither a layout nor an archive.
        """
        self._stack = ExitStack()
        files: Files = Folder(path, self._stack) if path.is_dir() else Archive(path, self._stack)
        self.source: Source
        if files.has("index.json"):
            self.source = LayoutSource(files)
        elif files.has("manifest.json"):
            self.source = DockerArchiveSource(files)
        else:
            self._stack.close()
            raise HarvestError("holds neither index.json nor manifest.json", where=str(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


def _blob(wanted: oci.Descriptor) -> str:
    assert DIGEST.match(wanted.digest)  # noqa: S101 - checked when it was parsed; a path depends on it
    return f"blobs/sha256/{wanted.digest.removeprefix('sha256:')}"


def _named(name: str, where: str) -> str:
    if not _SAFE.match(name) or ".." in name.split("/"):
        raise HarvestError(f"manifest.json names a file {name[:80]!r}", where=where)
    return name


def _joined(base: str, link: str) -> str:
    from stackcheck.harvest.layer_tar import inside

    return inside(f"{base}/{link}")[0]


def _bounded(file: IO[bytes], most: int, where: str, name: str) -> bytes:
    data = file.read(most + 1)
    if len(data) > most:
        raise HarvestError(f"{name[:80]} is longer than {most} bytes", where=where)
    return data


def _summed(file: IO[bytes], digest: str, where: str) -> Iterator[bytes]:
    import hashlib

    summed: Any = hashlib.sha256()
    while chunk := file.read(_CHUNK):
        summed.update(chunk)
        yield chunk
    if f"sha256:{summed.hexdigest()}" != digest:
        raise HarvestError(f"a layer is not what {digest[:19]}... stands for", where=where)
