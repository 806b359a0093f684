"""METADATA out of a wheel whose middle nobody downloads: the zip's central directory stands at its end.

Format: PKWARE's APPNOTE, 4.3.6 to 4.3.16 and the zip64 records. Everything in it is hostile: offsets, sizes, names, counts.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from stackcheck.harvest.interface import HarvestError

_END = b"PK\x05\x06"
_END_64 = b"PK\x06\x06"
_LOCATOR_64 = b"PK\x06\x07"
_CENTRAL = b"PK\x01\x02"
_LOCAL = b"PK\x03\x04"
TAIL = 65_557  # bytes: end record and the longest comment
_MOST_FILES = 200_000
_LARGEST_DIRECTORY = 64_000_000
_LARGEST_METADATA = 4_000_000
_STORED, _DEFLATED = 0, 8

Read = Callable[[int, int], bytes]
"""(first byte, number of bytes) to exactly those bytes of the wheel."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of the central directory."""

    name: str
    method: int
    flags: int
    crc: int
    packed: int
    size: int
    offset: int


def metadata_of(filename: str, size: int, read: Read) -> bytes:
    """Return the bytes of `NAME-VERSION.dist-info/METADATA` of a wheel of `size` bytes, reading only what is needed.

    Raises:
        HarvestError: it is no wheel, or its directory cannot be trusted.
    """
    try:
        name, version, _, _ = parse_wheel_filename(filename)
    except InvalidWheelFilename as fault:
        raise HarvestError("is no wheel", where=filename[:200]) from fault
    wanted = [e for e in directory(size, read) if _is_metadata(e.name, name)]
    if len(wanted) != 1:
        raise HarvestError(
            f"{len(wanted)} METADATA files for {name} {version}", where=filename, fix="a wheel has one"
        )
    return _content(wanted[0], size, read, filename)


def _is_metadata(path: str, name: str) -> bool:
    folder, slash, file = path.partition("/")
    if not slash or file != "METADATA" or not folder.endswith(".dist-info"):
        return False
    return canonicalize_name(folder.removesuffix(".dist-info").rpartition("-")[0]) == name


def directory(size: int, read: Read) -> tuple[Entry, ...]:
    """Return the entries of the central directory.

    Raises:
        HarvestError: it lies outside the file, is too large, names a file twice, or leads out of the archive.
    """
    length = min(size, TAIL)
    tail = read(size - length, length)
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < 22:
        raise _broken("no end record: not a zip, or cut off")
    count, span, start = struct.unpack("<HII", tail[at + 10 : at + 20])
    if 0xFFFFFFFF in (span, start) or count == 0xFFFF:
        count, span, start = _zip64(tail, at, size, size - length, read)
    if count > _MOST_FILES or span > _LARGEST_DIRECTORY or start + span > size:
        raise _broken("the central directory is too large or lies outside the file")
    held = size - length
    raw = tail[start - held : start - held + span] if start >= held else read(start, span)
    entries = _entries(raw, count)
    names = [e.name for e in entries]
    if len(set(names)) != len(names):
        raise _broken("a file stands twice in it")
    return entries


def _zip64(tail: bytes, at: int, size: int, held: int, read: Read) -> tuple[int, int, int]:
    locator = tail[at - 20 : at] if at >= 20 else b""
    if locator[:4] != _LOCATOR_64:
        raise _broken("zip64 without its locator")
    (offset,) = struct.unpack("<Q", locator[8:16])
    if offset + 56 > size:
        raise _broken("the zip64 record lies outside the file")
    record = tail[offset - held : offset - held + 56] if offset >= held else read(offset, 56)
    if record[:4] != _END_64 or len(record) < 56:
        raise _broken("no zip64 record where the locator points")
    count, span, start = struct.unpack("<QQQ", record[32:56])
    return count, span, start


def _entries(raw: bytes, count: int) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    at = 0
    for _ in range(count):
        if raw[at : at + 4] != _CENTRAL or len(raw) < at + 46:
            raise _broken("the central directory is cut off")
        flags, method = struct.unpack("<HH", raw[at + 8 : at + 12])
        crc, packed, size, n_name, n_extra, n_comment = struct.unpack("<IIIHHH", raw[at + 16 : at + 34])
        (offset,) = struct.unpack("<I", raw[at + 42 : at + 46])
        name = raw[at + 46 : at + 46 + n_name]
        extra = raw[at + 46 + n_name : at + 46 + n_name + n_extra]
        if len(name) < n_name:
            raise _broken("the central directory is cut off")
        size, packed, offset = _wide(extra, size, packed, offset)
        entries.append(Entry(_safe(name), method, flags, crc, packed, size, offset))
        at += 46 + n_name + n_extra + n_comment
    return tuple(entries)


def _wide(extra: bytes, *values: int) -> tuple[int, int, int]:
    """Return (size, packed size, offset), the ones that say 0xFFFFFFFF replaced by those of the zip64 extra field."""
    found = list(values)
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack("<HH", extra[at : at + 4])
        body = extra[at + 4 : at + 4 + length]
        if kind == 1:
            for i, value in enumerate(found):
                if value == 0xFFFFFFFF and len(body) >= 8:
                    (found[i],) = struct.unpack("<Q", body[:8])
                    body = body[8:]
        at += 4 + length
    return found[0], found[1], found[2]


def _safe(name: bytes) -> str:
    text = name.decode("utf-8", "replace")
    if (
        text.startswith(("/", "\\"))
        or ".." in text.replace("\\", "/").split("/")
        or "\0" in text
        or ":" in text[:2]
    ):
        raise _broken(f"a name leads out of it: {text[:80]!r}")
    return text


def _content(entry: Entry, size: int, read: Read, where: str) -> bytes:
    if entry.flags & 1 or entry.method not in (_STORED, _DEFLATED):
        raise HarvestError("METADATA is encrypted or packed in an odd way", where=where)
    if entry.size > _LARGEST_METADATA or entry.packed > _LARGEST_METADATA:
        raise HarvestError(f"METADATA of {entry.size} bytes", where=where, fix="nothing real is that long")
    if entry.offset + 30 + entry.packed > size:
        raise HarvestError("METADATA lies outside the file", where=where)
    header = read(entry.offset, 30)
    if header[:4] != _LOCAL:
        raise HarvestError("no file where the directory points", where=where)
    n_name, n_extra = struct.unpack("<HH", header[26:30])
    start = entry.offset + 30 + n_name + n_extra
    if start + entry.packed > size:
        raise HarvestError("METADATA lies outside the file", where=where)
    packed = read(start, entry.packed) if entry.packed else b""
    data = packed if entry.method == _STORED else _inflated(packed, where)
    if len(data) != entry.size or zlib.crc32(data) != entry.crc:
        raise HarvestError("METADATA does not match its checksum", where=where)
    return data


def _inflated(packed: bytes, where: str) -> bytes:
    unpacker = zlib.decompressobj(-15)
    try:
        data = unpacker.decompress(packed, _LARGEST_METADATA + 1)
    except zlib.error as fault:
        raise HarvestError(f"METADATA cannot be unpacked: {fault}", where=where) from fault
    if len(data) > _LARGEST_METADATA or not unpacker.eof:
        raise HarvestError("METADATA is longer than it says, or cut off", where=where)
    return data


def _broken(what: str) -> HarvestError:
    return HarvestError(what, where="wheel", fix="the file on the index is damaged or hostile")
