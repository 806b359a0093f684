"""Data sets on disk: taken from a folder or a wheel, proved, and put in place so that there is always a whole one.

Below `installed_home()` lie the sets, each in a folder of its own that is never changed, and the file `active`: its first line names the set
that counts (empty: the shipped one), the others the ones before it, newest first. Replacing that file is the only step that changes
anything, so a process may be killed at any time. Writers take turns by a lock on the file `lock`.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import fcntl
import hashlib
import io
import os
import re
import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from stackcheck.catalog.files import FORMAT, format_of, newer_format
from stackcheck.harvest.interface import HarvestError

_CALENDAR = re.compile(r"\d{4}\.\d{1,2}\.\d{1,2}(?:\.\d{1,4})?\Z")
_NAME = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.+<>-]{0,150}/){0,3}[A-Za-z0-9_][A-Za-z0-9_.+-]{0,150}\Z")
_ENDINGS = (".json", "VERSION", "FORMAT")
_MOST_FILES = 20_000
_LARGEST_FILE = 64_000_000
_LARGEST = 1_000_000_000
_KEPT = 3  # sets before the active one
_PATIENCE = 120.0  # seconds to wait for another update
_IN_WHEEL = "stackcheck/matrices/"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """The files of one data set, checked for name and size; `digest` is over names and contents."""

    version: str
    files: Mapping[str, bytes]

    @property
    def digest(self) -> str:
        """The sha256 over all names and contents."""
        summed = hashlib.sha256()
        for name in sorted(self.files):
            summed.update(f"{name}\0{len(self.files[name])}\0".encode() + self.files[name])
        return summed.hexdigest()

    @property
    def folder(self) -> str:
        """The name of its folder: version and content."""
        return f"{self.version}-{self.digest[:12]}"


def from_folder(path: Path) -> DataSet:
    """Return the data set of a folder: one with VERSION in it, a checkout, or an installed package.

    Raises:
        HarvestError: it holds none, or files that no data set has.
    """
    for root in (path, path / "matrices", path / "stackcheck" / "matrices"):
        if (root / "VERSION").is_file():
            break
    else:
        raise HarvestError("holds no data set (no file VERSION)", where=str(path))
    files: dict[str, bytes] = {}
    for found in sorted(root.rglob("*")):
        name = found.relative_to(root).as_posix()
        if found.is_symlink() or not found.is_file() or not _belongs(name):
            continue
        if found.stat().st_size > _LARGEST_FILE:
            raise HarvestError(f"{name} is larger than any matrix", where=str(path))
        files[name] = found.read_bytes()
    return _checked(files, str(path))


def from_wheel(data: bytes, where: str) -> DataSet:
    """Return the data set inside a wheel; every file must match the checksum in the wheel's RECORD.

    Raises:
        HarvestError: it is no wheel of stackcheck's data, damaged or hostile.
    """
    files: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            names = [e.filename for e in entries]
            if len(entries) > _MOST_FILES or len(set(names)) != len(names):
                raise HarvestError("a wheel with too many files, or one twice", where=where)
            record = _record(archive, names, where)
            wanted = [e for e in entries if e.filename.startswith(_IN_WHEEL) and not e.is_dir()]
            if sum(e.file_size for e in wanted) > _LARGEST:
                raise HarvestError("unpacks to more than any data set", where=where)
            for entry in wanted:
                name = entry.filename.removeprefix(_IN_WHEEL)
                if _belongs(name):
                    files[name] = _bounded(archive, entry, where)
                    _match(files[name], record.get(entry.filename, ""), name, where)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as fault:
        raise HarvestError(f"no wheel: {str(fault)[:100]}", where=where) from fault
    return _checked(files, where)


def _bounded(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, where: str) -> bytes:
    if entry.file_size > _LARGEST_FILE:
        raise HarvestError(f"{entry.filename[:80]} is larger than any matrix", where=where)
    with archive.open(entry) as file:
        data = file.read(_LARGEST_FILE + 1)
    if len(data) > _LARGEST_FILE:
        raise HarvestError(f"{entry.filename[:80]} is larger than it says", where=where)
    return data


def _record(archive: zipfile.ZipFile, names: list[str], where: str) -> dict[str, str]:
    found = [n for n in names if n.count("/") == 1 and n.endswith(".dist-info/RECORD")]
    if len(found) != 1:
        raise HarvestError("a wheel without RECORD", where=where)
    text = _bounded(archive, archive.getinfo(found[0]), where).decode("utf-8", "replace")
    return {row[0]: row[1] for row in csv.reader(io.StringIO(text)) if len(row) >= 2}


def _match(data: bytes, stated: str, name: str, where: str) -> None:
    actual = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    if stated != f"sha256={actual}":
        raise HarvestError(f"{name} does not match its checksum", where=where, fix="fetch the wheel anew")


def _belongs(name: str) -> bool:
    return bool(_NAME.match(name)) and name.endswith(_ENDINGS)


def _checked(files: dict[str, bytes], where: str) -> DataSet:
    if len(files) > _MOST_FILES or sum(map(len, files.values())) > _LARGEST:
        raise HarvestError("is larger than any data set", where=where)
    version = files.get("VERSION", b"").decode("utf-8", "replace").strip()
    if not _CALENDAR.match(version):
        raise HarvestError(f"states no calendar version but {version[:40]!r}", where=where)
    if not any(n.startswith("components/") for n in files):
        raise HarvestError("holds no components", where=where)
    return DataSet(version=version, files=files)


@dataclass(frozen=True, slots=True)
class Installed:
    """What is installed: the active folder (empty: the shipped set), and the ones before it, newest first."""

    active: str
    before: tuple[str, ...]


class Home:
    """The folder of installed data sets."""

    def __init__(self, path: Path) -> None:
        """Use `path`, which is made by the first installation."""
        self.path = path

    def state(self) -> Installed:
        """Return what is active and what was."""
        try:
            lines = (self.path / "active").read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return Installed("", ())
        names = [line.strip() for line in lines[:20]]
        return Installed(names[0] if names else "", tuple(names[1:]))

    def install(self, data: DataSet, prove: Callable[[Path], None]) -> bool:
        """Put a data set in place and make it the active one; return False if it was already.

        `prove` looks at the staged folder and raises if the set is not fit to be used.

        Raises:
            HarvestError: another update holds the lock for minutes, or nothing can be written.
            MatrixError: it has a newer format, or `prove` says no.
        """
        with self._locked():
            state = self.state()
            if state.active == data.folder and self.complete(data.folder):
                return False
            if not self.complete(data.folder):
                self._stage(data, prove)
            before = [n for n in (state.active, *state.before) if n != data.folder]
            self._activate(data.folder, before)
            return True

    def rollback(self) -> Installed:
        """Make the set before the active one active again; return the new state.

        Raises:
            HarvestError: there is none before it.
        """
        with self._locked():
            state = self.state()
            left = [n for n in state.before if n == "" or self.complete(n)]
            if not left and not state.active:
                raise HarvestError(
                    "nothing to go back to: the shipped data is in use",
                    fix="see `stackcheck matrices status`",
                )
            self._activate(left[0] if left else "", left[1:])
            return self.state()

    def complete(self, name: str) -> bool:
        """Whether a folder holds exactly what its checksums say."""
        root = self.path / name
        try:
            lines = (root / "CHECKSUMS").read_text("utf-8").splitlines()
            stated = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
            return all(
                hashlib.sha256((root / file).read_bytes()).hexdigest() == digest
                for file, digest in stated.items()
            ) and bool(stated)
        except (OSError, ValueError):
            return False

    def _stage(self, data: DataSet, prove: Callable[[Path], None]) -> None:
        for left in self.path.glob(".part-*"):
            shutil.rmtree(left, ignore_errors=True)
        part = Path(tempfile.mkdtemp(prefix=".part-", dir=self.path))
        try:
            for name, content in data.files.items():
                file = part / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            if format_of(str(part)) > FORMAT:
                raise newer_format(data.version, format_of(str(part)))
            prove(part)
            rows = (f"{hashlib.sha256(c).hexdigest()}  {n}" for n, c in sorted(data.files.items()))
            (part / "CHECKSUMS").write_text("\n".join(rows) + "\n", "utf-8")
            for folder, _, files in os.walk(part):
                for name in files:
                    _synced(Path(folder) / name)
            part.chmod(0o755)
            final = self.path / data.folder
            if final.exists():
                shutil.rmtree(final)
            part.rename(final)
        except OSError as fault:
            raise HarvestError(f"cannot be written: {fault.strerror}", where=str(self.path)) from fault
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def _activate(self, name: str, before: list[str]) -> None:
        """Replace the file `active`: the one step that counts; then forget sets that nobody can go back to."""
        kept = list(dict.fromkeys(before))[:_KEPT]
        part = self.path / ".active-new"
        part.write_text("\n".join([name, *kept]) + "\n", "utf-8")
        _synced(part)
        os.replace(part, self.path / "active")  # noqa: PTH105
        _synced(self.path)
        for folder in self.path.iterdir():
            if folder.is_dir() and not folder.name.startswith(".") and folder.name not in (name, *kept):
                shutil.rmtree(folder, ignore_errors=True)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            file = (self.path / "lock").open("w")
        except OSError as fault:
            raise HarvestError(f"cannot be written: {fault.strerror}", where=str(self.path)) from fault
        with file:
            end = time.monotonic() + _PATIENCE
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except OSError:
                    if time.monotonic() > end:
                        raise HarvestError("another update is running", where=str(self.path)) from None
                    time.sleep(0.05)
            yield


def _synced(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
