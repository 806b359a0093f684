"""What the tags of a release's wheels say: architectures, the glibc floor, the Pythons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stackcheck.harvest.simple_index import File

_MANYLINUX = re.compile(r"manylinux_(\d+)_(\d+)_(x86_64|aarch64)\Z")
_LEGACY = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}
"""PEP 600: the older names of floors."""
_CPYTHON = re.compile(r"cp(\d)(\d+)\Z")


@dataclass(frozen=True, slots=True)
class Variant:
    """The wheels of one release for one CPU architecture."""

    arch: str
    glibc: str
    pythons: tuple[str, ...]


def variants(files: Iterable[File], pythons: Sequence[str]) -> tuple[Variant, ...]:
    """Return one variant per architecture with binary wheels; none for a pure Python release.

    `pythons` are the minors that the release may be installed on, oldest first.
    """
    floors: dict[str, tuple[int, int]] = {}
    minors: dict[str, set[str]] = {}
    for file in files:
        for interpreter, abi, platform in file.tags:
            arch, floor = _platform(platform)
            if not arch:
                continue
            if floor is not None:
                floors[arch] = min(floors.get(arch, floor), floor)
            minors.setdefault(arch, set()).update(_minors(interpreter, abi, pythons))
    return tuple(
        Variant(
            arch,
            f"{floors[arch][0]}.{floors[arch][1]}" if arch in floors else "",
            tuple(p for p in pythons if p in minors[arch]),
        )
        for arch in sorted(minors, reverse=True)
    )


def _platform(tag: str) -> tuple[str, tuple[int, int] | None]:
    match = _MANYLINUX.match(tag)
    if match:
        return match[3], (int(match[1]), int(match[2]))
    for name, floor in _LEGACY.items():
        if tag.startswith(f"{name}_") and tag.endswith(("x86_64", "aarch64")):
            return tag.removeprefix(f"{name}_"), floor
    if tag.startswith("linux_") and tag.endswith(("x86_64", "aarch64")):
        return tag.removeprefix("linux_"), None
    return "", None


def _minors(interpreter: str, abi: str, pythons: Sequence[str]) -> tuple[str, ...]:
    """Return the minors a tag is good for: `cp38-abi3` serves all from 3.8 on, `py3-none` every one."""
    match = _CPYTHON.match(interpreter)
    if match is None:
        return tuple(pythons) if interpreter in ("py3", "py2.py3") else ()
    first = f"{match[1]}.{match[2]}"
    if abi != "abi3":
        return (first,) if first in pythons else ()
    return tuple(p for p in pythons if _numbers(p) >= _numbers(first))


def _numbers(minor: str) -> tuple[int, ...]:
    return tuple(int(n) for n in minor.split("."))
