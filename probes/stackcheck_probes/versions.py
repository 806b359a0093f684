"""How each native library says which release it is; nothing is loaded or run.

What works per library was tried on the published files (probes/README.md): some embed a string, some carry the version in the
file name of system packages, some (cuDNN, cuBLAS, the CUDA runtime of wheels) say nothing, and only their package knows.
"""

from __future__ import annotations

import posixpath
import re
import struct
from collections.abc import Mapping
from typing import Any, Callable, NamedTuple, Optional

from stackcheck_probes.elf import Elf, ElfError


class Told(NamedTuple):
    """What a file told: its version, how, the text itself, and further attributes."""

    version: str
    method: str
    raw: str
    attributes: Mapping[str, Any] = {}


SEARCH_LIMIT = 64 << 20
Reader = Callable[[Elf, str], Optional[Told]]


def by_string(pattern: bytes, *names: str) -> Reader:
    """Return a reader: group 1 of the pattern is the version, further groups are the attributes named."""

    def read(elf: Elf, _path: str) -> Told | None:
        match = elf.search(pattern)
        if match is None:
            return None
        groups = [group.decode("utf-8", "replace") if group else None for group in match.groups()]
        attributes = {name: value for name, value in zip(names, groups[1:]) if value}
        raw = match[0].strip(b"\0").replace(b"\0", b" ").decode("utf-8", "replace").strip()
        return Told(groups[0] or "", "elf-strings", raw, attributes)

    return read


def by_file_name(elf: Elf, path: str) -> Told | None:
    """Return the version behind ``.so.`` in the name of the file itself, if it has two numbers or more."""
    del elf
    name = posixpath.basename(path)
    match = re.search(r"\.so\.(\d+(?:\.\d+)+)$", name)
    return Told(match[1], "file-name", name) if match else None


def by_last_two(elf: Elf, path: str) -> Told | None:
    """Return the two last numbers of the file name: how rdma-core writes its release (libibverbs.so.1.14.44.0)."""
    del elf
    name = posixpath.basename(path)
    match = re.search(r"\.so\.\d+\.\d+\.(\d+\.\d+)$", name)
    return Told(match[1], "file-name", name) if match else None


_RELEASE = rb"\0(\d{1,3}\.\d{1,3}\.\d{1,3}(?:amzn\d+\.\d+)?(?:rc\d+)?)(?=\0)"
_AMZN = rb"\0(\d{1,3}\.\d{1,3}\.\d{1,3}amzn\d+\.\d+)\0"


def libfabric(elf: Elf, path: str) -> Told | None:
    """Return the release string that agrees with the API version ``fi_version`` returns; the file name never says it."""
    del path
    api = returned_constant(elf, "fi_version")
    if api is None:
        match = elf.search(_AMZN)
        return Told(match[1].decode(), "elf-strings", match[1].decode()) if match else None
    wanted = f"{api >> 16}.{api & 0xFFFF}"
    for match in re.finditer(_RELEASE, elf.data[:SEARCH_LIMIT]):
        text = match[1].decode()
        if text.startswith(wanted + "."):
            return Told(text, "elf-strings", f"{text}, fi_version {wanted}")
    return Told(wanted, "elf-code", f"fi_version {wanted}")


def returned_constant(elf: Elf, name: str) -> int | None:
    """Return the constant that a function returns, if it does nothing else (x86-64 ``mov``, AArch64 ``movz``/``movk``)."""
    offset = elf.code_offset(name)
    if offset is None:
        return None
    code = bytes(elf.data[offset : offset + 24])
    if elf.machine == "x86_64":
        code = code[4:] if code.startswith(b"\xf3\x0f\x1e\xfa") else code
        return (
            int(struct.unpack_from("<I", code, 1)[0])
            if code[:1] == b"\xb8" and code[5:6] == b"\xc3"
            else None
        )
    if elf.machine != "aarch64":
        return None
    value = 0
    for (word,) in struct.iter_unpack("<I", code):
        if word & 0xFF800000 in (0x52800000, 0x72800000) and word & 0x1F == 0:
            shift = 16 * ((word >> 21) & 3)
            keep = 0 if word & 0x20000000 == 0 else value & ~(0xFFFF << shift)
            value = keep | ((word >> 5) & 0xFFFF) << shift
        elif word == 0xD65F03C0:
            return value
        elif word != 0xD503245F:
            return None
    return None


def glibcxx(elf: Elf, path: str) -> Told | None:
    """Return the newest GLIBCXX version that libstdc++ defines."""
    del path
    found = [
        version[8:] for version in elf.versions_defined() if re.fullmatch(r"GLIBCXX_\d+(\.\d+)+", version)
    ]
    newest = max(found, key=lambda text: [int(part) for part in text.split(".")], default=None)
    return Told(newest, "elf-versions", f"GLIBCXX_{newest}") if newest else None


_NET_API = r"nccl(Net|Tuner|Gin)Plugin_v(\d+)$"


def plugin_api(elf: Elf) -> dict[str, list[int]]:
    """Return ``net_api``, ``tuner_api``, ``gin_api``: the interface versions that an NCCL plug-in exports."""
    found: dict[str, list[int]] = {}
    for name, defined, _weak in elf.symbols():
        match = re.match(_NET_API, name) if defined else None
        if match:
            found.setdefault(f"{match[1].lower()}_api", []).append(int(match[2]))
    return {name: sorted(values) for name, values in sorted(found.items())}


_OFI = rb"aws-ofi-nccl[ /]v?(\d+\.\d+(?:\.\d+)?[-+.\w]*|GitHub-dev)"


def ofi_plugin(elf: Elf, path: str) -> Told | None:
    """Return version, interface versions and needed libfabric of an aws-ofi-nccl plug-in; None for any other plug-in."""
    match = elf.search(_OFI)
    needs = "libfabric.so.1" in elf.dynamic().needed
    if match is None and not (needs and "ofi" in posixpath.basename(path)):
        return None
    attributes: dict[str, Any] = {"library": posixpath.basename(path), **plugin_api(elf)}
    if match is None:
        return Told("", "elf-symbols", "", attributes)
    return Told(match[1].decode(), "elf-strings", match[0].decode(), attributes)


def forward_compatibility(elf: Elf) -> str | None:
    """Return the JSON of a cuda-compat libcuda's note that lists the drivers it accepts; None if it has none.

    Format: https://github.com/NVIDIA/nvidia-container-toolkit/blob/main/cmd/nvidia-cdi-hook/cudacompat/cuda-elf-header.go
    """
    try:
        section = elf.section(".note.cuda.fwd_compatibility")
    except ElfError:
        return None
    if section is None or section.size < 12:
        return None
    head = elf.data[section.offset : section.offset + 12]
    if len(head) < 12:
        return None
    name_size, size, _kind = struct.unpack("<III", head)
    start = section.offset + 12 + ((name_size + 3) & ~3)
    if size > section.size:
        return None
    return bytes(elf.data[start : start + size]).strip(b"\0").decode("utf-8", "replace")


NCCL = by_string(rb"NCCL version (\d+\.\d+\.\d+[A-Za-z0-9.~-]*)\+cuda(\d+\.\d+)", "cuda")
NVSHMEM = by_string(rb"NVSHMEM v(\d+\.\d+\.\d+)")
OPEN_MPI = by_string(rb"\0v(\d+\.\d+\.\d+[a-z0-9]*)\0Open MPI\0")
UCX = by_string(rb"(?<![\d.])(\d+\.\d{1,2}\.\d{1,2})\0%s\n\0")
PYXIS = by_string(rb"pyxis: version v(\d+\.\d+(?:\.\d+)?)")
CUDA_TOOL = rb"release \d+\.\d+, V(\d+\.\d+\.\d+)"
TEXTS: tuple[tuple[str, bytes], ...] = (
    (r"libnccl\.so", rb"NCCL version \d[^\0]*"),
    (r"libnvshmem_host\.so", rb"NVSHMEM v\d[^\0]*"),
    (r"libmpi\.so", rb"\0v[\d.]+\0Open MPI\0"),
    (r"libucp\.so", rb"(?<![\d.])\d+\.\d{1,2}\.\d{1,2}\0%s\n\0"),
    (r"spank_pyxis\.so", rb"pyxis: version v[\d.]+"),
    (r"nvcc$|ptxas", CUDA_TOOL),
    (r"libnccl-", _OFI),
    (r"libfabric\.so", _AMZN),
    (r"libfabric\.so", _RELEASE),
    (r"libc\.so\.6", rb"GNU C Library [^\0]*"),
)
"""File name -> the text of it that tells a version: what a captured skeleton of that file must hold."""
