"""torch as installed: version, CUDA and ABI it was built with, its pins, and extensions that were built for another torch."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from stackcheck_probes import dists
from stackcheck_probes.dists import Distribution
from stackcheck_probes.elf import Elf, ElfError
from stackcheck_probes.look import Look
from stackcheck_probes.probes import packages
from stackcheck_probes.probes.code import contents
from stackcheck_probes.probes.packages import Installed

_ASSIGNMENT = r"(?m)^(__version__|cuda|git_version|hip)\b[^=\n]*=\s*['\"]([^'\"\n]+)['\"]"
_ABI_FLAG = r"_GLIBCXX_USE_CXX11_ABI=([01])"
_LOCAL = r"torch(\d+\.\d+)"
_LOCAL_ABI = r"(?i)cxx11abi(TRUE|FALSE)"
# Names only torch itself defines: templates of its namespaces may be instantiated anywhere, but then they are weak.
_TORCH_SYMBOL = r"_Z(?:T[ISV])?N?K?(?:2at|3c10|5torch)\w|aoti_torch_|THPVariable"
_TORCH_LIBRARY = r"lib(?:torch|c10)[a-z0-9_]*\.so$"
# Wheels that serve many versions of torch ship a library per version and load the one that fits (apache-tvm-ffi's addon_torch29-cuda.so).
_ONE_OF_MANY = r"torch_?\d\.?\d{1,2}(?!\d)"
SHOWN = 5
MAX_EXTENSIONS = 400


def torch_build(look: Look) -> None:
    """Report the build of torch in every environment, then extensions that do not fit the active one."""
    for one in packages.installed(look):
        for distribution in one.distributions:
            directory = posixpath.join(distribution.site, "torch")
            if distribution.key == "torch" and look.exists(f"{directory}/version.py"):
                _report(look, one, distribution, directory)
            else:
                _local_label(look, one, distribution)
    active = packages.active(look)
    if active is not None:
        _extensions(look, active)


def _report(look: Look, one: Installed, distribution: Distribution, directory: str) -> None:
    text = look.text(f"{directory}/version.py") or ""
    fields = dict(re.findall(_ASSIGNMENT, text))
    attributes: dict[str, Any] = {}
    if fields.get("cuda"):
        attributes["cuda"] = fields["cuda"]
    abi = cxx_abi(look, directory)
    if abi:
        attributes["abi"] = abi
    pins = dists.requirements(look.host.files, distribution)
    if pins:
        attributes["pins"] = [f"{name}=={version}" for name, version in sorted(pins.items())]
    version = fields.get("__version__") or distribution.version
    look.seen.package(one.environment.prefix, distribution.path, {
        "version": version, "attributes": attributes, "method": "version.py", "where": f"{directory}/version.py",
    })  # fmt: skip
    if one.environment.active:
        _pins(look, one, pins)


def cxx_abi(look: Look, directory: str) -> str | None:
    """Return ``cxx11`` or ``pre-cxx11``: by the flags torch tells extensions to use, else by its own symbols."""
    match = re.search(_ABI_FLAG, look.text(f"{directory}/share/cmake/Torch/TorchConfig.cmake") or "")
    if match:
        return "cxx11" if match[1] == "1" else "pre-cxx11"
    elf = look.elf(f"{directory}/lib/libc10.so")
    try:
        symbols = list(elf.symbols()) if elf is not None else []
    except ElfError:
        return None
    own = [name for name, defined, _weak in symbols if defined and "3c105Error" in name]
    return None if not own else "cxx11" if any("__cxx11" in name for name in own) else "pre-cxx11"


def _pins(look: Look, one: Installed, pins: dict[str, str]) -> None:
    """Packages whose installed version is not the one torch was released with."""
    installed: dict[str, str] = {}
    for distribution in one.distributions:
        installed.setdefault(distribution.key, distribution.version)
    differ = [f"{name} {installed[name]} (torch wants {version})" for name, version in sorted(pins.items())
              if name in installed and not version.endswith("*") and _plain(installed[name]) != _plain(version)]  # fmt: skip
    look.fact("torch_pins_broken", differ, "torch METADATA", "dist-info")


def _plain(version: str) -> str:
    """Return a version without its local label and without zeros at the end, which PEP 440 does not count."""
    return re.sub(r"(?:\.0)+$", "", version.partition("+")[0])


def _local_label(look: Look, one: Installed, distribution: Distribution) -> None:
    """Report what the local label of an extension says it was built for (``+cu12torch2.8cxx11abiTRUE``)."""
    label = distribution.version.partition("+")[2]
    torch, abi = re.search(_LOCAL, label), re.search(_LOCAL_ABI, label)
    if torch is None and abi is None:
        return
    attributes: dict[str, Any] = {}
    if torch:
        attributes["torch"] = torch[1]
    if abi:
        attributes["abi"] = "cxx11" if abi[1].upper() == "TRUE" else "pre-cxx11"
    look.seen.package(one.environment.prefix, distribution.path, {"attributes": attributes})


def _extensions(look: Look, one: Installed) -> None:
    """Extension modules whose undefined torch symbols no library of the installed torch defines."""
    torch = next((site for site in one.environment.site if look.is_dir(f"{site}/torch/lib")), None)
    if torch is None:
        return
    defining = _torch_libraries(look, f"{torch}/torch/lib")
    broken: dict[str, list[str]] = {}
    checked = 0
    for path, owners in packages.owned_files(look, one).items():
        distribution = owners[0][0]
        if distribution.key == "torch" or checked >= MAX_EXTENSIONS or not defining:
            continue
        if re.search(_ONE_OF_MANY, posixpath.basename(path)):
            continue
        missing = missing_symbols(look, path, defining)
        checked += missing is not None
        if missing:
            broken.setdefault(distribution.path, []).extend(missing)
    for place, symbols in broken.items():
        look.seen.package(one.environment.prefix, place, {
            "attributes": {"torch_symbols_missing": sorted(set(symbols))[:SHOWN]},
        })  # fmt: skip
    names = sorted({one_.name for one_ in one.distributions if one_.path in broken})
    look.fact("extensions_for_other_torch", names, f"{torch}/torch/lib", "elf-symbols",
              "; ".join(symbol for symbols in broken.values() for symbol in symbols[:SHOWN]))  # fmt: skip


def _torch_libraries(look: Look, directory: str) -> list[Elf]:
    found = []
    for name in look.names(directory):
        if re.fullmatch(_TORCH_LIBRARY, name):
            elf = look.elf(f"{directory}/{name}")
            if elf is not None:
                found.append(elf)
    return found


def missing_symbols(look: Look, path: str, defining: list[Elf]) -> list[str] | None:
    """Return the strong undefined torch symbols of an extension that nobody defines; None if it does not link to torch."""
    if not any(re.fullmatch(_TORCH_LIBRARY, name) for name in contents(look, path).needed):
        return None
    elf = look.brief_elf(path)
    try:
        wanted = [name for name, defined, weak in elf.symbols()
                  if not defined and not weak and re.match(_TORCH_SYMBOL, name)] if elf is not None else []  # fmt: skip
        return [name for name in wanted if not any(library.exports(name) for library in defining)]
    except ElfError:
        return None
