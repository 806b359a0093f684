"""The pip-level pins of a stack are installable: uv accepts them against the package index.

Needs the network (`pytest -m network`); the index is whatever the machine's pip and uv are configured for.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

STACKS = {
    "vllm": ["vllm"],
    "sglang": ["sglang"],
    "verl": ["verl[vllm]"],
    "megatron": ["megatron-core", "transformer-engine"],
    "deepspeed": ["deepspeed"],
    "torch": ["torch"],
}


def uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        pytest.skip("uv is not installed")
    return found


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize("name", STACKS)
@pytest.mark.parametrize("gpu", ["h100", "b300"])
def test_uv_accepts_the_pins(name: str, gpu: str, tmp_path: Path) -> None:
    constraints, wanted = tmp_path / "constraints.txt", tmp_path / "wanted.txt"
    flags = [part for f in STACKS[name] for part in ("--framework", f)]
    resolved = subprocess.run(
        [
            sys.executable,
            "-m",
            "stackcheck",
            "resolve",
            "--gpu",
            gpu,
            "--images",
            "none",
            "--python",
            "3.12",
            *flags,
            "--export",
            f"constraints={constraints}",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert resolved.returncode == 0, resolved.stdout + resolved.stderr
    wanted.write_text("\n".join(STACKS[name]))
    compiled = subprocess.run(
        [
            uv(),
            "pip",
            "compile",
            "--quiet",
            "--python-version",
            "3.12",
            "--python-platform",
            "x86_64-manylinux_2_35",
            "--prerelease",
            "allow",
            "--constraints",
            str(constraints),
            str(wanted),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert compiled.returncode == 0, compiled.stderr
    pinned = dict(
        line.split("==")
        for line in constraints.read_text().splitlines()
        if "==" in line and not line.startswith("#")
    )
    for line in compiled.stdout.splitlines():
        package, equals, version = line.strip().partition("==")
        if equals and package in pinned:
            assert version.split(" ")[0] == pinned[package], package
