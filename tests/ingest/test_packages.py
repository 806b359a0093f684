from __future__ import annotations

import pytest

from stackcheck.ingest.formats.efa_packages import package_file, upstream
from stackcheck.ingest.formats.pins import parse_pin, parse_wheel
from tests.ingest.reading import attributes, read_sample, read_text, versions


def test_two_nccl_wheels_stay_apart_with_their_cuda_lines() -> None:
    seen = read_sample("pip_freeze_two_nccl.txt").components["nccl"]
    assert {(o.version, o.attributes["cuda_major"]) for o in seen} == {("2.27.5", 12), ("2.28.9", 13)}


def test_the_same_nccl_in_two_cuda_lines_is_two_copies() -> None:
    seen = read_text("nvidia-nccl-cu12==2.27.5\nnvidia-nccl-cu13==2.27.5\n").components["nccl"]
    assert [o.attributes["package"] for o in seen] == ["nvidia-nccl-cu12", "nvidia-nccl-cu13"]


def test_a_wheel_from_a_url_tells_what_it_was_built_for() -> None:
    found = attributes(read_sample("pip_freeze_two_nccl.txt"), "flash-attn")
    assert found["torch"] == "2.4"
    assert found["abi"] == "pre-cxx11"
    assert found["cuda_major"] == 12
    assert found["python"] == ["3.10"]
    assert found["arch"] == ["x86_64"]


def test_an_abi3_wheel_runs_on_more_than_one_python() -> None:
    pin = parse_wheel("./vllm-0.20.0+cu129-cp38-abi3-manylinux_2_31_x86_64.whl")
    assert pin is not None
    assert (pin.name, pin.version) == ("vllm", "0.20.0+cu129")
    assert pin.attributes == {"wheel_python": "cp38-abi3", "glibc": "2.31", "arch": ["x86_64"]}


def test_editable_and_local_packages_have_no_version() -> None:
    found = read_sample("pip_freeze_two_nccl.txt")
    assert "vllm" not in found.components


def test_unknown_packages_are_left_out() -> None:
    assert set(read_sample("pip_list.txt").components) == {"deepspeed", "cudnn", "sglang", "torch"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pip_list.json", {"torch": {"2.9.1"}, "vllm": {"0.12.0"}}),
        ("uv.lock", {"nccl": {"2.27.3"}, "torch": {"2.8.0+cu128"}}),
        ("pylock.toml", {"vllm": {"0.11.0"}, "torch": {"2.8.0"}}),
        ("conda_list.json", {"torch": {"2.5.1+cu124"}, "cudnn": {"9.1.0"}, "vllm": {"0.7.3"}}),
    ],
)
def test_documents_that_list_packages(name: str, expected: dict[str, set[str]]) -> None:
    found = read_sample(name)
    assert {c: versions(found, c) for c in found.components} == expected


def test_evidence_of_a_lock_is_the_line_that_names_the_package() -> None:
    (torch,) = read_sample("uv.lock").components["torch"]
    assert torch.evidence.where == "uv.lock:11"


def test_conda_rows_tell_the_cuda_of_the_build_and_pypi_rows_count() -> None:
    found = read_sample("conda_list.txt")
    assert versions(found, "torch") == {"2.5.1+cu124"}
    assert versions(found, "cuda") == {"12.4.127"}  # pytorch-cuda 12.4 is a selector, not torch 12.4
    assert versions(found, "nccl") == {"2.23.4.1"}
    assert versions(found, "deepspeed") == {"0.16.4"}


def test_requirements_pin_versions_and_note_ranges() -> None:
    found = read_sample("requirements.txt")
    assert {c: versions(found, c) for c in found.components} == {
        "torch": {"2.8.0+cu128"},
        "vllm": {"0.11.0"},
        "flash-attn": {"2.8.3"},
    }
    told = {n.source: n.text for n in found.notes}
    assert "transformers is only asked for as >=4.55,<5" in told["requirements.txt:5"]
    assert "nvidia-nccl-cu12 is only asked for as ==2.27.*" in told["requirements.txt:7"]
    assert "requirements.txt:6" not in told  # numpy belongs to no component here


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("torch==2.8.0", "2.8.0"),
        ("torch == 2.8.0 ; python_version > '3.9'", "2.8.0"),
        ("torch[opt]===2.8.0+cu128  # why", "2.8.0+cu128"),
        ("torch==2.8.*", ""),
        ("torch>=2.8", ""),
        ("torch", ""),
    ],
)
def test_pins(line: str, version: str) -> None:
    pin = parse_pin(line)
    assert pin is not None
    assert (pin.name, pin.version) == ("torch", version)


@pytest.mark.parametrize(
    "line", ["", "-e .", "==1.0", "torch 2.8.0", "I think torch==2.8.0 is fine", "a" * 5000]
)
def test_what_is_no_requirement_is_none(line: str) -> None:
    pin = parse_pin(line)
    assert pin is None or not pin.version


def test_pip_messages() -> None:
    found = read_text(
        "Successfully installed nvidia-nccl-cu12-2.27.3 torch-2.8.0 triton-3.4.0\n"
        "Requirement already satisfied: vllm in ./site-packages (0.11.0)\n"
        "flashinfer-python 0.4.0 requires foo, which is not installed.\n"
    )
    assert versions(found, "torch") == {"2.8.0"}
    assert versions(found, "nccl") == {"2.27.3"}
    assert versions(found, "vllm") == {"0.11.0"}


def test_pip_show() -> None:
    assert versions(read_text("Name: torch\nVersion: 2.9.1+cu130\nSummary: Tensors\n"), "torch") == {
        "2.9.1+cu130"
    }


def test_grepped_rows_without_a_header() -> None:
    found = read_text("torch                2.3.0\nflash-attn           2.5.7\n")
    assert versions(found, "torch") == {"2.3.0"}
    assert versions(found, "flash-attn") == {"2.5.7"}


def test_efa_installer_list() -> None:
    found = read_sample("efa_installed_packages")
    assert {c: versions(found, c) for c in found.components} == {
        "efa-installer": {"1.43.3"},
        "efa-driver": {"2.17.3"},
        "libfabric": {"2.1.0amzn5.0"},
        "aws-ofi-nccl": {"1.16.3"},
        "openmpi": {"5.0.8"},
        "rdma-core": {"58.0"},
    }


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("libfabric1-aws_2.4.0amzn1.0_amd64", ("libfabric1-aws", "2.4.0amzn1.0")),
        ("libfabric-aws-devel-1.18.2amzn1.0-1.amzn2.x86_64", ("libfabric-aws-devel", "1.18.2amzn1.0")),
        ("efa-2.5.0-1.amzn2.x86_64", ("efa", "2.5.0")),
        ("libnccl2_2.27.7-1+cuda12.9_amd64.deb", ("libnccl2", "2.27.7")),
        ("README.md", None),
    ],
)
def test_package_file_names(word: str, expected: tuple[str, str] | None) -> None:
    assert package_file(word) == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1:580.95.05-0ubuntu1", "580.95.05"),
        ("9.10.2.21-1", "9.10.2.21"),
        ("1:3.3.9", "3.3.9"),
        ("46.0-1", "46.0"),
    ],
)
def test_distribution_versions_lose_epoch_and_revision(version: str, expected: str) -> None:
    assert upstream(version) == expected


def test_operating_system_packages_carry_versions_in_their_names() -> None:
    found = read_sample("shell_session.txt")
    assert versions(found, "fabric-manager") == {"580.95.05"}  # the removed 570 package does not count
    assert versions(found, "cudnn") == {"9.10.2.21"}


def test_environment_modules() -> None:
    found = read_text(" 1) cuda/12.1   2) cudnn/8.9.7.29_cuda12   3) nccl/2.18.3-1+cuda12.1\n")
    assert versions(found, "cuda") == {"12.1"}
    assert versions(found, "cudnn") == {"8.9.7.29"}
    assert versions(found, "nccl") == {"2.18.3"}
