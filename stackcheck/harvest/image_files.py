"""What the files of an image say: Python distributions, system packages, the operating system, and where libraries are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stackcheck.harvest import core_metadata
from stackcheck.harvest.interface import HarvestError
from stackcheck.harvest.layer_tar import Tree

_DIST_INFO = re.compile(r"(?:^|/)[^/]+\.(?:dist-info/METADATA|egg-info/PKG-INFO)\Z")
_DPKG = re.compile(r"var/lib/dpkg/(?:status|status\.d/[^/]+)\Z")
_OS = ("etc/os-release", "usr/lib/os-release")
_TEXTS = ("opt/amazon/efa_installed_packages",)
"""Files whose text says what is installed, read as if somebody had pasted them."""
_LIBRARY = re.compile(r"(?:^|/)lib[A-Za-z0-9_.+-]+\.so(?:\.\d+)*\Z")
_MOST_PACKAGES = 50_000


@dataclass(frozen=True, slots=True, order=True)
class Package:
    """A package found in the image; `manager` is `pip` or `dpkg`."""

    name: str
    version: str
    manager: str
    path: str


def wanted(path: str) -> bool:
    """Whether the content of a file is worth holding."""
    return bool(_DIST_INFO.search(path) or _DPKG.match(path)) or path in (*_OS, *_TEXTS)


def texts(tree: Tree) -> tuple[tuple[str, str], ...]:
    """Return (path, text) of the files that list what is installed."""
    found = ((path, tree.read(path)) for path in _TEXTS)
    return tuple((path, data.decode("utf-8", "replace")) for path, data in found if data)


def packages(tree: Tree) -> tuple[Package, ...]:
    """Return all packages, sorted; a distribution whose metadata is damaged is left out and noted."""
    found: set[Package] = set()
    for path in sorted(tree.files):
        if _DIST_INFO.search(path):
            found.update(_distribution(tree, path))
        elif _DPKG.match(path):
            found.update(_dpkg(tree.files[path] or b"", path))
        if len(found) > _MOST_PACKAGES:
            raise HarvestError(f"more than {_MOST_PACKAGES} packages", where=path)
    return tuple(sorted(found))


def _distribution(tree: Tree, path: str) -> Iterator[Package]:
    data = tree.files[path]
    if data is None:
        return
    try:
        metadata = core_metadata.parse(data, where=path)
    except HarvestError as fault:
        tree.note(str(fault))
        return
    yield Package(metadata.name, metadata.version, "pip", path)


def _dpkg(data: bytes, path: str) -> Iterator[Package]:
    """Yield the installed packages of dpkg's status file (deb822 paragraphs)."""
    for paragraph in data.decode("utf-8", "replace").split("\n\n"):
        fields = {}
        for line in paragraph.split("\n"):
            key, colon, value = line.partition(":")
            if colon and key in ("Package", "Status", "Version"):
                fields[key] = value.strip()
        installed = fields.get("Status", "install ok installed").endswith(" installed")
        if installed and fields.get("Package") and fields.get("Version"):
            yield Package(fields["Package"][:200], fields["Version"][:200], "dpkg", path)


def operating_system(tree: Tree) -> str:
    """Return `ubuntu-24.04` as the matrices name it, or an empty text."""
    for path in _OS:
        data = tree.read(path)
        if data:
            told = {
                k.strip(): v.strip().strip('"')
                for k, equals, v in (
                    line.partition("=") for line in data.decode("utf-8", "replace").splitlines()
                )
                if equals
            }
            if told.get("ID") and told.get("VERSION_ID"):
                return f"{told['ID']}-{told['VERSION_ID']}"[:80]
    return ""


def libraries(tree: Tree) -> tuple[str, ...]:
    """Return the paths of all shared libraries, sorted."""
    return tuple(sorted(p for p in (*tree.files, *tree.links) if _LIBRARY.search(p)))
