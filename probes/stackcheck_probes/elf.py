"""Reading ELF64 little-endian objects in place: what they need, offer and define. Nothing is loaded or executed.

Format: System V ABI, chapters 4 and 5 (https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html); the GNU hash table
as described in https://sourceware.org/legacy-ml/binutils/2006-10/msg00377.html. Every offset is checked before use.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from stackcheck_probes.files import Mapped

MACHINES = {62: "x86_64", 183: "aarch64", 190: "cuda"}
MAX_ENTRIES = 1 << 20
MAX_STRING = 8192
HEAD = 1 << 16  # bytes in which most of the tables lie: read at once
PIECE, OVERLAP = 1 << 20, 1 << 14  # bytes searched at a time
MAX_NAMES, MAX_TABLE, MAX_SYMBOLS = 1 << 20, 1 << 24, 1 << 28
SHT_NOBITS = 8
PT_LOAD, PT_DYNAMIC = 1, 2
DT_NEEDED, DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SONAME, DT_RPATH, DT_RUNPATH = (
    1,
    4,
    5,
    6,
    10,
    14,
    15,
    29,
)
DT_GNU_HASH, DT_VERDEF, DT_VERNEED = 0x6FFFFEF5, 0x6FFFFFFC, 0x6FFFFFFE
SHN_UNDEF, STB_WEAK = 0, 2


_SECTION = struct.Struct("<II8xQQQ24x")  # name, kind, address, offset, size


class ElfError(ValueError):
    """The file is no ELF64 little-endian object, or a table in it points outside it."""


class Section(NamedTuple):
    """A section: where its bytes are in the file (``size`` 0 if it has none)."""

    name: str
    offset: int
    size: int
    address: int


class Dynamic(NamedTuple):
    """The dynamic section: names the loader acts on. ``rpath`` is ignored by the loader if there is a ``runpath``."""

    soname: str | None
    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]


class Elf:
    """An ELF object in memory or mapped."""

    def __init__(self, data: Mapped) -> None:
        self._head = head = data[:HEAD]
        if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
            raise ElfError("no ELF64 little-endian object")
        self.data = data
        (self.type, machine) = struct.unpack_from("<HH", head, 16)
        self.machine = MACHINES.get(machine, str(machine))
        phoff, self._shoff = struct.unpack_from("<QQ", head, 32)
        phentsize, phnum, self._shentsize, self._shnum, self._shstrndx = struct.unpack_from(
            "<HHHHH", head, 54
        )
        self._sections: list[Section] | None = None
        self._segments = self._read_segments(phoff, phentsize, phnum)
        self._tags = self._read_tags()

    def _unpack(self, layout: str, offset: int) -> tuple[int, ...]:
        size = struct.calcsize(layout)
        try:
            if 0 <= offset <= len(self._head) - size:
                return struct.unpack_from(layout, self._head, offset)
            return struct.unpack(layout, self.data[offset : offset + size])
        except struct.error:
            raise ElfError("a table points outside the file") from None

    def _read_segments(self, offset: int, size: int, count: int) -> list[tuple[int, int, int, int, int]]:
        """Return type, file offset, address, size in the file of each program header (and its flags)."""
        segments = []
        for index in range(count if size >= 56 else 0):
            kind, flags, where, address, _physical, filesz = self._unpack("<IIQQQQ", offset + index * size)
            segments.append((kind, where, address, filesz, flags))
        return segments

    def _read_tags(self) -> dict[int, list[int]]:
        tags: dict[int, list[int]] = {}
        for kind, where, _address, size, _flags in self._segments:
            if kind != PT_DYNAMIC:
                continue
            held = bytes(self.data[where : where + min(size, 16 * 4096)])
            for tag, value in struct.iter_unpack("<qQ", held[: len(held) // 16 * 16]):
                if tag == 0:
                    break
                tags.setdefault(tag, []).append(value)
        return tags

    def _offset(self, address: int) -> int:
        for kind, where, start, size, _flags in self._segments:
            if kind == PT_LOAD and start <= address < start + size:
                return where + address - start
        raise ElfError("an address lies in no segment")

    def _table(self, tag: int) -> int:
        if tag not in self._tags:
            raise ElfError("a dynamic table is missing")
        return self._offset(self._tags[tag][0])

    def _string(self, offset: int) -> str:
        if 0 <= offset < len(self._head):
            end = self._head.find(b"\0", offset, offset + MAX_STRING)
            if end >= 0:
                return self._head[offset:end].decode("utf-8", "replace")
        end = self.data.find(b"\0", offset, offset + MAX_STRING)
        if offset < 0 or end < 0:
            raise ElfError("a string does not end")
        return self.data[offset:end].decode("utf-8", "replace")

    def _tag_string(self, index: int) -> str:
        return self._string(self._table(DT_STRTAB) + index)

    def tables(self) -> list[tuple[int, int]]:
        """Return offset and size of the headers: of the file, of its segments, of its sections, and of the dynamic segment."""
        phoff = self._unpack("<Q", 32)[0]
        kept = [(0, 64), (phoff, 56 * len(self._segments)), (self._shoff, self._shentsize * self._shnum)]
        return kept + [(where, size) for kind, where, _a, size, _f in self._segments if kind == PT_DYNAMIC]

    def sections(self) -> list[Section]:
        """Return all sections; empty if the section table was stripped."""
        if self._sections is None:
            self._sections = self._read_sections()
        return self._sections

    def _read_sections(self) -> list[Section]:
        if not self._shoff or self._shentsize < _SECTION.size:
            return []
        size, count = self._shentsize, self._shnum
        if size * count > MAX_TABLE:
            raise ElfError("an endless section table")
        table = bytes(self.data[self._shoff : self._shoff + size * count])
        if len(table) < size * count:
            raise ElfError("a table points outside the file")
        headers = [_SECTION.unpack_from(table, place) for place in range(0, size * count, size)]
        if self._shstrndx >= len(headers):
            return []
        _name, _kind, _address, start, length = headers[self._shstrndx]
        names = bytes(self.data[start : start + min(length, MAX_NAMES)])
        sections = []
        for name, kind, address, offset, length in headers:
            held = 0 if kind == SHT_NOBITS else length
            end = names.find(b"\0", name)
            if offset + held > len(self.data) or end < 0:
                raise ElfError("a section or its name ends outside the file")
            sections.append(Section(names[name:end].decode("utf-8", "replace"), offset, held, address))
        return sections

    def section(self, name: str) -> Section | None:
        """Return the first section of that name."""
        return next((section for section in self.sections() if section.name == name), None)

    def dynamic(self) -> Dynamic:
        """Return what the loader reads; empty for an object without dynamic section."""
        if DT_STRTAB not in self._tags:
            return Dynamic(None, (), (), ())
        names = {tag: [self._tag_string(i) for i in self._tags.get(tag, ())]
                 for tag in (DT_SONAME, DT_NEEDED, DT_RPATH, DT_RUNPATH)}  # fmt: skip
        return Dynamic(
            soname=names[DT_SONAME][0] if names[DT_SONAME] else None,
            needed=tuple(names[DT_NEEDED]),
            rpath=_split(names[DT_RPATH]),
            runpath=_split(names[DT_RUNPATH]),
        )

    def exports(self, name: str) -> bool:
        """Tell whether the dynamic symbol ``name`` is defined here, by the hash table the loader uses."""
        if DT_GNU_HASH in self._tags:
            return self._gnu_lookup(name)
        return any(symbol == name and defined for symbol, defined, _weak in self.symbols())

    def _gnu_lookup(self, name: str) -> bool:
        encoded = name.encode("utf-8", "surrogateescape")
        wanted = _gnu_hash(encoded)
        table = self._table(DT_GNU_HASH)
        buckets, first, words, shift = self._unpack("<IIII", table)
        if not buckets or not words:
            return False
        bloom = self._unpack("<Q", table + 16 + 8 * ((wanted // 64) % words))[0]
        if not (bloom >> (wanted % 64)) & (bloom >> ((wanted >> shift) % 64)) & 1:
            return False
        start = table + 16 + 8 * words
        index = self._unpack("<I", start + 4 * (wanted % buckets))[0]
        chains = start + 4 * buckets
        symbols, strings = self._table(DT_SYMTAB), self._table(DT_STRTAB)
        for step in range(index, index + MAX_ENTRIES if index >= first else index):
            link = self._unpack("<I", chains + 4 * (step - first))[0]
            if link | 1 == wanted | 1:
                where, _info, _other, section = self._unpack("<IBBH", symbols + 24 * step)
                begin = strings + where
                if section != SHN_UNDEF and self.data[begin : begin + len(encoded) + 1] == encoded + b"\0":
                    return True
            if link & 1:
                return False
        return False

    def code_offset(self, name: str) -> int | None:
        """Return where in the file the defined dynamic symbol ``name`` begins."""
        table, names = self.section(".dynsym"), self.section(".dynstr")
        wanted = name.encode() + b"\0"
        if table is None or names is None:
            return None
        for offset in range(table.offset, table.offset + table.size // 24 * 24, 24):
            where, _info, _other, section, value = self._unpack("<IBBHQ", offset)
            begin = names.offset + where
            if section != SHN_UNDEF and self.data[begin : begin + len(wanted)] == wanted:
                return self._offset(value)
        return None

    def symbols(self) -> Iterator[tuple[str, bool, bool]]:
        """Yield name, defined or not, weak or not of every dynamic symbol (by section .dynsym)."""
        table, names = self.section(".dynsym"), self.section(".dynstr")
        if table is None or names is None:
            return
        strings = self.data[names.offset : names.offset + min(names.size, MAX_SYMBOLS)]
        raw = self.data[table.offset : table.offset + min(table.size, MAX_SYMBOLS) // 24 * 24]
        raw = raw[: len(raw) // 24 * 24]
        for where, info, _other, section, _value, _size in struct.iter_unpack("<IBBHQQ", raw):
            end = strings.find(b"\0", where)
            yield strings[where:end].decode("utf-8", "replace"), section != SHN_UNDEF, info >> 4 == STB_WEAK

    def versions_needed(self) -> dict[str, list[str]]:
        """Return, per needed library, the symbol versions it must define (``libc.so.6`` -> ``GLIBC_2.34`` ...)."""
        result: dict[str, list[str]] = {}
        for offset, (_version, count, name, aux, _next) in self._chain(DT_VERNEED, "<HHIII", 12):
            strings = self._table(DT_STRTAB)
            entries = result.setdefault(self._string(strings + name), [])
            where = offset + aux
            for _ in range(min(count, 4096)):
                string, step = self._unpack("<8xII", where)
                entries.append(self._string(strings + string))
                where += step
        return result

    def versions_defined(self) -> list[str]:
        """Return the symbol versions this object defines, such as ``GLIBCXX_3.4.30``."""
        result: list[str] = []
        for offset, (_version, _flags, _index, _count, _hash, aux, _next) in self._chain(
            DT_VERDEF, "<HHHHIII", 16
        ):
            result.append(self._tag_string(self._unpack("<I", offset + aux)[0]))
        return result

    def _chain(self, tag: int, layout: str, next_at: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        if tag not in self._tags or DT_STRTAB not in self._tags:
            return
        offset = self._table(tag)
        for _ in range(4096):
            yield offset, self._unpack(layout, offset)
            step = self._unpack("<I", offset + next_at)[0]
            if not step:
                return
            offset += step

    def search(self, expression: bytes, limit: int = 64 << 20) -> re.Match[bytes] | None:
        """Return the first match in .rodata, else in the first ``limit`` bytes of the file."""
        return self.place(expression, limit)[0]

    def place(self, expression: bytes, limit: int = 64 << 20) -> tuple[re.Match[bytes] | None, int]:
        """Return the match of ``search``, and where in the file that begins in which its positions count."""
        pattern = re.compile(expression)
        section = self.section(".rodata")
        if section is not None and section.size:
            match, where = self._first(pattern, section.offset, section.offset + min(section.size, limit))
            if match:
                return match, where
        return self._first(pattern, 0, min(len(self.data), limit))

    def _first(self, pattern: re.Pattern[bytes], start: int, stop: int) -> tuple[re.Match[bytes] | None, int]:
        """Return the first match in a range and where the piece begins in which it was found: pieces overlap by more than a match."""
        while True:
            end = min(start + PIECE, stop)
            match = pattern.search(self.data[start:end])
            if match or end == stop:
                return match, start
            start = end - OVERLAP


def _split(paths: list[str]) -> tuple[str, ...]:
    return tuple(part for path in paths for part in path.split(":") if part)


def _gnu_hash(name: bytes) -> int:
    value = 5381
    for byte in name:
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value
