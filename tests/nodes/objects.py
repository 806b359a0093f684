"""Small real ELF objects for node trees and tests, made by gcc: names, strings, symbols, paths and GPU code as asked for.

They hold what the probes read of the real libraries (soname, needed libraries, search paths, version strings, exported
symbols, fat binaries) and nothing else: about 1.5 kB each.
"""

from __future__ import annotations

import struct
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PTX_TEXT = 300_000  # bytes of an image of PTX, unpacked: about what a source file with a few kernels gives
MACHINES = {"x86_64": 62, "aarch64": 183}
FLAGS = [
    "-shared",
    "-nostdlib",
    "-Os",
    "-s",
    "-fPIC",
    "-fcf-protection=none",
    "-fno-asynchronous-unwind-tables",
    "-Wl,--build-id=none",
    "-Wl,-z,norelro",
    "-Wl,--hash-style=gnu",
    "-Wl,--no-as-needed",
]
SMALL = ["-Wl,-z,noseparate-code", "-Wl,-z,max-page-size=64", "-Wl,-z,common-page-size=64"]


@dataclass(frozen=True)
class Spec:
    """What an object holds. ``code`` and ``relocatable`` list targets with the number of their images."""

    soname: str = ""
    strings: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    undefined: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    rpath: str = ""
    runpath: str = ""
    versions: tuple[str, ...] = ()
    code: tuple[tuple[str, int], ...] = ()
    relocatable: tuple[tuple[str, int], ...] = ()
    source: str = ""
    machine: str = "x86_64"
    loadable: bool = False
    """Aligned to pages, so that ld.so takes it; about 9 kB."""


def container(images: tuple[tuple[str, int], ...]) -> bytes:
    """Return a fat binary container; the images themselves are eight bytes of nothing."""
    entries = b""
    for target, count in images:
        kind, _, arch = target.partition("_")
        number = int(arch.rstrip("af"))
        flags = 0x11 | 0x8000 | (0x100000 if arch.endswith("a") else 0x200000 if arch.endswith("f") else 0)
        header = struct.pack(
            "<HHIQIIHHIIIQQQ", 2 if kind == "sm" else 1, 0x101, 64, 8, 8, 0, 8, 1, number, 0, 0, flags, 0,
            99 if kind == "sm" else PTX_TEXT,
        )  # fmt: skip
        entries += (header + b"\x28\xb5\x2f\xfd" + bytes(4)) * count
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


@cache
def build(spec: Spec) -> bytes:
    """Return the bytes of the object."""
    with tempfile.TemporaryDirectory() as folder:
        return _build(spec, Path(folder))


def _build(spec: Spec, folder: Path) -> bytes:
    lines = [spec.source]
    for index, text in enumerate(spec.strings):
        escaped = "".join(f"\\{byte:03o}" for byte in text.encode())
        lines.append(f'__attribute__((used)) static const char text{index}[] = "\\0{escaped}";')
    lines += [f'__asm__(".globl {name}\\n.type {name},@function\\n{name}: ret\\n");' for name in spec.symbols]
    lines += [f'__asm__(".data\\n.quad {name}\\n.text");' for name in spec.undefined]
    for section, images in ((".nv_fatbin", spec.code), ("__nv_relfatbin", spec.relocatable)):
        if images:
            path = folder / f"{section}.bin"
            path.write_bytes(container(images))
            lines.append(f'__asm__(".section {section},\\"a\\"\\n.balign 8\\n.incbin \\"{path}\\"\\n.text");')
    (folder / "a.c").write_text("\n".join(lines) + "\n")
    command = [
        "gcc",
        *FLAGS,
        *([] if spec.loadable else SMALL),
        "-o",
        str(folder / "a.so"),
        str(folder / "a.c"),
    ]
    command += [f"-Wl,-soname,{spec.soname}"] if spec.soname else []
    command += [f"-Wl,--disable-new-dtags,-rpath,{spec.rpath}"] if spec.rpath else []
    command += [f"-Wl,--enable-new-dtags,-rpath,{spec.runpath}"] if spec.runpath else []
    command += [str(_stub(folder, name)) for name in spec.needed]
    if spec.versions:
        script = "".join(f"{name} {{ global: v{i}; }};\n" for i, name in enumerate(spec.versions))
        (folder / "map").write_text(script)
        command.append(f"-Wl,--version-script,{folder / 'map'}")
        with (folder / "a.c").open("a") as file:
            file.writelines(f"void v{i}(void) {{}}\n" for i in range(len(spec.versions)))
    subprocess.run(command, check=True, capture_output=True)
    data = bytearray((folder / "a.so").read_bytes())
    struct.pack_into("<H", data, 18, MACHINES[spec.machine])
    return bytes(data)


def _stub(folder: Path, soname: str) -> Path:
    """Return an empty library of that soname to link against."""
    (folder / "stubs").mkdir(exist_ok=True)
    path = folder / "stubs" / f"{soname}.so"
    source = folder / "empty.c"
    source.write_text("")
    subprocess.run(
        ["gcc", *FLAGS, f"-Wl,-soname,{soname}", "-o", str(path), str(source)],
        check=True,
        capture_output=True,
    )
    return path
