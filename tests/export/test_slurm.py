from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from stackcheck.export.slurm import enroot_name, render
from stackcheck.model.stack import Stack
from tests.samples import bare_stack, empty_stack, hard_stack


def directives(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith("#SBATCH")]


def ran(stack: Stack, tmp_path: Path, environment: dict[str, str], *args: str) -> tuple[int, list[str]]:
    """Run the script with an srun that prints its arguments, one per line."""
    srun = tmp_path / "srun"
    srun.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    srun.chmod(0o755)
    script = tmp_path / "job.sh"
    script.write_text(render(stack), encoding="utf-8")
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", **environment}
    done = subprocess.run(
        ["bash", str(script), *args], capture_output=True, text=True, check=False, env=env, timeout=20
    )
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("make", [hard_stack, bare_stack, empty_stack])
def test_bash_reads_it(make) -> None:  # type: ignore[no-untyped-def]
    done = subprocess.run(["bash", "-n"], input=render(make()).encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_srun_gets_the_image_in_enroot_s_form_and_the_command(tmp_path: Path) -> None:
    code, words = ran(hard_stack(), tmp_path, {"AWS_REGION": "eu-north-1"}, "python", "train me.py")
    assert code == 0
    assert words == [
        "--container-image=123456789012.dkr.ecr.eu-north-1.amazonaws.com#pytorch-training:2.9.0-gpu-py312-cu130-ubuntu22.04-ec2",
        "--container-env=NCCL_NET_PLUGIN",
        "python",
        "train me.py",
    ]


def test_mounts_are_passed_if_given(tmp_path: Path) -> None:
    _, words = ran(hard_stack(), tmp_path, {"AWS_REGION": "x", "MOUNTS": "/a b:/b"}, "true")
    assert "--container-mounts=/a b:/b" in words


def test_the_job_stops_without_a_region_or_an_image(tmp_path: Path) -> None:
    assert ran(hard_stack(), tmp_path, {}, "true")[0] != 0
    assert ran(empty_stack(), tmp_path, {}, "true")[0] != 0


def test_gpus_come_from_the_target_alone() -> None:
    assert "#SBATCH --gpus-per-node=8" in directives(render(hard_stack()))
    assert not any("gpus" in d for d in directives(render(bare_stack())))


@pytest.mark.parametrize("make", [hard_stack, bare_stack, empty_stack])
def test_the_number_of_nodes_is_asked_for_and_never_guessed(make) -> None:  # type: ignore[no-untyped-def]
    assert [d for d in directives(render(make())) if "nodes" in d] == ["#SBATCH --nodes=NODES"]


def test_no_address_or_launcher_is_invented() -> None:
    commands = [line for line in render(hard_stack()).split("\n") if line and not line.startswith("#")]
    assert not any("MASTER_" in line or "torchrun" in line for line in commands)


def test_directives_stand_before_the_first_command() -> None:
    lines = render(hard_stack()).split("\n")
    first = next(i for i, line in enumerate(lines) if line and not line.startswith("#"))
    assert not any(line.startswith("#SBATCH") for line in lines[first:])


def test_a_hostile_gpu_name_is_no_directive() -> None:
    stack = hard_stack()
    hostile = stack._replace(target=stack.target._replace(gpu="x\n#SBATCH --wrap=evil"))
    assert not any("wrap=evil" in d for d in directives(render(hostile)))


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("nvcr.io/nvidia/pytorch:25.09-py3", "nvcr.io#nvidia/pytorch:25.09-py3"),
        ("vllm/vllm-openai:v0.12.0", "vllm/vllm-openai:v0.12.0"),
        ("ubuntu:24.04", "ubuntu:24.04"),
        ("localhost:5000/a/b:1", "localhost:5000#a/b:1"),
    ],
)
def test_enroot_name(reference: str, expected: str) -> None:
    assert enroot_name(reference) == expected
