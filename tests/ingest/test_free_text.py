from __future__ import annotations

import pytest

from tests.ingest.reading import read_text, versions


@pytest.mark.parametrize(
    ("line", "component", "version"),
    [
        ("torch 2.8.0+cu128 | NVIDIA B200 | nvcc release 12.8, V12.8.93", "torch", "2.8.0+cu128"),
        ("torch 2.8.0+cu128 | NVIDIA B200 | nvcc release 12.8, V12.8.93", "cuda-toolkit", "12.8.93"),
        ("flashinfer                   : 0.6.12", "flashinfer", "0.6.12"),
        ("driver 580.105.08, vllm 0.20.1, torch 2.11.0+cu130", "driver", "580.105.08"),
        ("Python 3.12.3", "python", "3.12.3"),
        ("container: CUDA 13.0, torch 2.10.0+cu130", "cuda", "13.0"),
        ("- **PyTorch version**: 2.8.0", "torch", "2.8.0"),
        ("| torch | 2.8.0 | ok |", "torch", "2.8.0"),
        ("EFA installer 1.43.3 on both nodes", "efa-installer", "1.43.3"),
        ("NCCL 2.27.3 and libfabric 2.1.0amzn5.0.", "libfabric", "2.1.0amzn5.0"),
        ("GPU 0: NVIDIA L40S, driver 580.95.05", "driver", "580.95.05"),
    ],
)
def test_versions_people_write(line: str, component: str, version: str) -> None:
    assert versions(read_text(line), component) == {version}


@pytest.mark.parametrize(
    "line",
    [
        "FlashInfer requires CUDA 12.9 or newer",
        "please upgrade to torch 2.9.0",
        "vllm was built with torch 2.8.0",
        "fixed in NCCL 2.28.3",
        "flashinfer-cubin version (0.6.1) does not match flashinfer version (0.5.3)",
        "torch>=2.8.0",
        "expected triton 3.4.0 but something else is there",
        "NCCL 2.27.7 works, NCCL 2.28.3 hangs",
        "loss 2.5 at step 100, lr 3.0",
        "my-torch-fork 2.8.0",
    ],
)
def test_advice_and_comparisons_are_no_versions(line: str) -> None:
    assert read_text(line).components == {}


@pytest.mark.parametrize(
    ("line", "instance"),
    [
        ("instance: p5.48xlarge", "p5.48xlarge"),
        ("instance type p6-b200.48xlarge", "p6-b200.48xlarge"),
        ("p6-b300.48xlarge", "p6-b300.48xlarge"),
        ("2 x p5en.48xlarge (H200)", "p5en.48xlarge"),
        ("p6e-gb200.36xlarge", "p6e-gb200.36xlarge"),
        ("file p5.48xlarge-topo.xml", None),
        ("see a.b and c4.5", None),
    ],
)
def test_instance_types(line: str, instance: str | None) -> None:
    assert read_text(line).instance == instance


def test_lspci() -> None:
    found = read_text("19:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)\n")
    assert found.gpu_model == "NVIDIA H100 SXM5 80GB"
    assert read_text("07:00.0 Bridge: NVIDIA Corporation GH100 [H100 NVSwitch] (rev a1)\n").gpu_model is None


def test_image_and_architecture() -> None:
    found = read_text("image vllm/vllm-openai:v0.15.0, host driver 580.95.05 | aarch64\n")
    assert (found.image, found.arch) == ("vllm/vllm-openai:v0.15.0", "aarch64")


def test_names_of_interfaces_and_distributions_are_no_versions() -> None:
    found = read_text(
        "You are attempting to use Flash Attention 2.0 with a model not initialized on GPU. Make sure to move the model\n"
        "  OS Image:                   Amazon Linux 2023.8.20250804\n"
    )
    assert set(found.components) <= {"os"}


def test_the_banner_of_an_ngc_image_names_no_gpu() -> None:
    assert (
        read_text(
            "== PyTorch ==\nNVIDIA Release 26.05 (build 123)\nPyTorch Version 2.12.0a0+5aff3928d8"
        ).gpu_model
        is None
    )
