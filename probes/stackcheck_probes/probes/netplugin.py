"""Which network plug-in NCCL would open under the present environment, and what else lies about under that name.

Rules: https://github.com/NVIDIA/nccl/blob/master/docs/userguide/source/env.rst (NCCL_NET_PLUGIN, NCCL_TUNER_PLUGIN) and
src/plugin/plugin_open.cc of NCCL.
"""

from __future__ import annotations

import posixpath

from stackcheck_probes import libraries, versions
from stackcheck_probes.elf import Elf, ElfError
from stackcheck_probes.loader import Loaded
from stackcheck_probes.look import Look
from stackcheck_probes.probes.environment import effective
from stackcheck_probes.probes.loading import Loading, loading

_SHARP = rb"nccl-rdma-sharp|NCCL-SHARP|SHARP Plugin|spcx|SPCX"


def net_plugin(look: Look) -> None:
    """The plug-in found by NCCL's rules, its interface versions, the libfabric it would get; none means built-in transports."""
    result = loading(look)
    settings = effective(look)
    requester = result.process.find("libnccl.so")
    chosen = _first(result, candidates(settings.get("NCCL_NET_PLUGIN"), "net"), requester)
    tuner = _first(result, candidates(settings.get("NCCL_TUNER_PLUGIN"), "tuner"), requester)
    _report(look, result, chosen, settings)
    if tuner:
        look.fact("nccl_tuner_plugin", f"{look.real(tuner[0])} ({tuner[1]})", tuner[0], "loader")
        elf = look.elf(look.real(tuner[0]))
        if elf is not None and settings.get("NCCL_TUNER_PLUGIN"):
            look.fact(
                "nccl_tuner_interfaces",
                len(versions.plugin_api(elf).get("tuner_api", [])),
                tuner[0],
                "elf-symbols",
            )
    _copies(look, result, look.real(chosen[0]) if chosen else "")


def candidates(value: str | None, kind: str) -> list[str]:
    """Return the names NCCL tries to open, in order: the file itself, then ``libnccl-KIND-VALUE.so``; by default one name."""
    if not value:
        return [f"libnccl-{kind}.so"]
    if value.lower() == "none":
        return []
    names = []
    for one in value.split(","):
        names += [one.strip(), f"libnccl-{kind}-{one.strip()}.so"]
    return [name for name in names if name]


def _first(result: Loading, names: list[str], requester: Loaded | None) -> tuple[str, str] | None:
    for name in names:
        if "/" in name:
            if result.loader.dynamic(name) is not None:
                return name, "path"
            continue
        path, rule = result.loader.search(name, requester)
        if path:
            return path, rule
    return None


def _report(look: Look, result: Loading, chosen: tuple[str, str] | None, settings: dict[str, str]) -> None:
    wanted = settings.get("NCCL_NET_PLUGIN")
    if chosen is None:
        if result.process.find("libnccl.so") or "nccl" in {_component(path) for path in result.found}:
            look.fact("nccl_net_plugin", "none", "loader", "loader",
                      f"NCCL_NET_PLUGIN={wanted}" if wanted else "no libnccl-net.so found")  # fmt: skip
        return
    path, rule = chosen
    real = look.real(path)
    look.fact("nccl_net_plugin", real, real, "loader", f"{posixpath.basename(path)} by {rule}")
    elf = look.elf(real)
    if elf is None:
        return
    maker = _maker(elf, real)
    look.fact("nccl_net_plugin_kind", maker, real, "elf-strings")
    look.fact("nccl_net_plugin_api", versions.plugin_api(elf).get("net_api"), real, "elf-symbols")
    _dependencies(look, result, path, elf)


def _maker(elf: Elf, path: str) -> str:
    try:
        if versions.ofi_plugin(elf, path) is not None:
            return "aws-ofi-nccl"
        return "sharp" if elf.search(_SHARP) else "other"
    except ElfError:
        return "other"


def _dependencies(look: Look, result: Loading, path: str, elf: Elf) -> None:
    """The libfabric the plug-in would get (none: it does not load, and NCCL goes on with sockets), other libraries missing."""
    try:
        item = Loaded(
            path, posixpath.basename(path), "dlopen", elf.dynamic(), result.process.find("libnccl.so")
        )
    except ElfError:
        return
    missing = []
    for name in item.dynamic.needed:
        known = result.process.objects.get(name)
        where, rule = (known.path, known.how) if known else result.loader.search(name, item)
        if where is None:
            missing.append(name)
        elif name.startswith("libfabric.so"):
            look.fact("libfabric_loaded", f"{look.real(where)} (by {rule})", path, "loader")
            look.seen.mark_loaded("libfabric", look.real(where), f"by {rule}, for the NCCL plug-in")
    look.fact("nccl_net_plugin_missing", missing, path, "loader")


def _copies(look: Look, result: Loading, chosen: str) -> None:
    """Mark the plug-in that is opened among all copies, and list those of other makers."""
    others = []
    for real in result.found:
        if _component(real) != "aws-ofi-nccl" or "tuner" in posixpath.basename(real):
            continue
        elf = look.elf(real)
        if elf is not None and _maker(elf, real) != "aws-ofi-nccl":
            others.append(real)
    look.fact("nccl_net_plugins_other", others, "loader", "elf-strings")
    look.seen.mark_loaded("aws-ofi-nccl", chosen, "by NCCL's rules")


def _component(path: str) -> str | None:
    library = libraries.match(posixpath.basename(path))
    return library.component if library else None
