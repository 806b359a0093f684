"""Which GPUs a binary holds code for, from the headers of its fat binaries; no image is unpacked.

Format (measured against NVIDIA's ``cuobjdump``; see probes/README.md): sections ``.nv_fatbin`` (linked) and ``__nv_relfatbin``
(relocatable device code) hold containers ``<IHHQ>`` (magic, version, header size, size of the entries), each a row of entries
``<HHIQIIHHIIIQQQ>``: kind, attributes, header size, payload size, compressed size, options, minor, major, architecture,
name offset, name length, flags, reserved, uncompressed size. Flags and kind are never compressed.
"""

from __future__ import annotations

import contextlib
import struct

from stackcheck_probes.elf import Elf
from stackcheck_probes.files import SHORT, Mapped, Read

MAGIC = 0xBA55ED50
MAGIC_BYTES = struct.pack("<I", MAGIC)
SECTIONS = {".nv_fatbin": False, "__nv_relfatbin": True}
KIND_PTX, KIND_ELF = 1, 2
FLAG_COMPRESSED, FLAG_ARCH_SPECIFIC, FLAG_FAMILY = 0x2000 | 0x8000, 0x100000, 0x200000
_CONTAINER = struct.Struct("<IHHQ")
_ENTRY = struct.Struct(
    "<H2xIQ12xI8xQ8xQ"
)  # kind, header size, payload size, architecture, flags, uncompressed size
MAX_ENTRIES = 4_000_000


class Code:
    """How many images a file holds per target: linked, and relocatable (``-rdc``, which cuobjdump lists with ``-all``)."""

    def __init__(
        self,
        linked: dict[str, int] | None = None,
        relocatable: dict[str, int] | None = None,
        compressed: int = 0,
        ptx: dict[str, int] | None = None,
    ) -> None:
        self.linked = linked or {}
        self.relocatable = relocatable or {}
        self.compressed = compressed
        self.ptx = ptx or {}
        """Bytes of PTX text per target, linked or not: how much there is for the driver to compile."""

    def merge(self, other: Code) -> None:
        """Count another file's images too, as of one library split into several files."""
        for mine, theirs in (
            (self.linked, other.linked),
            (self.relocatable, other.relocatable),
            (self.ptx, other.ptx),
        ):
            for target, count in theirs.items():
                mine[target] = mine.get(target, 0) + count
        self.compressed += other.compressed

    @property
    def images(self) -> int:
        """Return the number of images."""
        return sum(self.linked.values()) + sum(self.relocatable.values())

    def main_targets(self) -> tuple[str, ...]:
        """Return the targets that the body of the library is built for.

        Single kernels are often compiled for more targets than the rest; they do not make a library run on a GPU.
        A target counts if it has at least a fifth of the images of the most common one. Relocatable images count
        only where nothing is linked.
        """
        counts = self.linked or self.relocatable
        most = max(counts.values(), default=0)
        return tuple(sorted((name for name, count in counts.items() if count * 5 >= most), key=target_key))


def target_key(target: str) -> tuple[bool, int, str]:
    """Sort key: machine code before PTX, then by number, then by suffix."""
    kind, _, arch = target.partition("_")
    digits = arch.rstrip("abcdefghijklmnopqrstuvwxyz")
    return kind != "sm", int(digits or 0), arch[len(digits) :]


def runs(target: str, capability: tuple[int, int]) -> str:
    """Return how code for a target serves a GPU: ``native``, ``jit`` (PTX, compiled at first use) or an empty text.

    Machine code runs on the same major and an equal or higher minor number; with suffix ``a`` on exactly its own, with ``f``
    within its family, which is what plain code does too. PTX is compiled for any newer GPU; with a suffix the same limits hold.
    """
    kind, _, arch = target.partition("_")
    number, suffix = int(arch.rstrip("af")), arch[-1:] if arch[-1:] in ("a", "f") else ""
    own = (number // 10, number % 10)
    if suffix == "a":
        fits = own == capability
    elif kind == "sm" or suffix == "f":
        fits = own[0] == capability[0] and own[1] <= capability[1]
    else:
        fits = own <= capability
    return ("native" if kind == "sm" else "jit") if fits else ""


def scan(data: Mapped) -> Code:
    """Return the code of an ELF object. Raises ``ElfError`` if it is none."""
    return code_of(Elf(data))


def holds_code(elf: Elf) -> bool:
    """Tell whether an object has a section for GPU code. Raises ``ElfError`` if its section table is damaged."""
    return any(section.name in SECTIONS and section.size for section in elf.sections())


def code_of(elf: Elf, read: Read | None = None) -> Code:
    """Return the code of an object; ``read`` as for ``walk``. Raises ``ElfError`` if its section table is damaged."""
    code = Code()
    for section in elf.sections():
        if section.name in SECTIONS and section.size:
            count(elf.data, section.offset, section.size, code, relocatable=SECTIONS[section.name], read=read)
    return code


def count(
    data: Mapped, start: int, size: int, code: Code, *, relocatable: bool, read: Read | None = None
) -> None:
    """Count the images of the containers in a range of bytes."""
    seen: dict[tuple[int, ...], int] = {}
    walk(data, start, size, seen, read=read)
    counts = code.relocatable if relocatable else code.linked
    for (kind, number, flags, text), times in seen.items():
        if kind in (KIND_PTX, KIND_ELF):
            target = _target(kind, number, flags)
            counts[target] = counts.get(target, 0) + times
            code.compressed += times if flags & FLAG_COMPRESSED else 0
            if kind == KIND_PTX:
                code.ptx[target] = code.ptx.get(target, 0) + text * times


def walk(
    data: Mapped,
    start: int,
    size: int,
    seen: dict[tuple[int, ...], int],
    *,
    read: Read | None = None,
    offsets: list[int] | None = None,
) -> None:
    """Count in ``seen`` the headers of images in a range by kind, number, flags and, of PTX, the size of its text; note all ``offsets``.

    What is no container is skipped over. Headers mostly lie far apart, and most of the time goes into getting there: so ``read``
    should be a short read of the file, and nothing is called in between.
    """
    with contextlib.suppress(OSError, OverflowError):  # what cannot be read ends the count
        _walk(data, start, start + size, seen, read or _slices(data), [] if offsets is None else offsets)


def _walk(
    data: Mapped, start: int, end: int, seen: dict[tuple[int, ...], int], read: Read, offsets: list[int]
) -> None:
    position, left = start, MAX_ENTRIES
    entry_size, unpack = _ENTRY.size, _ENTRY.unpack_from
    block, base, held = b"", 0, 0
    while position + _CONTAINER.size <= end and left > 0:
        if position - base + _CONTAINER.size > held:
            block, base = read(position), position
            held = len(block)
            if held < _CONTAINER.size:
                return
        magic, version, header, length = _CONTAINER.unpack_from(block, position - base)
        if magic != MAGIC or version != 1 or header < _CONTAINER.size or length > end - position - header:
            position = data.find(MAGIC_BYTES, position + 1, end)
            if position < 0:
                return
            continue
        offsets.append(position)
        entry = position + header
        stop = entry + length
        while entry + entry_size <= stop and left > 0:
            left -= 1
            if entry - base + entry_size > held:
                block, base = read(entry), entry
                held = len(block)
                if held < entry_size:
                    return
            kind, header_size, payload, number, flags, unpacked = unpack(block, entry - base)
            if header_size < entry_size or payload > stop - entry - header_size:
                break
            text = 0 if kind != KIND_PTX else unpacked if flags & FLAG_COMPRESSED else payload
            found = (kind, number, flags, text)
            seen[found] = seen.get(found, 0) + 1
            offsets.append(entry)
            entry += header_size + payload
        position = stop
        position += -(position - start) % 8


def _slices(data: Mapped) -> Read:
    def read(offset: int) -> bytes:
        return data[offset : offset + SHORT]

    return read


def _target(kind: int, number: int, flags: int) -> str:
    suffix = "a" if flags & FLAG_ARCH_SPECIFIC else "f" if flags & FLAG_FAMILY else ""
    return f"{'compute' if kind == KIND_PTX else 'sm'}_{number}{suffix}"
