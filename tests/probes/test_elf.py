"""ELF objects are read as the loader reads them, and damaged ones end in ElfError, never in anything else."""

from __future__ import annotations

import contextlib
import ctypes
import random
import subprocess
from pathlib import Path

import pytest

from stackcheck_probes import elf
from stackcheck_probes.elf import Elf, ElfError
from tests.nodes.objects import Spec, build

LIBC = Path("/lib/x86_64-linux-gnu/libc.so.6")
WHOLE = Spec(
    "liba.so.1", strings=("hello",), symbols=("alpha", "beta"), undefined=("gamma",), needed=("libz.so.1", "libc.so.6"),
    rpath="$ORIGIN/../x:/opt/y", versions=("V_1.0", "V_1.10"), code=(("sm_90", 2),),
)  # fmt: skip


def test_names_the_loader_acts_on() -> None:
    dynamic = Elf(build(WHOLE)).dynamic()
    assert dynamic.soname == "liba.so.1"
    assert dynamic.needed == ("libz.so.1", "libc.so.6")
    assert dynamic.rpath == ("$ORIGIN/../x", "/opt/y")
    assert dynamic.runpath == ()
    assert Elf(build(Spec("b.so", runpath="/r"))).dynamic().runpath == ("/r",)


def test_symbols_defined_and_undefined() -> None:
    elf = Elf(build(WHOLE))
    defined = {name: defined for name, defined, _weak in elf.symbols() if name}
    assert defined["gamma"] is False
    assert elf.exports("gamma") is False
    assert elf.exports("nowhere") is False
    plain = Elf(build(Spec("c.so", symbols=("alpha", "beta"))))
    assert plain.exports("alpha")
    assert plain.exports("beta")


def test_versions_defined() -> None:
    assert set(Elf(build(WHOLE)).versions_defined()) >= {"V_1.0", "V_1.10"}


@pytest.mark.skipif(not LIBC.exists(), reason="needs glibc for x86-64")
def test_the_hash_table_agrees_with_the_symbol_table_of_glibc() -> None:
    elf = Elf(LIBC.read_bytes())
    symbols = list(elf.symbols())
    assert len(symbols) > 2000
    defined = {name for name, there, _weak in symbols if there}
    for name in sorted({name for name, _there, _weak in symbols})[::7]:
        assert elf.exports(name) == (name in defined), name
    assert not elf.exports("no_such_function_in_glibc")
    assert ctypes.CDLL(None).printf


@pytest.mark.skipif(not LIBC.exists(), reason="needs readelf and glibc")
def test_needed_versions_agree_with_readelf() -> None:
    path = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"
    if not Path(path).exists():
        pytest.skip("no libstdc++")
    shown = subprocess.run(["readelf", "-VW", path], capture_output=True, text=True, check=True).stdout
    needs = shown[shown.index(".gnu.version_r") :]
    elf = Elf(Path(path).read_bytes())
    names = [name for versions in elf.versions_needed().values() for name in versions]
    assert names
    assert all(f"Name: {name}" in needs for name in names)
    assert needs.count("Flags:") == len(names)


def _everything(data: bytes) -> None:
    elf = Elf(data)
    elf.dynamic()
    elf.sections()
    list(elf.symbols())
    elf.versions_needed()
    elf.versions_defined()
    elf.exports("alpha")
    elf.code_offset("alpha")
    elf.tables()


def test_a_file_cut_anywhere_is_refused_or_read() -> None:
    data = build(WHOLE)
    for length in range(len(data)):
        with contextlib.suppress(ElfError):
            _everything(data[:length])


def test_random_damage_is_refused_or_read() -> None:
    data = build(WHOLE)
    random.seed(20261129)
    for _ in range(1500):
        damaged = bytearray(data)
        for _ in range(random.randint(1, 6)):
            damaged[random.randrange(6, len(damaged))] = random.choice(
                (0, 1, 0x7F, 0x80, 0xFF, random.randrange(256))
            )
        with contextlib.suppress(ElfError):
            _everything(bytes(damaged))


@pytest.mark.parametrize(
    "data",
    [b"", b"\x7fELF", b"#!/bin/sh\n" * 20, b"\x7fELF\x01\x01" + bytes(100), b"\x7fELF\x02\x02" + bytes(100)],
)
def test_what_is_no_elf64_little_endian_is_refused(data: bytes) -> None:
    with pytest.raises(ElfError):
        Elf(data)


@pytest.mark.parametrize("filler", range(0, 200, 7))
def test_a_text_is_found_wherever_the_pieces_end(filler: int, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ("x" * filler, "NCCL version 2.27.3+cuda12.9", "NCCL version 2.1.1+cuda9.0", "y" * 50)
    library = Elf(build(Spec("a.so", strings=texts)))
    pattern = rb"NCCL version (\d+\.\d+\.\d+)\+cuda"
    whole = library.search(pattern)
    monkeypatch.setattr(elf, "PIECE", 64)
    monkeypatch.setattr(elf, "OVERLAP", 48)
    found = library.search(pattern)
    assert whole is not None
    assert found is not None
    assert found[1] == whole[1]
