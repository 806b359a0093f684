"""GPU code in the packages of the active environment: what runs natively, what is compiled at first use, what not at all."""

from __future__ import annotations

from typing import Any

from stackcheck_probes import fatbin
from stackcheck_probes.elf import ElfError
from stackcheck_probes.look import Look
from stackcheck_probes.probes import packages
from stackcheck_probes.probes.gpus import capability
from stackcheck_probes.probes.native import scanned

MAX_FILES = 3000


def code(look: Look) -> None:
    """Scan every native library that a wheel installed, and give each package the targets it is built for."""
    one = packages.active(look)
    if one is None:
        return
    scans: dict[str, list[fatbin.Code]] = {}
    whole: dict[str, set[str]] = {}
    floors: dict[str, tuple[int, ...]] = {}
    for count, (path, owners) in enumerate(sorted(packages.owned_files(look, one).items())):
        if count >= MAX_FILES:
            look.note(f"only the first {MAX_FILES} native libraries were scanned for GPU code")
            break
        place = owners[0][0].path
        found = scanned(look, path)
        if found is not None and found.images:
            _report(look, path, owners[0][0].name, found)
            scans.setdefault(place, []).append(found)
            if not _is_of_the_toolkit(owners[0][0].site, path):
                whole.setdefault(owners[0][0].name, set()).update(found.linked, found.relocatable)
        floors[place] = max(floors.get(place, ()), glibc_floor(look, path))
    for place in floors:
        attributes: dict[str, Any] = {}
        if place in scans:
            attributes["targets"] = package_targets(scans[place])
        if floors[place]:
            attributes["glibc"] = ".".join(map(str, floors[place]))
        if attributes:
            look.seen.package(one.environment.prefix, place, {"attributes": attributes})
    _coverage(look, whole)


def _coverage(look: Look, held: dict[str, set[str]]) -> None:
    """Say what the extensions hold, and which of them have no code for the GPUs of this node or only such as is compiled.

    Here every image counts: one kernel that runs is enough not to be called missing.
    """
    targets = {name: sorted(found, key=fatbin.target_key) for name, found in sorted(held.items())}
    look.fact(
        "gpu_code",
        [f"{name}: {' '.join(found)}" for name, found in targets.items()],
        "fat binaries",
        "fatbin",
    )
    own = capability(look) if targets else None
    if own is None:
        return
    lists: dict[str, list[str]] = {"code_missing": [], "code_jit": []}
    for name, found in targets.items():
        ways = {fatbin.runs(target, own) for target in found}
        fact = "" if "native" in ways else "code_jit" if "jit" in ways else "code_missing"
        if fact:
            lists[fact].append(f"{name} ({', '.join(found)})")
    for fact, told in lists.items():
        look.fact(fact, told, "fat binaries", "fatbin", f"compute capability {own[0]}.{own[1]}")


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


def glibc_floor(look: Look, path: str) -> tuple[int, ...]:
    """Return the newest glibc version a file asks for, as numbers; empty if it asks for none."""
    elf = look.elf(path)
    try:
        needed = elf.versions_needed() if elf is not None else {}
    except ElfError:
        return ()
    names = (
        name[6:].split(".") for versions in needed.values() for name in versions if name.startswith("GLIBC_")
    )
    return max(
        (tuple(map(int, parts)) for parts in names if all(part.isdigit() for part in parts)), default=()
    )
