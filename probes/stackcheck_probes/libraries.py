"""The native libraries of a stack: by which file names they are known, where to look for them, how each tells its version."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from stackcheck_probes import ldcache, versions
from stackcheck_probes.elf import Elf, ElfError
from stackcheck_probes.host import FileSystem
from stackcheck_probes.interface import HostError
from stackcheck_probes.versions import Reader, Told


class Library(NamedTuple):
    """A library: the component it is, the names of its files, its readers in order of trust; ``code`` if it holds GPU code."""

    component: str
    pattern: str
    readers: tuple[Reader, ...] = ()
    code: bool = False


def _library(component: str, pattern: str, *readers: Reader, code: bool = False) -> Library:
    return Library(component, pattern, readers, code)


LIBRARIES: tuple[Library, ...] = (
    _library("nccl", r"libnccl\.so\.\d", versions.NCCL, versions.by_file_name, code=True),
    _library("cudnn", r"libcudnn\.so\.\d", versions.by_file_name),
    _library("cublas", r"libcublas\.so\.\d", versions.by_file_name),
    _library("cuda", r"libcudart\.so\.\d", versions.by_file_name),
    _library("nvshmem", r"libnvshmem_host\.so\.\d", versions.NVSHMEM, versions.by_file_name, code=True),
    _library("nvjitlink", r"libnvJitLink\.so\.\d", versions.by_file_name),
    _library("cufile", r"libcufile\.so\.\d", versions.by_file_name),
    _library("gdrcopy", r"libgdrapi\.so\.\d", versions.by_file_name),
    _library("libfabric", r"libfabric\.so\.\d", versions.libfabric),
    _library("rdma-core", r"libibverbs\.so\.\d", versions.by_last_two),
    _library("aws-ofi-nccl", r"libnccl-(?:net|ofi)[\w-]*\.so$", versions.ofi_plugin),
    _library("ucx", r"libucp\.so\.\d", versions.UCX),
    _library("openmpi", r"libmpi\.so\.\d", versions.OPEN_MPI),
    _library("dcgm", r"libdcgm\.so\.\d", versions.by_file_name),
    _library("libstdcxx", r"libstdc\+\+\.so\.6", versions.glibcxx),
)  # fmt: skip

_ROOTS = (
    ("/usr/local", r"cuda(-[\d.]+)?$", ("lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib")),
    ("/usr/local", r"(nccl|ucx|gdrcopy|lib|mpi|openmpi|nvshmem)", ("", "lib", "lib64", "build/lib")),
    ("/opt/amazon", r".*", ("lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu")),
    ("/opt", r"(aws-ofi-nccl|nccl|gdrcopy|ucx|libfabric|nvshmem)", ("lib", "lib64", "install/lib", "build/lib")),
    ("/opt/hpcx", r"(ucx|ompi|nccl_rdma_sharp_plugin|ucc)", ("lib",)),
    ("/opt/nvidia", r".*", ("lib", "lib64")),
)  # fmt: skip


_ANY = re.compile("|".join(f"(?:{library.pattern})" for library in LIBRARIES))


def match(name: str) -> Library | None:
    """Return the library that a file name belongs to."""
    if ".so" not in name or not _ANY.match(name):
        return None
    return next((library for library in LIBRARIES if re.match(library.pattern, name)), None)


def well_known_directories(files: FileSystem) -> Iterator[str]:
    """Yield the directories, outside the loader's own, in which installers of this field put libraries."""
    for root, pattern, inner in _ROOTS:
        try:
            names = files.names(root)
        except HostError:
            continue
        for name in names:
            if re.match(pattern, name):
                yield from (posixpath.join(root, name, part).rstrip("/") for part in inner)


def find_in(files: FileSystem, directories: Iterable[str]) -> dict[str, str]:
    """Return, for every known library in these directories, real path -> the first path under which it was seen."""
    found: dict[str, str] = {}
    done: set[str] = set()
    for directory in directories:
        try:
            real = files.real(directory)
            if real in done:
                continue
            done.add(real)
            names = files.names(directory)
        except HostError:
            continue
        for name in names:
            if match(name) is not None:
                path = posixpath.join(directory, name)
                try:
                    real = files.real(path)
                except HostError:
                    continue
                if real in found or files.exists(real):  # a link that leads nowhere is no library
                    found.setdefault(real, path)
    return found


def told_by(elf: Elf | None, library: Library, path: str) -> Told | None:
    """Return what the file itself tells about its version, by the first reader that knows; None if none does."""
    if elf is None:
        return None
    for reader in library.readers:
        try:
            told = reader(elf, path)
        except ElfError:
            continue
        if told is not None:
            return told
    return None


def loader_cache(files: FileSystem, machine: str | None) -> dict[str, str]:
    """Return name -> path as ldconfig would have it: its cache, or where there is none, the configured directories."""
    cache = ldcache.read_cache(files, machine)
    if cache:
        return cache
    for directory in ldcache.configured_directories(files):
        for name in _names(files, directory):
            if ".so." in name or name.endswith(".so"):
                cache.setdefault(name, posixpath.join(directory, name))
    return cache


def _names(files: FileSystem, directory: str) -> list[str]:
    try:
        return files.names(directory)
    except HostError:
        return []
