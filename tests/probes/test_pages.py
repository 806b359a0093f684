"""The bytes of a file that is read where somebody looks: the same as those of the file, and no end to the process where it changes."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from stackcheck_probes import files
from stackcheck_probes.elf import Elf, ElfError
from stackcheck_probes.files import BLOCK, map_file
from stackcheck_probes.interface import RefusedError
from tests.nodes.objects import Spec, build

PROBES = Path(__file__).resolve().parents[2] / "probes"


def test_every_part_is_that_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "KEPT_BLOCKS", 2)
    monkeypatch.setattr(files, "SEARCHED", 100)
    chance = random.Random(7)
    content = chance.randbytes(5 * BLOCK + 17)
    path = tmp_path / "x"
    path.write_bytes(content)
    pages = map_file(str(path))
    assert len(pages) == len(content)
    assert pages[:] == content
    for _ in range(2000):
        start = chance.randrange(len(content) + 50)
        stop = start + chance.choice((0, 1, 8, 64, BLOCK, 3 * BLOCK))
        assert pages[start:stop] == content[start:stop]
        wanted = content[start : start + 3]
        assert pages.find(wanted, max(0, start - 300), stop) == content.find(
            wanted, max(0, start - 300), stop
        )


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(RefusedError, match="empty file"):
        map_file(str(tmp_path / "x"))


@pytest.mark.parametrize("left", [0, 100, 5000])
def test_a_library_that_is_cut_off_while_it_is_read_ends_nothing(tmp_path: Path, left: int) -> None:
    """A mapped one ended the process with SIGBUS, and so does a disk that fails or a server that is gone."""
    path = tmp_path / "lib.so"
    path.write_bytes(build(Spec("lib.so", needed=("libc.so.6",), code=(("sm_90", 2000),))))
    text = (
        "import os, sys\nfrom stackcheck_probes.files import map_file\nfrom stackcheck_probes.elf import Elf, ElfError\n"
        "from stackcheck_probes import fatbin\ndata = map_file(sys.argv[1])\nos.truncate(sys.argv[1], int(sys.argv[2]))\n"
        "try:\n    fatbin.scan(data)\n    Elf(data).search(b'x+y')\nexcept ElfError:\n    pass\nprint('alive')"
    )
    done = subprocess.run(
        [sys.executable, "-c", text, str(path), str(left)],
        env={**os.environ, "PYTHONPATH": str(PROBES)}, capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


def test_an_object_of_holes_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(build(Spec("lib.so", needed=("libc.so.6",))))
    os.truncate(path, 1 << 40)
    elf = Elf(map_file(str(path)))
    assert elf.dynamic().needed == ("libc.so.6",)
    assert elf.search(b"never there") is None
    (tmp_path / "no.so").touch()
    os.truncate(tmp_path / "no.so", 1 << 40)
    with pytest.raises(ElfError):
        Elf(map_file(str(tmp_path / "no.so")))
