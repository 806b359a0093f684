"""A CUDA build of torch as installed, looked at without importing it, against what it says once imported. Needs gigabytes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TORCH = "torch==2.14.1"
pytestmark = [pytest.mark.network, pytest.mark.slow]

SAYS = """
import json, re, torch
torch.backends.cudnn.version()
maps = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
print(json.dumps({"version": torch.__version__, "cuda": torch.version.cuda, "abi": torch.compiled_with_cxx11_abi(),
                  "flags": torch._C._cuda_getArchFlags(), "maps": sorted(maps)}))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with torch; STACKCHECK_TORCH names one to use again."""
    given = os.environ.get("STACKCHECK_TORCH")
    if given:
        return Path(given)
    folder = tmp_path_factory.mktemp("torch") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    subprocess.run(
        [str(folder / "bin/pip"), "install", "-q", "--disable-pip-version-check", TORCH, "numpy"], check=True
    )
    return folder


def probe(environment: Path, **more: str) -> dict[str, Any]:
    """Return the inventory of the environment."""
    environ = {
        "VIRTUAL_ENV": str(environment),
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT / "probes"),
        **more,
    }
    done = subprocess.run(
        [sys.executable, "-m", "stackcheck_probes"], env=environ, capture_output=True, text=True, check=True
    )
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded


@pytest.fixture(scope="module")
def says(environment: Path) -> dict[str, Any]:
    """What torch itself says."""
    done = subprocess.run(
        [str(environment / "bin/python"), "-c", SAYS],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin"},
    )
    loaded: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if loaded["cuda"] is None:
        pytest.skip("no CUDA build of torch to be had here")
    return loaded


def test_version_cuda_abi_and_targets(environment: Path, says: dict[str, Any]) -> None:
    package = next(one for one in probe(environment)["packages"] if one["name"] == "torch" and one["active"])
    assert package["version"] == says["version"]
    assert package["attributes"]["cuda"] == says["cuda"]
    assert package["attributes"]["abi"] == ("cxx11" if says["abi"] else "pre-cxx11")
    assert set(says["flags"].split()) <= set(package["attributes"]["targets"])


def test_the_libraries_said_to_be_loaded_are_those_torch_maps(
    environment: Path, says: dict[str, Any]
) -> None:
    found = probe(environment)
    for component, name in (
        ("nccl", "libnccl"),
        ("cuda", "libcudart"),
        ("cudnn", "libcudnn"),
        ("cublas", "libcublas"),
        ("libstdcxx", "libstdc"),
    ):
        taken = [copy["path"] for copy in found["components"][component] if copy.get("loaded")]
        mapped = {path for path in says["maps"] if re.search(rf"/{name}(?:\+\+)?\.so", path)}
        assert set(taken) == mapped, component
    assert found["facts"]["missing_libraries"] == []
    assert found["facts"]["extensions_for_other_torch"] == []
    assert found["facts"]["torch_pins_broken"] == []


def test_a_shadow_on_the_library_path_does_not_win_over_rpath(
    environment: Path, says: dict[str, Any], tmp_path: Path
) -> None:
    del says
    source = next(environment.rglob("libnccl.so.2"))
    (tmp_path / "libnccl.so.2").symlink_to(source.resolve())
    copy = tmp_path / "other"
    copy.mkdir()
    (copy / "libnccl.so.2").write_bytes(source.read_bytes()[:4096])
    nccl = probe(environment, LD_LIBRARY_PATH=str(copy))["components"]["nccl"]
    assert [one["path"] for one in nccl if one.get("loaded")] == [str(source.resolve())]
    assert "RPATH" in nccl[0]["where"]


def test_ten_times_faster_than_collect_env(environment: Path, says: dict[str, Any]) -> None:
    """Best of three against best of two, in turns. benchmarks/probe_bench.py measures it properly."""
    del says
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        probe(environment)
        ours.append(time.perf_counter() - start)
        if len(theirs) == 2:
            continue
        start = time.perf_counter()
        subprocess.run(
            [str(environment / "bin/python"), "-m", "torch.utils.collect_env"],
            capture_output=True,
            check=False,
            env={"PATH": "/usr/bin:/bin"},
        )
        theirs.append(time.perf_counter() - start)
    assert min(theirs) / min(ours) >= 10, f"{min(theirs):.2f} s against {min(ours):.2f} s"
