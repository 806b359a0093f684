"""GPU code in the packages of the active environment: what runs natively, what is compiled at first use, what not at all."""

from __future__ import annotations

from typing import Any

from stackcheck_probes import fatbin
from stackcheck_probes.elf import Elf, ElfError
from stackcheck_probes.interface import HostError
from stackcheck_probes.look import Look
from stackcheck_probes.probes import packages
from stackcheck_probes.probes.native import scanned

MAX_FILES = 3000


def code(look: Look) -> None:
    """Scan every native library that a wheel installed, and give each package the targets it is built for."""
    one = packages.active(look)
    if one is None:
        return
    targets: dict[str, set[str]] = {}
    floors: dict[str, tuple[int, ...]] = {}
    for count, (path, owners) in enumerate(sorted(packages.owned_files(look, one).items())):
        if count >= MAX_FILES:
            look.note(f"only the first {MAX_FILES} native libraries were scanned for GPU code")
            break
        place = owners[0][0].path
        found = scanned(look, path)
        if found is not None and found.images:
            _report(look, path, owners[0][0].name, found)
            targets.setdefault(place, set()).update(found.main_targets())
        floors[place] = max(floors.get(place, ()), glibc_floor(look, path))
    for place in floors:
        attributes: dict[str, Any] = {}
        if place in targets:
            attributes["targets"] = sorted(targets[place], key=fatbin.target_key)
        if floors[place]:
            attributes["glibc"] = ".".join(map(str, floors[place]))
        if attributes:
            look.seen.package(one.environment.prefix, place, {"attributes": attributes})


def _report(look: Look, path: str, package: str, found: fatbin.Code) -> None:
    look.seen.append("code", {
        "path": path, "package": package, "targets": list(found.main_targets()), "images": found.images,
        "linked": dict(sorted(found.linked.items())), "relocatable": dict(sorted(found.relocatable.items())),
        "compressed": found.compressed,
    })  # fmt: skip


def glibc_floor(look: Look, path: str) -> tuple[int, ...]:
    """Return the newest glibc version a file asks for, as numbers; empty if it asks for none."""
    try:
        needed = Elf(look.host.files.map(path)).versions_needed()
    except (HostError, ElfError):
        return ()
    names = (
        name[6:].split(".") for versions in needed.values() for name in versions if name.startswith("GLIBC_")
    )
    return max(
        (tuple(map(int, parts)) for parts in names if all(part.isdigit() for part in parts)), default=()
    )
