"""Native libraries: every copy on the node, its version, and whether it is the one that is (or would be) loaded."""

from __future__ import annotations

import posixpath
import re
from typing import Any

from stackcheck_probes import fatbin, libraries
from stackcheck_probes.libraries import Library
from stackcheck_probes.look import Look
from stackcheck_probes.probes import packages
from stackcheck_probes.probes.code import contents
from stackcheck_probes.probes.loading import Loading, loading
from stackcheck_probes.versions import Told

_CUDNN_PART = r"libcudnn_[a-z_]+\.so\.\d+"
_BLAS_PART = r"libcublasLt\.so\.\d+"


def native(look: Look) -> None:
    """Report every copy of every library of ``libraries.LIBRARIES``."""
    look.looked_for(*(library.component for library in libraries.LIBRARIES))
    result = loading(look)
    chosen = {library.component for real in result.found if _is_loaded(result, real)
              for library in [libraries.match(posixpath.basename(result.found[real]))] if library}  # fmt: skip
    for real, path in sorted(result.found.items()):
        library = libraries.match(posixpath.basename(path))
        if library is not None and ".so" in posixpath.basename(real):
            _report(look, result, library, real, library.component in chosen)
    _replaced(look)


def _replaced(look: Look) -> None:
    """Libraries of the active environment that tell another version than the wheel that owns them: they were replaced."""
    one = packages.active(look)
    if one is None:
        return
    told = []
    again: dict[str, None] = {}
    for path, owners in sorted(packages.owned_files(look, one).items()):
        library = libraries.match(posixpath.basename(path))
        # a wheel that only carries a copy (libnccl inside torch) says nothing of the library's version
        named = [item for item, _file in owners if library is not None and library.component in item.key]
        if library is None or not named:
            continue
        found = _told(look, library, look.real(path))
        if found is None or found.method != "elf-strings":
            continue
        if not any(_same(found.version, item.version) for item in named):
            told.append(f"{path}: {found.version}, {named[0].name} {named[0].version}")
            again[f"{named[0].name}=={named[0].version}"] = None
    if again:
        look.fact("packages_replaced", " ".join(again), one.environment.prefix, "elf-strings")
    look.fact("libraries_not_of_their_package", told, one.environment.prefix, "elf-strings")


def _told(look: Look, library: Library, real: str) -> Told | None:
    """Return what a library tells of its version; read once, as the texts of large ones are long."""
    return look.shared.once(f"told:{real}", lambda: libraries.told_by(look.elf(real), library, real))


def _same(own: str, package: str) -> bool:
    """Tell whether two versions agree in the numbers that both have (2.30.7 and 2.30.7.post1 do)."""
    pairs = zip(re.findall(r"\d+", own.partition("+")[0]), re.findall(r"\d+", package.partition("+")[0]))
    return all(int(a) == int(b) for a, b in pairs)


def _is_loaded(result: Loading, real: str) -> bool:
    return real in result.mapped if result.mapped else real in result.by_real


def _report(look: Look, result: Loading, library: Library, real: str, some_loaded: bool) -> None:
    told = _told(look, library, real)
    if library.component == "aws-ofi-nccl" and told is None:
        return  # another maker's plug-in: see net_plugin
    if told is None:
        told = owner(look, real) or _header(look, library, real) or Told("", "file", posixpath.basename(real))
    attributes: dict[str, Any] = dict(told.attributes)
    version = told.version
    if library.component == "cuda" and version:
        if version.count(".") > 1:
            attributes["runtime_component"] = version
        version = ".".join(version.split(".")[:2])
    if library.component == "aws-ofi-nccl":
        some_loaded = False  # its own probe knows
    attributes.update(_code(look, library, real))
    loaded, where = None, real
    if some_loaded:
        loaded = _is_loaded(result, real)
        rule = f"maps of process {look.host.pid}" if result.mapped else _rule(result, real)
        where = f"{real} ({rule})" if loaded else real
    look.component(
        library.component,
        version,
        real,
        told.method,
        raw=told.raw,
        attributes=attributes,
        loaded=loaded,
        where=where,
    )


def _rule(result: Loading, real: str) -> str:
    item = result.by_real.get(real)
    return f"by {item.how}" if item else ""


def owner(look: Look, real: str) -> Told | None:
    """Return the version of the wheel that installed a file, for libraries that do not tell their own."""
    for one in packages.installed(look):
        for path, owners in packages.owned_files(look, one).items():
            if posixpath.basename(path) == posixpath.basename(real) and look.real(path) == real:
                distribution = owners[0][0]
                raw = f"{distribution.name} {distribution.version}"
                return Told(distribution.version, "dist-info", raw, {"package": distribution.name})
    return None


_HEADERS = {
    "cudnn": ("cudnn_version.h", ("CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL")),
    "nccl": ("nccl.h", ("NCCL_MAJOR", "NCCL_MINOR", "NCCL_PATCH")),
}


def _header(look: Look, library: Library, real: str) -> Told | None:
    """Return the version in the header beside the library; less trusted, as the two can be of different packages."""
    if library.component == "cuda":
        return _runtime_header(look, posixpath.dirname(real))
    if library.component not in _HEADERS:
        return None
    name, macros = _HEADERS[library.component]
    directory = posixpath.dirname(real)
    for path in (posixpath.normpath(f"{directory}/../include/{name}"), f"/usr/include/{name}"):
        text = look.text(path)
        numbers = [re.search(rf"#define {macro}\s+(\d+)", text or "") for macro in macros]
        if all(numbers):
            version = ".".join(number[1] for number in numbers if number)
            return Told(version, "header", f"{path}: {version}")
    return None


def _runtime_header(look: Look, directory: str) -> Told | None:
    path = posixpath.normpath(f"{directory}/../include/cuda_runtime_api.h")
    match = re.search(r"#define CUDART_VERSION\s+(\d{4,6})", look.text(path, 4 << 20) or "")
    code = int(match[1]) if match else 0
    return Told(f"{code // 1000}.{code % 1000 // 10}", "header", f"{path}: {code}") if code else None


def _code(look: Look, library: Library, real: str) -> dict[str, Any]:
    """Return the targets a library is built for; cuDNN and cuBLAS keep their code in files beside it."""
    directory = posixpath.dirname(real)
    paths = [real] if library.code else []
    part = {"cudnn": _CUDNN_PART, "cublas": _BLAS_PART}.get(library.component)
    if part is not None:
        paths = [f"{directory}/{name}" for name in look.names(directory) if re.fullmatch(part, name)]
    code = fatbin.Code()
    for path in paths:
        code.merge(contents(look, path).code)
    found: dict[str, Any] = {"targets": list(code.main_targets())} if code.images else {}
    if library.component == "cudnn":
        found["sublibraries"] = len(paths)
    return found
