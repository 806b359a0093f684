"""``/etc/ld.so.cache`` and ``/etc/ld.so.conf``: where the loader finds libraries that no path of the object names."""

from __future__ import annotations

import fnmatch
import posixpath
import struct

from stackcheck_probes.host import FileSystem
from stackcheck_probes.interface import HostError

CACHE_LIMIT = 16 << 20
NEW_MAGIC = b"glibc-ld.so.cache1.1"
OLD_MAGIC = b"ld.so-1.7.0"
MAX_ENTRIES = 200_000
MAX_CONF_FILES = 200
_FLAG_TYPE, _FLAG_ELF_LIBC6 = 0xFF, 3
_MACHINE_FLAGS = {0x0300: "x86_64", 0x0A00: "aarch64", 0x0800: "x32", 0x0000: "i686", 0x0900: "armhf"}


def parse_cache(data: bytes, machine: str | None = None) -> dict[str, str]:
    """Return library name -> path; the first entry of a name wins, as in the loader.

    Format: struct cache_file_new in glibc's sysdeps/generic/dl-cache.h. An old-format cache may precede the new one. Entries
    of another machine are left out if ``machine`` is given. A damaged file yields what is sound.
    """
    base = 0
    if data.startswith(OLD_MAGIC) and len(data) >= 16:
        count = struct.unpack_from("<I", data, 12)[0]
        base = (16 + count * 12 + 7) & ~7
    if data[base : base + len(NEW_MAGIC)] != NEW_MAGIC or len(data) < base + 48:
        return {}
    count = struct.unpack_from("<I", data, base + 20)[0]
    result: dict[str, str] = {}
    for index in range(min(count, MAX_ENTRIES)):
        where = base + 48 + 24 * index
        if where + 24 > len(data):
            break
        flags, key, value = struct.unpack_from("<iII", data, where)
        if flags & _FLAG_TYPE != _FLAG_ELF_LIBC6:
            continue
        if machine and _MACHINE_FLAGS.get(flags & 0xFF00, machine) != machine:
            continue
        name, path = _string(data, base + key), _string(data, base + value)
        if name and path:
            result.setdefault(name, path)
    return result


def _string(data: bytes, offset: int) -> str:
    end = data.find(b"\0", offset, offset + 4096)
    return data[offset:end].decode("utf-8", "replace") if 0 <= offset < end else ""


def read_cache(files: FileSystem, machine: str | None) -> dict[str, str]:
    """Return the loader's cache of a node; empty if there is none."""
    try:
        return parse_cache(files.read("/etc/ld.so.cache", CACHE_LIMIT), machine)
    except HostError:
        return {}


def configured_directories(files: FileSystem, path: str = "/etc/ld.so.conf") -> list[str]:
    """Return the directories named by ld.so.conf and what it includes, in order: what ``ldconfig`` would cache."""
    found: list[str] = []
    _read_conf(files, path, found, set())
    return found


def _read_conf(files: FileSystem, path: str, found: list[str], done: set[str]) -> None:
    if path in done or len(done) >= MAX_CONF_FILES:
        return
    done.add(path)
    try:
        text = files.read(path).decode("utf-8", "replace")
    except HostError:
        return
    for line in text.splitlines():
        line = line.split("#", 1)[0].strip()
        if line.startswith("include"):
            for pattern in line.split()[1:]:
                for name in _glob(files, posixpath.join(posixpath.dirname(path), pattern)):
                    _read_conf(files, name, found, done)
        elif line.startswith("/") and line not in found:
            found.append(line.rstrip("/") or "/")


def _glob(files: FileSystem, pattern: str) -> list[str]:
    directory, name = posixpath.split(pattern)
    try:
        names = files.names(directory)
    except HostError:
        return []
    return [posixpath.join(directory, one) for one in names if fnmatch.fnmatch(one, name)]
