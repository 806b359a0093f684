"""CUDA toolkits, their compilers, forward-compatibility libraries, and the user-space half of the driver."""

from __future__ import annotations

import json
import posixpath
import re
from typing import Any

from stackcheck_probes import versions
from stackcheck_probes.elf import ElfError
from stackcheck_probes.look import Look
from stackcheck_probes.probes import packages
from stackcheck_probes.probes.loading import loading

_ROOT = r"cuda(?:-(\d+\.\d+))?$"
_DRIVER_FILE = r"lib(?:cuda|nvidia-ml)\.so\.(\d+\.\d+(?:\.\d+)?)$"
PTXAS_VARIABLES = ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH")


def toolkits(look: Look) -> None:
    """Every toolkit below /usr/local and CUDA_HOME: by version.json, else by the compiler's own text."""
    look.looked_for("cuda-toolkit")
    roots = {look.real(f"/usr/local/{name}") for name in look.names("/usr/local") if re.match(_ROOT, name)}
    home = look.host.environ.get("CUDA_HOME", "")
    roots |= {look.real(home)} if home.startswith("/") and look.is_dir(home) else set()
    current = look.real(home if home.startswith("/") else "/usr/local/cuda")
    for root in sorted(roots):
        nvcc, ptxas = tool_version(look, f"{root}/bin/nvcc"), tool_version(look, f"{root}/bin/ptxas")
        version, where = _by_json(look, root)
        if version is None and nvcc is None:
            continue
        raw = f"nvcc {nvcc}" if nvcc else ""
        by_tool = ".".join(
            (nvcc or "").split(".")[:2]
        )  # its third number counts compiler builds, not toolkit updates
        look.component("cuda-toolkit", version or by_tool, where or f"{root}/bin/nvcc", "file" if version else "elf-strings",
                       raw=raw, loaded=True if root == current else None,
                       attributes={"nvcc": nvcc, "ptxas": ptxas})  # fmt: skip


def _by_json(look: Look, root: str) -> tuple[str | None, str]:
    path = f"{root}/version.json"
    try:
        found = json.loads(look.text(path) or "{}")
        return str(found["cuda"]["version"]), path
    except (ValueError, KeyError, TypeError, RecursionError):
        return None, ""


def tool_version(look: Look, path: str) -> str | None:
    """Return the release a CUDA tool (nvcc, ptxas, nvdisasm) carries in its text, without running it."""
    elf = look.elf(path)
    try:
        match = elf.search(versions.CUDA_TOOL) if elf is not None else None
    except ElfError:
        return None
    return match[1].decode() if match else None


def assemblers(look: Look) -> None:
    """The ptxas inside each Triton, and those put in its place by the environment."""
    for one in packages.installed(look):
        for distribution in one.distributions:
            if distribution.key not in ("triton", "pytorch-triton"):
                continue
            tools = posixpath.join(distribution.site, "triton/backends/nvidia/bin")
            attributes = {name.replace("-", "_"): tool_version(look, f"{tools}/{name}")
                          for name in ("ptxas", "ptxas-blackwell")}  # fmt: skip
            known: dict[str, Any] = {name: version for name, version in attributes.items() if version}
            if known:
                look.seen.package(one.environment.prefix, distribution.path, {"attributes": known})
    for name in PTXAS_VARIABLES:
        path = look.host.environ.get(name, "")
        if path.startswith("/"):
            version = tool_version(look, path)
            look.fact(f"{name.lower()}_version", version or "unusable", path, "elf-strings")


def user_driver(look: Look) -> None:
    """The libcuda that would be loaded against the kernel's driver; forward compatibility; stubs on the path."""
    look.looked_for("cuda-compat")
    result = loading(look)
    path, how = result.loader.search("libcuda.so.1", None)
    taken = look.real(path) if path else ""
    match = re.search(_DRIVER_FILE, taken)
    look.fact("libcuda_path", path, path or "", "loader", how)
    if match:
        look.fact("libcuda_version", match[1], taken, "file-name", how)
    elif path and "/stubs" in taken:
        look.fact("libcuda_is_stub", True, taken, "loader", how)
    for directory in _compat_directories(look):
        _compat(look, directory, taken)


def _compat_directories(look: Look) -> list[str]:
    found = {look.real(f"/usr/local/{name}/{part}") for name in look.names("/usr/local") if re.match(_ROOT, name)
             for part in ("compat", "compat/lib.real", "compat/lib")}  # fmt: skip
    return sorted(directory for directory in found if look.is_dir(directory))


def _compat(look: Look, directory: str, taken: str) -> None:
    """Report a compatibility libcuda: as a component if it is the one loaded, else only that it is there."""
    for name in look.names(directory):
        match = re.fullmatch(r"libcuda\.so\.(\d+\.\d+(?:\.\d+)?)", name)
        if match is None:
            continue
        path = f"{directory}/{name}"
        toolkit = re.search(r"/cuda-(\d+\.\d+)/", path)
        if look.real(path) == taken:
            look.component("cuda-compat", toolkit[1] if toolkit else None, path, "file-name", raw=name, loaded=True,
                           attributes={"package_drivers": [match[1]], "accepts": _note(look, path)})  # fmt: skip
        else:
            look.fact("cuda_compat_available", match[1], path, "file-name")


def _note(look: Look, path: str) -> str | None:
    elf = look.elf(path)
    return versions.forward_compatibility(elf) if elf is not None else None
