"""The parts of a binary that the probes read: headers, dynamic tables, version strings, fat-binary headers. The rest is a hole."""

from __future__ import annotations

import re

from stackcheck_probes import fatbin, versions
from stackcheck_probes.elf import Elf, ElfError
from stackcheck_probes.files import Mapped

WHOLE = 1 << 16
AROUND, HEADER = 96, 64
SECTIONS = (".dynamic", ".dynsym", ".dynstr", ".gnu.hash", ".hash", ".gnu.version", ".gnu.version_r", ".gnu.version_d",
            ".shstrtab", ".modinfo", ".note.cuda.fwd_compatibility", ".interp")  # fmt: skip


def blocks(data: Mapped, name: str) -> list[tuple[int, int]]:
    """Return offset and length of what to keep of a file of that name; the whole of a small one, nothing of a large one that is no object."""
    if len(data) <= WHOLE:
        return [(0, len(data))]
    try:
        elf = Elf(data)
        kept = elf.tables()
        for section in elf.sections():
            if section.name in SECTIONS:
                kept.append((section.offset, section.size))
            if section.name in fatbin.SECTIONS:
                places: list[int] = []
                fatbin.walk(data, section.offset, section.size, {}, offsets=places)
                kept += [(offset, HEADER) for offset in places]
        for file_name, pattern in versions.TEXTS:
            match, base = elf.place(pattern) if re.match(file_name, name) else (None, 0)
            if match:
                start = max(0, base + match.start() - AROUND)
                kept.append((start, match.end() - match.start() + 2 * AROUND))
        code = elf.code_offset("fi_version")
        kept += [(code, AROUND)] if code is not None else []
    except ElfError:
        return []
    return [(start, min(size, len(data) - start)) for start, size in kept if 0 <= start < len(data)]
