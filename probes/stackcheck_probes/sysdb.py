"""What the distribution's package manager has installed: dpkg's status file, or the RPM database in SQLite.

Formats: deb-version(7) and dpkg's status file; RPM header blobs (https://rpm-software-management.github.io/rpm/manual/format_header.html).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING

from stackcheck_probes.host import Host
from stackcheck_probes.interface import HostError

if TYPE_CHECKING:
    from pathlib import Path

STATUS = "/var/lib/dpkg/status"
STATUS_LIMIT = 64 << 20
RPM_DATABASES = ("/usr/lib/sysimage/rpm/rpmdb.sqlite", "/var/lib/rpm/rpmdb.sqlite")
RPM_OLD = ("/var/lib/rpm/Packages", "/var/lib/rpm/Packages.db", "/usr/lib/sysimage/rpm/Packages.db")
TAG_NAME, TAG_VERSION, TAG_RELEASE, TYPE_STRING = 1000, 1001, 1002, 6
MAX_PACKAGES = 50_000


def installed(host: Host) -> tuple[dict[str, str], str]:
    """Return package -> version of the distribution's packages, and where they were read; empty if there is no database."""
    try:
        text = host.files.read(STATUS, STATUS_LIMIT).decode("utf-8", "replace")
        return dict(parse_status(text)), STATUS
    except HostError:
        pass
    for path in RPM_DATABASES:
        found = read_rpm(host.files.local(path)) if host.files.exists(path) else {}
        if found:
            return found, path
    if any(host.files.exists(path) for path in (*RPM_OLD, *RPM_DATABASES)):
        return _by_command(host), "rpm -qa"
    return {}, ""


def parse_status(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and version of every package that dpkg says is installed."""
    for stanza in text.split("\n\n"):
        if _field(stanza, "Status").endswith(" installed"):
            name, version = _field(stanza, "Package"), _field(stanza, "Version")
            if name and version:
                yield name, version


def _field(stanza: str, name: str) -> str:
    """Return the value of a field on one line; plain searches, as there are a thousand stanzas of a kilobyte."""
    mark = f"{name}: "
    start = 0 if stanza.startswith(mark) else stanza.find(f"\n{mark}") + 1
    if not start and not stanza.startswith(mark):
        return ""
    end = stanza.find("\n", start)
    return stanza[start + len(mark) : end if end >= 0 else None].strip()


def read_rpm(path: Path) -> dict[str, str]:
    """Return name -> version-release of an RPM database in SQLite (opened immutable: nothing is written); empty if unreadable."""
    import sqlite3  # only distributions with RPM need it

    found: dict[str, str] = {}
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    except sqlite3.Error:
        return {}
    try:
        for (blob,) in connection.execute("SELECT blob FROM Packages LIMIT ?", (MAX_PACKAGES,)):
            fields = parse_header(blob) if isinstance(blob, bytes) else {}
            if TAG_NAME in fields and TAG_VERSION in fields:
                found[fields[TAG_NAME]] = f"{fields[TAG_VERSION]}-{fields.get(TAG_RELEASE, '')}".rstrip("-")
    except sqlite3.Error:
        pass
    finally:
        connection.close()
    return found


def parse_header(blob: bytes) -> dict[int, str]:
    """Return the string tags NAME, VERSION and RELEASE of an RPM header as the database holds it (without magic)."""
    if len(blob) < 8:
        return {}
    count, size = struct.unpack_from(">II", blob)
    start = 8 + 16 * count
    if count > 65_536 or start + size > len(blob):
        return {}
    found: dict[int, str] = {}
    for index in range(count):
        tag, kind, offset, _items = struct.unpack_from(">IIII", blob, 8 + 16 * index)
        if tag in (TAG_NAME, TAG_VERSION, TAG_RELEASE) and kind == TYPE_STRING and offset < size:
            end = blob.find(b"\0", start + offset, start + size)
            if end >= 0:
                found[tag] = blob[start + offset : end].decode("utf-8", "replace")
    return found


def _by_command(host: Host) -> dict[str, str]:
    try:
        output = host.run("rpm", 5.0)
    except HostError:
        return {}
    pairs = (line.partition("\t") for line in output.out.splitlines())
    return {name: version for name, tab, version in pairs if tab}


def release(version: str) -> str:
    """Return the upstream part of a distribution's version: no epoch, no revision (``1:580.95.05-0ubuntu1`` -> ``580.95.05``)."""
    upstream = version.split(":", 1)[-1] if version.split(":", 1)[0].isdigit() else version
    return upstream.rpartition("-")[0] or upstream
