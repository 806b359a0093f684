"""Real libraries from the package index, against the tools of their makers. Marked: they need the network."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stackcheck_probes import fatbin, files
from stackcheck_probes.elf import Elf
from stackcheck_probes.versions import libfabric

ROOT = Path(__file__).resolve().parents[2]
WHEELS = (
    "nvidia-nccl-cu13",
    "nvidia-cudnn-cu13",
    "nvidia-cuda-runtime",
    "nvidia-nvshmem-cu13",
    "triton",
    "nvidia-cuda-cuobjdump",
)
pytestmark = [pytest.mark.network, pytest.mark.xdist_group("wheels")]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheels; STACKCHECK_WHEELS names one to use again."""
    given = os.environ.get("STACKCHECK_WHEELS")
    if given:
        return Path(given)
    folder = tmp_path_factory.mktemp("wheels") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    done = subprocess.run(
        [str(folder / "bin/pip"), "install", "-q", "--no-deps", "--disable-pip-version-check", *WHEELS],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"the package index does not give the wheels: {done.stderr.strip()[-200:]}")
    return folder


@pytest.fixture(scope="module")
def found(scratch: Path) -> dict[str, Any]:
    """The inventory of the environment."""
    program = [sys.executable, "-m", "stackcheck_probes"]
    environ = {
        "VIRTUAL_ENV": str(scratch),
        "PATH": f"{scratch}/bin:/usr/bin:/bin",
        "PYTHONPATH": str(ROOT / "probes"),
    }
    loaded: dict[str, Any] = json.loads(
        subprocess.run(program, env=environ, capture_output=True, text=True, check=True).stdout
    )
    return loaded


def installed(scratch: Path) -> dict[str, str]:
    """Return the versions pip reports."""
    shown = subprocess.run(
        [str(scratch / "bin/pip"), "list", "--format", "json"], capture_output=True, text=True, check=True
    ).stdout
    return {one["name"]: one["version"] for one in json.loads(shown)}


def objects(scratch: Path) -> list[Path]:
    """Return the shared objects of NVIDIA's wheels, no links."""
    return sorted(
        path for path in scratch.rglob("nvidia/**/*.so*") if path.is_file() and not path.is_symlink()
    )


def site_copies(found: dict[str, Any], scratch: Path, component: str) -> list[dict[str, Any]]:
    """Return the copies of a component inside the environment."""
    return [copy for copy in found["components"][component] if copy["path"].startswith(str(scratch))]


def test_exact_versions_by_symbol_and_by_file(found: dict[str, Any], scratch: Path) -> None:
    pip = installed(scratch)
    for component, wheel in (
        ("nccl", "nvidia-nccl-cu13"),
        ("nvshmem", "nvidia-nvshmem-cu13"),
        ("cudnn", "nvidia-cudnn-cu13"),
    ):
        copies = site_copies(found, scratch, component)
        assert [copy["version"] for copy in copies] == [pip[wheel]], component
    assert site_copies(found, scratch, "nccl")[0]["method"] == "elf-strings"
    assert (
        site_copies(found, scratch, "cuda")[0]["attributes"]["runtime_component"]
        == pip["nvidia-cuda-runtime"]
    )
    packages = {one["name"]: one["version"] for one in found["packages"] if one["active"]}
    assert {name: packages[name] for name in WHEELS} == {name: pip[name] for name in WHEELS}


def test_versions_are_what_the_libraries_themselves_answer(found: dict[str, Any], scratch: Path) -> None:
    nccl = site_copies(found, scratch, "nccl")[0]
    text = f"import ctypes; v=ctypes.c_int(); ctypes.CDLL({nccl['path']!r}).ncclGetVersion(ctypes.byref(v)); print(v.value)"
    code = int(
        subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout
    )
    assert nccl["version"] == f"{code // 10000}.{code % 10000 // 100}.{code % 100}"


def test_assemblers_of_triton(found: dict[str, Any], scratch: Path) -> None:
    attributes = next(one for one in found["packages"] if one["name"] == "triton")["attributes"]
    for name in ("ptxas", "ptxas-blackwell"):
        path = next(scratch.rglob(f"triton/backends/nvidia/bin/{name}"))
        shown = subprocess.run([str(path), "--version"], capture_output=True, text=True, check=True).stdout
        assert f"V{attributes[name.replace('-', '_')]}" in shown


def scanned(path: Path) -> fatbin.Code:
    """Return the GPU code of a library, read as the probes read it."""
    elf = Elf(files.map_file(str(path)))
    with files.short_reads(str(path)) as read:
        return fatbin.code_of(elf, read)


def cuobjdump(scratch: Path, *arguments: str) -> str:
    """Return what cuobjdump prints."""
    program = next(
        path
        for path in scratch.rglob("cuobjdump")
        if path.is_file() and os.access(path, os.X_OK) and "nvidia" in str(path)
    )
    return subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False).stdout


def test_the_same_images_as_cuobjdump(scratch: Path) -> None:
    checked = 0
    for path in objects(scratch):
        mine = scanned(path)
        shown = (
            cuobjdump(scratch, "-all", str(path))
            if mine.images
            else cuobjdump(scratch, "-lelf", "-lptx", str(path))
        )
        theirs: Counter[str] = Counter()
        for kind, arch in re.findall(r"^Fatbin (elf|ptx) code:\n=+\narch = sm_(\w+)", shown, re.MULTILINE):
            theirs[f"{'sm' if kind == 'elf' else 'compute'}_{arch}"] += 1
        if not mine.images:
            assert not re.search(r"sm_\d+", shown), path.name
            continue
        together = Counter(mine.linked) + Counter(mine.relocatable)
        assert together == theirs, path.name
        checked += 1
    assert checked >= 8


@pytest.mark.slow  # a ratio of times belongs into no gate
def test_fifty_times_faster_than_cuobjdump(scratch: Path) -> None:
    path = max(objects(scratch), key=lambda one: one.stat().st_size)
    start = time.perf_counter()
    scanned(path)
    first = time.perf_counter() - start
    start = time.perf_counter()
    scanned(path)
    mine = min(first, time.perf_counter() - start)
    start = time.perf_counter()
    cuobjdump(scratch, "--list-elf", str(path))
    theirs = time.perf_counter() - start
    assert theirs / mine > 50, f"{path.name}: {theirs:.2f} s against {mine * 1000:.1f} ms"


def test_libfabric_of_debian(tmp_path: Path) -> None:
    done = subprocess.run(
        ["apt-get", "download", "libfabric1"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    packages = list(tmp_path.glob("*.deb"))
    if done.returncode or not packages:
        pytest.skip("no Debian package to be had")
    subprocess.run(["dpkg-deb", "-x", str(packages[0]), str(tmp_path / "root")], check=True)
    path = next(one for one in (tmp_path / "root").rglob("libfabric.so.1.*") if not one.is_symlink())
    told = libfabric(Elf(path.read_bytes()), str(path))
    assert told is not None
    assert told.version == packages[0].name.split("_")[1].split("-")[0]
    assert told.version not in path.name
