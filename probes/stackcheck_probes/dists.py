"""What is installed in a site directory, from dist-info, egg-info and conda-meta alone; nothing is imported.

Format: https://packaging.python.org/en/latest/specifications/recording-installed-packages/
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

from stackcheck_probes.host import FileSystem
from stackcheck_probes.interface import HostError
from stackcheck_probes.pyenvs import DEBIAN_SITE

HEAD = 4096
METADATA_LIMIT = 1 << 20
RECORD_LIMIT = 32 << 20
SITE_LIMIT = 400_000
SYSTEM_INSTALLERS = ("debian", "dpkg", "apt", "rpm", "dnf")
_HEADER = r"(?m)^(Name|Version): *(.+?) *$"
_PIN = r"(?m)^Requires-Dist: ([A-Za-z0-9._-]+)(?:\[[^\]\n]*\])? *\(?==([^,;()\s]+)"
_CONDA = r"(?P<name>.+)-(?P<version>[^-]+)-(?P<build>[^-]+)\.json$"


class Distribution(NamedTuple):
    """An installed distribution: name as its maker spells it, version, its metadata directory and site directory."""

    name: str
    version: str
    path: str
    site: str

    @property
    def key(self) -> str:
        """Return the normalised name (PEP 503)."""
        return re.sub(r"[-_.]+", "-", self.name).lower()


class RecordedFile(NamedTuple):
    """A line of RECORD: absolute path, digest (``sha256=...`` or empty), size in bytes or None."""

    path: str
    digest: str
    size: int | None


def distributions(files: FileSystem, site: str) -> list[Distribution]:
    """Return what is installed in one site directory; metadata that cannot be read is left out."""
    result: list[Distribution] = []
    for name in _names(files, site):
        if name.endswith(".dist-info"):
            found = _head(files, site, name, "METADATA") or _by_name(site, name)
        elif name.endswith(".egg-info"):
            found = _head(files, site, name, "PKG-INFO") or _head(files, site, name, "")
        else:
            continue
        if found:
            result.append(found)
    return result


def conda_packages(files: FileSystem, prefix: str) -> list[Distribution]:
    """Return what conda installed below a prefix, by the names of its records (name-version-build.json)."""
    directory = posixpath.join(prefix, "conda-meta")
    result = []
    for name in _names(files, directory):
        match = re.match(_CONDA, name)
        if match:
            result.append(
                Distribution(match["name"], match["version"], posixpath.join(directory, name), directory)
            )
    return result


def _names(files: FileSystem, path: str) -> list[str]:
    try:
        return files.names(path, SITE_LIMIT)
    except HostError:
        return []


def _head(files: FileSystem, site: str, name: str, inner: str) -> Distribution | None:
    directory = posixpath.join(site, name)
    try:
        text = files.read(posixpath.join(directory, inner) if inner else directory, HEAD).decode(
            "utf-8", "replace"
        )
    except HostError:
        return None
    fields = dict(re.findall(_HEADER, text.replace("\r\n", "\n").split("\n\n", 1)[0]))
    if "Name" not in fields or "Version" not in fields:
        return None
    return Distribution(fields["Name"], fields["Version"], directory, site)


def _by_name(site: str, name: str) -> Distribution | None:
    project, dash, version = name[: -len(".dist-info")].partition("-")
    return Distribution(project, version, posixpath.join(site, name), site) if dash and version else None


def record(files: FileSystem, distribution: Distribution) -> str:
    """Return the text of RECORD; empty if the distribution keeps none."""
    try:
        data = files.read(posixpath.join(distribution.path, "RECORD"), RECORD_LIMIT)
    except HostError:
        return ""
    return data.decode("utf-8", "replace")


def is_of_the_system(files: FileSystem, distribution: Distribution) -> bool:
    """Tell whether a package of the Linux distribution installed it: that package owns its files, and RECORD is what its build left.

    INSTALLER says so (pip and uv write their names, Fedora's packages ``rpm``); Debian's packages write none and have a directory of their own.
    """
    try:
        installer = files.read(posixpath.join(distribution.path, "INSTALLER"), 200).decode("utf-8", "replace")
    except HostError:
        return distribution.site.rstrip("/").endswith(DEBIAN_SITE)
    return installer.strip().lower() in SYSTEM_INSTALLERS


def recorded(distribution: Distribution, text: str, having: str = "") -> Iterator[RecordedFile]:
    """Yield the files of a RECORD; with ``having``, only of lines that contain it."""
    for line in _lines_with(text, having) if having else text.split("\n"):
        path, digest, size = _fields(line)
        if path and not path.startswith("/"):
            absolute = f"{distribution.site}/{path}"
            if "../" in path:
                absolute = posixpath.normpath(absolute)
            yield RecordedFile(absolute, digest, int(size) if size.isdigit() else None)


def _lines_with(text: str, having: str) -> Iterator[str]:
    """Yield the lines that contain a word: found by searching, as they are few in texts of megabytes."""
    found = text.find(having)
    while found >= 0:
        start, end = text.rfind("\n", 0, found) + 1, text.find("\n", found)
        end = len(text) if end < 0 else end
        yield text[start:end]
        found = text.find(having, end)


def recorded_paths(text: str) -> set[str]:
    """Return the paths of a RECORD as they stand there."""
    return {line.partition(",")[0] for line in text.split("\n")} - {""}


def _fields(line: str) -> tuple[str, str, str]:
    """Split a line of RECORD; only a path may be quoted, as only it may hold a comma."""
    if line.startswith('"'):
        path, _quote, rest = line[1:].partition('",')
        path = path.replace('""', '"')
    else:
        path, _comma, rest = line.partition(",")
    digest, _comma, size = rest.partition(",")
    return path, digest, size.rstrip("\r")


def requirements(files: FileSystem, distribution: Distribution) -> dict[str, str]:
    """Return the exact pins among its requirements: normalised name -> version (``nvidia-nccl-cu13`` -> ``2.28.9``).

    A name pinned to several versions (one per platform) is left out.
    """
    try:
        text = files.read(posixpath.join(distribution.path, "METADATA"), METADATA_LIMIT).decode(
            "utf-8", "replace"
        )
    except HostError:
        return {}
    pins: dict[str, set[str]] = {}
    for match in re.finditer(_PIN, text):
        pins.setdefault(re.sub(r"[-_.]+", "-", match[1]).lower(), set()).add(match[2])
    return {name: versions.pop() for name, versions in pins.items() if len(versions) == 1}
