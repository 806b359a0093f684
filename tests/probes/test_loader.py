"""The loader's choice, worked out from files, is what ld.so really chooses: each case is also run."""

from __future__ import annotations

import os
import re
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from stackcheck_probes import ldcache
from stackcheck_probes.files import DirectFiles
from stackcheck_probes.loader import Loader
from tests.nodes.objects import Spec, build

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="runs objects made for x86-64")
LD_SO = "/lib64/ld-linux-x86-64.so.2"


def put(path: Path, spec: Spec) -> Path:
    """Write an object."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(build(replace(spec, loadable=True)))
    return path


def really(entry: Path, environ: dict[str, str]) -> dict[str, str]:
    """Return soname -> path as ld.so itself lists them."""
    shown = subprocess.run(
        [LD_SO, "--list", str(entry)], env=environ, capture_output=True, text=True, check=False
    ).stdout
    found = {match[1]: match[2] for match in re.finditer(r"^\s*(\S+) => (/\S+)", shown, re.MULTILINE)}
    for match in re.finditer(
        r"^\s*(/\S+) \(0x", shown, re.MULTILINE
    ):  # preloaded objects are listed by path alone
        found.setdefault(Path(match[1]).name, match[1])
    return {name: os.path.realpath(path) for name, path in found.items()}


def worked_out(entry: Path, environ: dict[str, str]) -> dict[str, str]:
    """Return soname -> path as we work it out."""
    files = DirectFiles()
    loader = Loader(files, environ, ldcache.read_cache(files, "x86_64"), "x86_64")
    process = loader.process([str(entry)])
    return {name: os.path.realpath(item.path) for name, item in process.objects.items()}


def case_rpath_beats_library_path(root: Path) -> tuple[Path, dict[str, str], str]:
    put(root / "a/libwho.so.1", Spec("libwho.so.1"))
    put(root / "b/libwho.so.1", Spec("libwho.so.1"))
    return (
        put(root / "main.so", Spec(needed=("libwho.so.1",), rpath=f"{root}/a")),
        {"LD_LIBRARY_PATH": f"{root}/b"},
        "a",
    )


def case_library_path_beats_runpath(root: Path) -> tuple[Path, dict[str, str], str]:
    put(root / "a/libwho.so.1", Spec("libwho.so.1"))
    put(root / "b/libwho.so.1", Spec("libwho.so.1"))
    return (
        put(root / "main.so", Spec(needed=("libwho.so.1",), runpath=f"{root}/a")),
        {"LD_LIBRARY_PATH": f"{root}/b"},
        "b",
    )


def case_preload_beats_all(root: Path) -> tuple[Path, dict[str, str], str]:
    for name in "abc":
        put(root / f"{name}/libwho.so.1", Spec("libwho.so.1"))
    environ = {"LD_LIBRARY_PATH": f"{root}/b", "LD_PRELOAD": f"{root}/c/libwho.so.1"}
    return put(root / "main.so", Spec(needed=("libwho.so.1",), rpath=f"{root}/a")), environ, "c"


def case_rpath_is_inherited(root: Path) -> tuple[Path, dict[str, str], str]:
    put(root / "a/libwho.so.1", Spec("libwho.so.1"))
    put(root / "a/libmid.so.1", Spec("libmid.so.1", needed=("libwho.so.1",)))
    return put(root / "main.so", Spec(needed=("libmid.so.1",), rpath=f"{root}/a")), {}, "a"


def case_runpath_is_not_inherited(root: Path) -> tuple[Path, dict[str, str], str]:
    put(root / "a/libwho.so.1", Spec("libwho.so.1"))
    put(root / "a/libmid.so.1", Spec("libmid.so.1", needed=("libwho.so.1",)))
    return put(root / "main.so", Spec(needed=("libmid.so.1",), runpath=f"{root}/a")), {}, ""


def case_runpath_switches_off_inherited_rpath(root: Path) -> tuple[Path, dict[str, str], str]:
    put(root / "a/libwho.so.1", Spec("libwho.so.1"))
    put(root / "a/libmid.so.1", Spec("libmid.so.1", needed=("libwho.so.1",), runpath=f"{root}/b"))
    put(root / "b/libwho.so.1", Spec("libwho.so.1"))
    return put(root / "main.so", Spec(needed=("libmid.so.1",), rpath=f"{root}/a")), {}, "b"


def case_origin_of_a_linked_object(root: Path) -> tuple[Path, dict[str, str], str]:
    put(root / "a/deep/libmid.so.1", Spec("libmid.so.1", needed=("libwho.so.1",), rpath="${ORIGIN}/../lib"))
    put(root / "a/lib/libwho.so.1", Spec("libwho.so.1"))
    return put(root / "main.so", Spec(needed=("libmid.so.1",), rpath=f"{root}/a/deep")), {}, "a/lib"


def case_first_loaded_soname_wins(root: Path) -> tuple[Path, dict[str, str], str]:
    put(root / "a/libone.so.1", Spec("libone.so.1", needed=("libwho.so.1",), runpath=f"{root}/x"))
    put(root / "a/libtwo.so.1", Spec("libtwo.so.1", needed=("libwho.so.1",), runpath=f"{root}/y"))
    put(root / "x/libwho.so.1", Spec("libwho.so.1"))
    put(root / "y/libwho.so.1", Spec("libwho.so.1"))
    return put(root / "main.so", Spec(needed=("libone.so.1", "libtwo.so.1"), rpath=f"{root}/a")), {}, "x"


def case_another_machine_is_passed_over(root: Path) -> tuple[Path, dict[str, str], str]:
    put(root / "a/libwho.so.1", Spec("libwho.so.1", machine="aarch64"))
    put(root / "b/libwho.so.1", Spec("libwho.so.1"))
    return put(root / "main.so", Spec(needed=("libwho.so.1",), rpath=f"{root}/a:{root}/b")), {}, "b"


CASES = {name[5:]: case for name, case in list(globals().items()) if name.startswith("case_")}


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_same_file_as_ld_so_takes(name: str, tmp_path: Path) -> None:
    entry, environ, expected = CASES[name](tmp_path)
    real, ours = really(entry, environ), worked_out(entry, environ)
    wanted = str(tmp_path / expected / "libwho.so.1") if expected else None
    assert real.get("libwho.so.1") == wanted
    assert ours.get("libwho.so.1") == wanted


def test_all_libraries_of_a_real_program() -> None:
    program = Path("/usr/bin/python3").resolve()
    if not program.exists():
        pytest.skip("no system Python")
    real = really(program, {})
    ours = worked_out(program, {})
    assert real
    assert {name: ours.get(name) for name in real} == real


def test_cache_against_ldconfig() -> None:
    shown = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    if not shown:
        pytest.skip("no ldconfig")
    first: dict[str, str] = {}
    for match in re.finditer(r"^\t(\S+) \(libc6,x86-64[^)]*\) => (\S+)", shown, re.MULTILINE):
        first.setdefault(match[1], match[2])
    cache = ldcache.read_cache(DirectFiles(), "x86_64")
    assert len(first) > 50
    assert {name: cache.get(name) for name in first} == first


def test_a_damaged_cache_gives_what_is_sound() -> None:
    good = _cache({"liba.so.1": "/x/liba.so.1", "libb.so.1": "/x/libb.so.1"})
    assert ldcache.parse_cache(good) == {"liba.so.1": "/x/liba.so.1", "libb.so.1": "/x/libb.so.1"}
    for length in range(len(good)):
        assert len(ldcache.parse_cache(good[:length])) <= 2
    assert ldcache.parse_cache(good[:20] + b"\xff\xff\xff\xff" + good[24:])
    assert ldcache.parse_cache(b"rubbish") == {}


def _cache(entries: dict[str, str]) -> bytes:
    """Return a cache in the format of glibc 2.2 and later."""
    strings, rows = b"", b""
    base = 48 + 24 * len(entries)
    for name, path in entries.items():
        key = base + len(strings)
        strings += name.encode() + b"\0"
        rows += struct.pack("<iIIIQ", 0x0303, key, base + len(strings), 0, 0)
        strings += path.encode() + b"\0"
    head = b"glibc-ld.so.cache1.1" + struct.pack("<II", len(entries), len(strings)) + bytes(20)
    return head + rows + strings
