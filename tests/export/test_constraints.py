from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from stackcheck.export.constraints import render
from stackcheck.export.packages import packages, torch_backend
from stackcheck.model.stack import Pin, Stack, Target
from tests.samples import hard_stack, pin


def requirements(text: str) -> list[Requirement]:
    return [Requirement(line) for line in text.split("\n") if line and not line.startswith("#")]


def written(*pins: Pin) -> str:
    return render(Stack(target=Target(gpu="b200"), pins=pins))


def test_every_line_is_an_exact_requirement_without_extras() -> None:
    found = requirements(render(hard_stack()))
    assert {r.name: str(r.specifier) for r in found} == {
        "torch": "==2.9.0",
        "torchaudio": "==2.9.0",
        "vllm": "==0.12.0",
    }
    assert not any(r.extras or r.url or r.marker for r in found)


def test_a_system_package_version_is_no_version_of_the_wheel() -> None:
    assert "nvidia-nccl" not in written(
        pin("nccl", "2.28.9-1", "communication", "image", "pkg:pypi/nvidia-nccl-cu13")
    )


@pytest.mark.parametrize(
    "purl", ["", "pkg:deb/ubuntu/x", "pkg:pypi/", "pkg:pypi/a b", "pkg:pypi/x;y@1", "pkg:pypi/-r"]
)
def test_a_pin_that_is_no_package_is_left_out(purl: str) -> None:
    assert requirements(written(pin("x", "1.0", "other", "install", purl))) == []


def test_the_version_of_the_purl_wins_over_the_component_s() -> None:
    assert "nvidia-cuda-runtime==13.0.96" in written(
        pin("cuda", "13.0.2", "cuda", "install", "pkg:pypi/nvidia-cuda-runtime@13.0.96")
    )


def test_the_build_is_named_with_the_backend_to_pass() -> None:
    text = written(pin("torch", "2.11.0+cu126", "framework", "install", "pkg:pypi/torch"))
    assert "torch==2.11.0\n" in text
    assert "# build cu126: uv pip install --torch-backend=cu126" in text


def test_no_backend_is_asked_for_what_the_image_holds() -> None:
    assert "--torch-backend" not in written(
        pin("torch", "2.11.0+cu126", "framework", "image", "pkg:pypi/torch")
    )


def test_a_backend_selects_torch_and_its_kin_only() -> None:
    found = list(
        packages(
            [
                pin("vllm", "0.33.0+cu129", "serving", "install", "pkg:pypi/vllm"),
                pin("torchvision", "0.24.0+cu129", "framework", "install", "pkg:pypi/torchvision"),
            ]
        )
    )
    assert [p.backend for p in found] == ["", "cu129"]
    assert torch_backend(found) == "cu129"


def test_two_backends_cannot_be_one_command() -> None:
    found = list(
        packages(
            [
                pin("torch", "2.9.0+cu128", "framework", "install", "pkg:pypi/torch"),
                pin("torchvision", "0.24.0+cu129", "framework", "install", "pkg:pypi/torchvision"),
            ]
        )
    )
    assert torch_backend(found) == ""


@pytest.mark.skipif(
    shutil.which("uv") is None and not Path(sys.executable).with_name("uv").exists(), reason="no uv"
)
def test_uv_and_pip_read_the_file(tmp_path: Path) -> None:
    constraints, wanted = tmp_path / "constraints.txt", tmp_path / "wanted.txt"
    constraints.write_text(render(hard_stack()), encoding="utf-8")
    wanted.write_text("")
    uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    for command in (
        [uv, "--offline", "--no-config", "pip", "compile", "-q", "-c", str(constraints), str(wanted)],
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-q",
            "--no-index",
            "--dry-run",
            "-c",
            str(constraints),
            "packaging",
        ],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr


def test_a_stack_whose_image_holds_it_all_says_how_to_pin_packages() -> None:
    stack = hard_stack()._replace(pins=())
    assert "--images none" in render(stack)
    assert "image" not in render(stack._replace(image=None)).split("policy")[1]
