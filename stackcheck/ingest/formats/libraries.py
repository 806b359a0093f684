"""Where shared libraries are: `ldd`, `ldconfig -p`, `LD_DEBUG=libs`, /proc/PID/maps, `readlink`, `ls` of a library directory.

NVIDIA names its library files by release (`libnccl.so.2.27.3`, `libcuda.so.580.95.05`); other makers name theirs by interface
(`libfabric.so.1.29.0`), which says nothing about the release.
"""

from __future__ import annotations

import re

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

_FILE = Lazy(
    r"(?P<path>(?:/|\.{1,3}/)?(?:[\w.+@-]{1,120}/){0,30})(?P<stem>lib[\w+-]{1,60}?)\.so(?:\.(?P<version>\d{1,9}(?:\.\d{1,9}){0,4}))?(?![\w.])"
)
_RESOLVED = Lazy(r"(?P<stem>lib[\w+-]{1,60}?)\.so[\w.]{0,20}(?: \([^)]{1,60}\))? => (?P<path>/\S{1,250})")
_BY_RELEASE = (
    "libcud",
    "libcublas",
    "libnccl",
    "libnv",
    "libcuf",
    "libcusp",
    "libcusolver",
    "libcuda",
    "libcurand",
    "libgdrapi",
)
_BY_INTERFACE = (
    "libnccl-net",
    "libnccl-tuner",
    "libnvidia-container",
    "libnvshmem_bootstrap",
    "libnvshmem_transport",
    "libcudadebugger",
)
_DRIVER = ("libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler", "libnvidia-nvvm")
# Libraries of the CUDA toolkit that carry its major.minor; a file named by soname alone has it from its directory.
_TOOLKIT = ("libcudart", "libnvJitLink", "libnvrtc", "libcublas")
_TOOLKIT_DIRECTORY = Lazy(r"/cuda-(\d{1,2}\.\d{1,2})/")
_DRIVER_VERSION = Lazy(r"\d{3}\.\d{1,4}(?:\.\d{1,4})?\Z")


def sniff(text: str) -> float:
    """Look for a library."""
    return 0.4 if ".so" in text else 0.0


def read(draft: Draft) -> None:
    """Record library files whose names tell a release, the driver library in use, and libraries loaded from several places."""
    directory = _listed_directory(draft.source.command)
    first_resolved: set[str] = set()
    loaded_from: dict[str, dict[str, Line]] = {}
    for line in draft.source.open():
        text = line.text
        if ".so" not in text or _is_error(text):
            continue
        if "calling init: " in text:
            _loaded(draft, text.partition("calling init: ")[2].strip(), line, loaded_from)
            continue
        if resolved := _RESOLVED.search(text):
            draft.claim(line)
            _resolved(draft, resolved, line, first=resolved["stem"] not in first_resolved)
            first_resolved.add(resolved["stem"])
        for match in list(_FILE.finditer(text))[:64]:
            _file(draft, match, directory, line)
    for component, places in loaded_from.items():
        if len(places) > 1:
            draft.add("mixed_libraries", component, next(reversed(places.values())))


def _is_error(text: str) -> bool:
    return (
        "undefined symbol" in text
        or "cannot open shared" in text
        or "' not found" in text
        or "cannot access" in text
    )


def _listed_directory(command: str) -> str:
    """Return the directory of a command such as `ls /usr/local/cuda/compat | grep libcuda`, or an empty text."""
    match = re.match(
        r"(?:sudo )?ls(?: -\w{1,12}){0,4} (?P<directory>[\w./${}-]{2,200}?)/?(?:\s*\||\s*\Z)", command
    )
    return match["directory"] if match else ""


def _file(draft: Draft, match: re.Match[str], directory: str, line: Line) -> None:
    stem, version = match["stem"], match["version"] or ""
    path = match["path"].rstrip("/") or directory
    full = f"{path}/{match[0].rpartition('/')[2]}" if path else match[0]
    if stem in _DRIVER and _DRIVER_VERSION.match(version):
        _driver_library(draft, stem, version, full, line)
        return
    if not version.count(".") and stem.startswith(_TOOLKIT) and (toolkit := _TOOLKIT_DIRECTORY.search(full)):
        version = toolkit[1]
    if version.count(".") < 1 or not stem.startswith(_BY_RELEASE) or stem.startswith(_BY_INTERFACE):
        return
    component = _component(draft, stem)
    if component:
        draft.component(component, version, line, path=full, attributes={"library": stem})


def _component(draft: Draft, stem: str) -> str | None:
    """Return the component of a library; parts such as `libcudnn_graph` belong to `libcudnn`, `libcublasLt` to `libcublas`."""
    names = (stem, stem.partition("_")[0], stem.removesuffix("Lt"))
    return next((c for n in names if (c := draft.context.component(n))), None)


def _driver_library(draft: Draft, stem: str, version: str, path: str, line: Line) -> None:
    if "/compat" in path:
        draft.component("cuda-compat", version, line, path=path)
        return
    draft.component("driver", version, line, path=path, attributes={"part": "user-space"})
    if stem == "libnvidia-ml":
        draft.first_fact("driver_nvml", version, line)


def _resolved(draft: Draft, match: re.Match[str], line: Line, *, first: bool) -> None:
    """The first hit is what the loader takes."""
    path = match["path"]
    if match["stem"] != "libcuda" or not first:
        return
    draft.fact("libcuda_path", path, line)
    if version := re.search(r"libcuda\.so\.(\d{3}\.[\d.]{1,12})\Z", path):
        draft.fact("libcuda_version", version[1], line)
    if "/compat" in path and not re.search(r"libcuda\.so\.\d{3}\.", path):
        draft.component("cuda-compat", "", line, path=path, loaded=True)


def _loaded(draft: Draft, path: str, line: Line, loaded_from: dict[str, dict[str, Line]]) -> None:
    match = _FILE.match(path)
    component = _component(draft, match["stem"]) if match else None
    if match is None or component is None:
        draft.source.claim(line.number)
        return
    draft.source.claim(line.number)
    loaded_from.setdefault(component, {}).setdefault(match["path"].rstrip("/"), line)
    if (match["version"] or "").count(".") >= 1:
        draft.component(component, match["version"], line, path=path, loaded=True)
