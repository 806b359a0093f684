"""GPU code in the packages of the active environment: what runs natively, what is compiled at first use, what not at all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from stackcheck_probes import fatbin
from stackcheck_probes.ahead import Unit
from stackcheck_probes.elf import Elf, ElfError
from stackcheck_probes.interface import AbsentError, HostError, RefusedError
from stackcheck_probes.look import Look
from stackcheck_probes.probes import packages
from stackcheck_probes.probes.gpus import capability

MAX_FILES = 3000
_CONTENTS = "contents:"


class Contents(NamedTuple):
    """What the headers of a library tell: its GPU code, the newest glibc it asks for (empty if none), and what it links to.

    ``refused`` says why it could not be read.
    """

    code: fatbin.Code
    glibc: tuple[int, ...]
    needed: tuple[str, ...]
    refused: str


def contents(look: Look, path: str) -> Contents:
    """Return what a library holds, read once for all probes; nothing if it cannot be read or is no object."""
    one = packages.active(look)
    meanwhile = one is not None and path in packages.owned_files(look, one)
    get = look.shared.ahead if meanwhile else look.shared.once
    *code, glibc, needed, refused = get(_CONTENTS + path, lambda: _read(look, path))
    return Contents(fatbin.Code(*code), tuple(glibc), tuple(needed), refused)


def ahead(look: Look) -> Iterator[Unit]:
    """Yield the reading of each native library of the active environment, from the end of those that ``code`` goes through."""
    one = packages.active(look)
    for path in sorted(packages.owned_files(look, one))[MAX_FILES - 1 :: -1] if one else ():
        yield _CONTENTS + path, partial(_read, look, path)


def _read(look: Look, path: str) -> list[Any]:
    """Return the fields of ``Contents`` as JSON can hold them."""
    try:
        elf = Elf(look.host.files.map(path))
    except RefusedError as error:
        return [{}, {}, 0, {}, [], [], error.reason]
    except (AbsentError, ElfError):
        return [{}, {}, 0, {}, [], [], ""]
    code = _code_of(look, elf, path)
    return [code.linked, code.relocatable, code.compressed, code.ptx, glibc_floor(elf), _needed(elf), ""]


def _code_of(look: Look, elf: Elf, path: str) -> fatbin.Code:
    try:
        if not fatbin.holds_code(elf):
            return fatbin.Code()
        try:
            with look.host.files.reads(path) as read:
                return fatbin.code_of(elf, read)
        except HostError:  # it cannot be opened once more; reading in blocks is slower, and there
            return fatbin.code_of(elf)
    except ElfError:
        return fatbin.Code()


def code(look: Look) -> None:
    """Scan every native library that a wheel installed, and give each package the targets it is built for."""
    one = packages.active(look)
    if one is None:
        return
    scans: dict[str, list[fatbin.Code]] = {}
    whole: dict[str, fatbin.Code] = {}
    floors: dict[str, tuple[int, ...]] = {}
    refused: dict[str, list[str]] = {}
    for count, (path, owners) in enumerate(sorted(packages.owned_files(look, one).items())):
        if count >= MAX_FILES:
            look.note(f"only the first {MAX_FILES} native libraries were scanned for GPU code")
            break
        place = owners[0][0].path
        held = contents(look, path)
        if held.refused:
            refused.setdefault(held.refused, []).append(path)
        if held.code.images:
            _report(look, path, owners[0][0].name, held.code)
            scans.setdefault(place, []).append(held.code)
            if not _is_of_the_toolkit(owners[0][0].site, path):
                whole.setdefault(owners[0][0].name, fatbin.Code()).merge(held.code)
        floors[place] = max(floors.get(place, ()), held.glibc)
    for reason, paths in refused.items():
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        look.note(f"{paths[0]}{more}: {reason}")
    for place in floors:
        attributes: dict[str, Any] = {}
        if place in scans:
            attributes["targets"] = package_targets(scans[place])
        if floors[place]:
            attributes["glibc"] = ".".join(map(str, floors[place]))
        if attributes:
            look.seen.package(one.environment.prefix, place, {"attributes": attributes})
    _coverage(look, whole)


def _coverage(look: Look, held: dict[str, fatbin.Code]) -> None:
    """Say what the extensions hold, and which of them have no code for the GPUs of this node or only such as is compiled.

    Here every image counts: one kernel that runs is enough not to be called missing.
    """
    targets = {
        name: sorted({*found.linked, *found.relocatable}, key=fatbin.target_key)
        for name, found in sorted(held.items())
    }
    told = [f"{name}: {' '.join(found)}" for name, found in targets.items()]
    look.fact("gpu_code", told, "fat binaries", "fatbin")
    most = {name: max(found.ptx.values(), default=0) for name, found in sorted(held.items())}
    told = [f"{name}: {size}" for name, size in most.items() if size]
    look.fact("ptx_bytes", told, "fat binaries", "fatbin")
    own = capability(look) if targets else None
    if own is None:
        return
    lists: dict[str, list[str]] = {"code_missing": [], "code_jit": []}
    for name, found in targets.items():
        ways = {fatbin.runs(target, own) for target in found}
        fact = "" if "native" in ways else "code_jit" if "jit" in ways else "code_missing"
        if fact:
            lists[fact].append(f"{name} ({', '.join(found)})")
    for fact, entries in lists.items():
        look.fact(fact, entries, "fat binaries", "fatbin", f"compute capability {own[0]}.{own[1]}")


def _is_of_the_toolkit(site: str, path: str) -> bool:
    """Tell whether a library lies where NVIDIA's wheels put theirs (nvidia/cufft/lib).

    They run on the GPUs of their CUDA release, and some keep their kernels in other forms: libcufft.so.12 shows one image.
    """
    return path.startswith(f"{site}/nvidia/")


def package_targets(scans: list[fatbin.Code]) -> list[str]:
    """Return the targets of a package: of each of its files that carries weight, as one may be for one GPU only.

    A file with less than a hundredth of the images of the largest one is an accessory.
    """
    most = max(found.images for found in scans)
    weighty = [found for found in scans if found.images * 100 >= most]
    return sorted({target for found in weighty for target in found.main_targets()}, key=fatbin.target_key)


def _report(look: Look, path: str, package: str, found: fatbin.Code) -> None:
    look.seen.append("code", {
        "path": path, "package": package, "targets": list(found.main_targets()), "images": found.images,
        "linked": dict(sorted(found.linked.items())), "relocatable": dict(sorted(found.relocatable.items())),
        "compressed": found.compressed,
    })  # fmt: skip


def _needed(elf: Elf) -> tuple[str, ...]:
    try:
        return elf.dynamic().needed
    except ElfError:
        return ()


def glibc_floor(elf: Elf) -> tuple[int, ...]:
    """Return the newest glibc version a file asks for, as numbers; empty if it asks for none."""
    try:
        needed = elf.versions_needed()
    except ElfError:
        return ()
    names = (
        name[6:].split(".") for versions in needed.values() for name in versions if name.startswith("GLIBC_")
    )
    return max(
        (tuple(map(int, parts)) for parts in names if all(part.isdigit() for part in parts)), default=()
    )
