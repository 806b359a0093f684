"""Package databases: dpkg's text, RPM's headers in SQLite; neither is changed by reading."""

from __future__ import annotations

import random
import sqlite3
import struct
from pathlib import Path

from stackcheck_probes import sysdb
from stackcheck_probes.inventory import collect


def header(name: str, version: str, release: str) -> bytes:
    """Return an RPM header as the database holds it."""
    store, index = b"", b""
    for tag, text in ((100, "C"), (1000, name), (1001, version), (1002, release)):
        index += struct.pack(">IIII", tag, 6, len(store), 1)
        store += text.encode() + b"\0"
    return struct.pack(">II", 4, len(store)) + index + store


def database(path: Path, rows: list[bytes]) -> None:
    """Write an RPM database."""
    path.parent.mkdir(parents=True)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE Packages (hnum INTEGER PRIMARY KEY, blob BLOB NOT NULL)")
    connection.executemany("INSERT INTO Packages(blob) VALUES (?)", [(row,) for row in rows])
    connection.commit()
    connection.close()


def test_rpm_packages_of_an_image(tmp_path: Path) -> None:
    path = tmp_path / "usr/lib/sysimage/rpm/rpmdb.sqlite"
    database(
        path,
        [
            header("nvidia-fabricmanager", "580.126.20", "1.amzn2023"),
            header("nvlsm", "2025.10.14", "1"),
            header("bash", "5.2", "3"),
        ],
    )
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/osrelease").write_text("6.12.58\n")
    before = sorted(tmp_path.rglob("*")), path.read_bytes()
    found = collect(root=str(tmp_path), only=("system-packages",))["components"]
    assert [one["version"] for one in found["fabric-manager"]] == ["580.126.20"]
    assert [one["version"] for one in found["nvlsm"]] == ["2025.10.14"]
    assert found["imex"] == []
    assert (sorted(tmp_path.rglob("*")), path.read_bytes()) == before


def test_an_image_says_nothing_about_the_hosts_services(tmp_path: Path) -> None:
    database(
        tmp_path / "var/lib/rpm/rpmdb.sqlite",
        [header("nvidia-fabricmanager", "580.126.20", "1"), header("slurm", "24.11.5", "1.el9")],
    )
    found = collect(root=str(tmp_path), only=("system-packages",))["components"]
    assert found["fabric-manager"] == []
    assert [one["version"] for one in found["slurm"]] == ["24.11.5"]


def test_damaged_headers_and_databases(tmp_path: Path) -> None:
    good = header("a", "1", "2")
    assert sysdb.parse_header(good) == {1000: "a", 1001: "1", 1002: "2"}
    for cut in range(len(good)):
        sysdb.parse_header(good[:cut])
    random.seed(3)
    for _ in range(500):
        damaged = bytearray(good)
        damaged[random.randrange(len(damaged))] = random.randrange(256)
        sysdb.parse_header(bytes(damaged))
    (tmp_path / "x.sqlite").write_bytes(b"SQLite format 3\0" + bytes(200))
    assert sysdb.read_rpm(tmp_path / "x.sqlite") == {}
    assert sysdb.read_rpm(tmp_path / "none.sqlite") == {}


def test_an_unknown_database_format_leaves_everything_unknown(tmp_path: Path) -> None:
    (tmp_path / "var/lib/rpm").mkdir(parents=True)
    (tmp_path / "var/lib/rpm/Packages").write_bytes(b"berkeley")
    assert "fabric-manager" not in collect(root=str(tmp_path), only=("system-packages",))["components"]
