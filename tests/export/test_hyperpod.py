from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from stackcheck.export.hyperpod import render
from stackcheck.model.stack import Stack, Target
from tests.samples import bare_stack, empty_stack, hard_stack, pin


def ran(stack: Stack, tmp_path: Path, driver: str) -> subprocess.CompletedProcess[str]:
    """Run the script on a node whose nvidia-smi says that driver; curl fails, so that nothing is fetched."""
    for name, body in (("nvidia-smi", f"echo {driver}"), ("curl", "echo fetch $*; exit 7")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    script = tmp_path / "script.sh"
    script.write_text(render(stack), encoding="utf-8")
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    return subprocess.run(
        ["bash", str(script)], capture_output=True, text=True, check=False, env=env, timeout=20
    )


@pytest.mark.parametrize("make", [hard_stack, bare_stack, empty_stack])
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_shell_reads_it(make, shell: str) -> None:  # type: ignore[no-untyped-def]
    done = subprocess.run([shell, "-n"], input=render(make()).encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("driver", "code"), [("550.54.15", 1), ("580.65.06", 0), ("580.105.08", 0)])
def test_the_driver_is_held_against_the_floor_the_stack_accepts(
    tmp_path: Path, driver: str, code: int
) -> None:
    stack = Stack(
        target=Target(gpu="b200"),
        pins=(pin("driver", "580.95.05", "driver", "host", accepts=">=580.65.06"),),
    )
    assert ran(stack, tmp_path, driver).returncode == code


def test_without_a_plain_floor_the_pin_itself_is_the_floor(tmp_path: Path) -> None:
    stack = Stack(
        target=Target(gpu="b200"),
        pins=(pin("driver", "580.95.05", "driver", "host", accepts=">=580,<590"),),
    )
    assert ran(stack, tmp_path, "580.65.06").returncode == 1


def test_the_installer_of_the_stack_is_fetched_on_a_node_without_one(tmp_path: Path) -> None:
    done = ran(hard_stack(), tmp_path, "580.95.05")
    assert "aws-efa-installer-1.47.0.tar.gz" in done.stdout
    assert done.returncode != 0  # a failed fetch fails the node


def test_a_hostile_version_is_not_run() -> None:
    stack = Stack(target=Target(gpu="b200"), pins=(pin("driver", "1; rm -rf ~", "driver", "host"),))
    assert "rm -rf" not in render(stack)
