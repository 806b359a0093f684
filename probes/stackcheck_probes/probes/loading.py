"""What the loader would take for the environment asked about, and for a process, what it did take."""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple

from stackcheck_probes import libraries
from stackcheck_probes.host import FileSystem
from stackcheck_probes.interface import HostError
from stackcheck_probes.loader import Loaded, Loader, Process
from stackcheck_probes.look import Look
from stackcheck_probes.probes import packages
from stackcheck_probes.probes.system import machine

_MAPPED = r"(?m)^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ [1-9]\d* +(/.*?)(?: \(deleted\))?$"
_FOR_EACH_OBJECT = (
    r"\$(?:\{(?:ORIGIN|LIB|PLATFORM)\}|(?:ORIGIN|LIB|PLATFORM)\b)"  # another directory for each object
)
PLACEHOLDERS = (
    "/usr/local/nvidia/",
)  # NVIDIA's images name it for runtimes that mount the driver there; others do not
_NO_DRIVER = ("libcuda.so.1", "libnvidia-ml.so.1")


class Loading(NamedTuple):
    """The result: ``found`` libraries (real path -> path), the simulated process, and the files mapped by the real one."""

    found: dict[str, str]
    loader: Loader
    process: Process
    torch: str | None
    mapped: frozenset[str]
    by_real: dict[str, Loaded]


def loading(look: Look) -> Loading:
    """Return what would be loaded; worked out once for all probes."""
    return look.shared.once("loading", lambda: _work_out(look))


def loader_cache(look: Look) -> dict[str, str]:
    """Return name -> path as the loader's cache has it; read once for all probes."""
    return look.shared.once("ldcache", lambda: libraries.loader_cache(look.host.files, machine(look)))


def _work_out(look: Look) -> Loading:
    files = look.host.files
    arch = machine(look)
    cache = loader_cache(look)
    loader = Loader(files, look.host.environ, cache, arch)
    mapped = mapped_files(look) if look.host.pid is not None else frozenset()
    found = libraries.find_in(files, _directories(look, loader, cache, mapped))
    torch = torch_directory(look)
    process = loader.process(_torch_entries(files, torch) if torch else ())
    for path in found:
        dynamic = loader.dynamic(path)
        name = (dynamic.soname if dynamic else None) or posixpath.basename(path)
        if name not in process.objects and not name.startswith("libnccl-"):
            loader.open(process, name)
    by_real: dict[str, Loaded] = {}
    for item in process.objects.values():
        by_real.setdefault(look.real(item.path), item)
    return Loading(found, loader, process, torch, mapped, by_real)


def _directories(look: Look, loader: Loader, cache: dict[str, str], mapped: frozenset[str]) -> list[str]:
    """Return every directory in which a library of ours may lie, those the loader prefers first."""
    result = [directory for directory in loader.library_path if directory.startswith("/")]
    result += sorted({posixpath.dirname(path) for name, path in cache.items() if libraries.match(name)})
    result += loader.default_directories
    result += libraries.well_known_directories(look.host.files)
    result += sorted({posixpath.dirname(path) for path in mapped})
    for one in packages.installed(look):
        if one.environment.active:
            owned = packages.owned_files(look, one)
            result += sorted(
                {posixpath.dirname(path) for path in owned if libraries.match(posixpath.basename(path))}
            )
            result += [f"{one.environment.prefix}/lib"] if one.environment.kind == "conda" else []
    return result


def torch_directory(look: Look) -> str | None:
    """Return the directory of torch in the active environment."""
    one = packages.active(look)
    for site in one.environment.site if one else ():
        if look.is_dir(f"{site}/torch/lib"):
            return f"{site}/torch"
    return None


def _torch_entries(files: FileSystem, torch: str) -> list[str]:
    """Return what ``import torch`` loads, in its order: first the global dependencies, then the extension module."""
    entries = [f"{torch}/lib/libtorch_global_deps.so"]
    try:
        entries += [
            f"{torch}/{name}" for name in files.names(torch) if name.startswith("_C.") and ".so" in name
        ]
        libraries_there = files.names(f"{torch}/lib")
    except HostError:
        return entries
    for name in ("libtorch_cuda.so", "libtorch_cpu.so"):
        entries += [f"{torch}/lib/{name}"] if name in libraries_there else []
    return entries


def mapped_files(look: Look) -> frozenset[str]:
    """Return the shared objects mapped by the process asked about (same user, or ptrace permission, needed)."""
    text = look.process("maps")
    return frozenset(path for path in re.findall(_MAPPED, text or "") if ".so" in path)


def loader(look: Look) -> None:
    """What is needed and cannot be found, and what overrides the loader's choice."""
    result = loading(look)
    if result.torch:
        missing = {name: by for name, by in sorted(result.process.missing.items()) if name not in _NO_DRIVER}
        raw = "; ".join(f"{name} needed by {posixpath.basename(by)}" for name, by in missing.items())
        look.fact("missing_libraries", list(missing), result.torch, "loader", raw)
    for name in result.loader.preload:
        loaded = next((item for item in result.process.objects.values() if item.how.startswith("LD_PRELOAD")
                       and name in (item.path, item.soname)), None)  # fmt: skip
        if loaded is None:
            look.fact("preload_missing", name, "LD_PRELOAD", "loader")
    by_reason: dict[str, list[str]] = {}
    for path, reason in sorted(result.loader.refused.items()):
        by_reason.setdefault(reason, []).append(path)
    for reason, paths in by_reason.items():
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        look.note(f"{paths[0]}{more}: {reason}; taken as if the loader passed it over")
    stale = [
        path
        for path in result.loader.library_path
        if not path.startswith(PLACEHOLDERS)
        and not re.search(_FOR_EACH_OBJECT, path)
        and not look.is_dir(path)
    ]
    look.fact("library_path_missing", stale, look.host.environ_where, "loader")
    _shadowed(look, result)


def _shadowed(look: Look, result: Loading) -> None:
    """Libraries of which another copy is taken than the one that came with torch."""
    if not result.torch:
        return
    site = posixpath.dirname(result.torch)
    own: dict[str, str] = {}
    for real in result.found:
        dynamic = result.loader.dynamic(real)
        if dynamic and dynamic.soname and real.startswith(look.real(site) + "/nvidia/"):
            own.setdefault(dynamic.soname, real)
    told = []
    for soname, real in sorted(own.items()):
        taken = result.process.objects.get(soname)
        if taken is not None and look.real(taken.path) != real:
            told.append(f"{soname}: {taken.path} ({taken.how}) instead of {real}")
    look.fact("libraries_shadowed", told, result.torch, "loader")
