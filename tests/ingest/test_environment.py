from __future__ import annotations

import pytest

from tests.ingest.reading import read_sample, read_text, versions


def test_proc_environ_without_what_is_private() -> None:
    assert read_sample("proc_environ").environment == {
        "NCCL_DEBUG": "INFO",
        "FI_PROVIDER": "efa",
        "LD_LIBRARY_PATH": "/opt/amazon/efa/lib:/usr/local/cuda/lib64",
    }


def test_batch_script() -> None:
    assert read_sample("job.sbatch").environment == {
        "FI_PROVIDER": "efa",
        "FI_EFA_USE_DEVICE_RDMA": "1",
        "NCCL_SOCKET_IFNAME": "^docker,lo",
        "NCCL_PROTO": "simple",
        "CUDA_DEVICE_MAX_CONNECTIONS": "1",
    }


@pytest.mark.parametrize(
    "line",
    [
        "NCCL_DEBUG=INFO",
        "export NCCL_DEBUG=INFO",
        'export NCCL_DEBUG="INFO";',
        "declare -x NCCL_DEBUG='INFO'",
        "setenv NCCL_DEBUG INFO",
        "  -e NCCL_DEBUG=INFO \\",
        "Environment=NCCL_DEBUG=INFO",
        "$ export NCCL_DEBUG=INFO",
        "$ NCCL_DEBUG=INFO python train.py",
        "$ docker run -e NCCL_DEBUG=INFO x",
        "$ mpirun -x NCCL_DEBUG=INFO ./a",
        "container NCCL_DEBUG=INFO",
        "[rank0]: NCCL_DEBUG=INFO",
        "NCCL_DEBUG=INFO # verbose",
    ],
)
def test_ways_to_set_a_variable(line: str) -> None:
    assert read_text(line + "\n").environment == {"NCCL_DEBUG": "INFO"}


@pytest.mark.parametrize(
    "line",
    [
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
        "NCCL_P2P_DISABLE=1 helps on some nodes",
        "try NCCL_P2P_DISABLE=1",
        "# export NCCL_ALGO=Ring",
        "Detected `DS_SKIP_CUDA_CHECK=1`: Allowing this combination",
        "A==B",
        "x = 1",
    ],
)
def test_mentions_set_nothing(line: str) -> None:
    assert read_text(line + "\n").environment == {}


def test_empty_values_are_kept() -> None:
    assert read_text("UCX_MODULE_DIR=\nUCX_TLS=\n").environment == {"UCX_MODULE_DIR": "", "UCX_TLS": ""}


def test_two_values_of_one_variable_are_told() -> None:
    found = read_text("NCCL_CUMEM_ENABLE=1\n# worker\nNCCL_CUMEM_ENABLE=0\n")
    assert found.environment == {"NCCL_CUMEM_ENABLE": "0"}
    assert found.facts["env_differs"] == ("NCCL_CUMEM_ENABLE",)


def test_values_may_hold_blanks_and_equal_signs() -> None:
    found = read_text(
        "XLA_FLAGS=--xla_gpu_x=true --xla_gpu_y=false\nNVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470\n"
    )
    assert found.environment["XLA_FLAGS"] == "--xla_gpu_x=true --xla_gpu_y=false"
    assert found.environment["NVIDIA_REQUIRE_CUDA"] == "cuda>=12.4 brand=tesla,driver>=470"


@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "WANDB_API_KEY",
        "DB_PASSWORD",
        "USER",
        "HOME",
        "HOSTNAME",
        "SSH_CLIENT",
    ],
)
def test_private_variables_are_dropped(name: str) -> None:
    assert read_text(f"export {name}=whatever\nNCCL_DEBUG=INFO\n").environment == {"NCCL_DEBUG": "INFO"}


def test_images_tell_versions_in_variables() -> None:
    found = read_text(
        "CUDA_VERSION=12.9.1\nNV_LIBNCCL_PACKAGE_VERSION=2.27.3-1\nNV_CUDNN_VERSION=9.10.2.21-1\n"
    )
    assert versions(found, "cuda") == {"12.9.1"}
    assert versions(found, "nccl") == {"2.27.3-1"}
    assert versions(found, "cudnn") == {"9.10.2.21-1"}


def test_the_driver_of_an_image_is_its_compat_package() -> None:
    found = read_text("CUDA_DRIVER_VERSION=580.82.07\n")
    assert versions(found, "cuda-compat") == {"580.82.07"}
    assert "driver" not in found.components


def test_the_release_of_an_image_is_no_version_of_torch() -> None:
    assert "torch" not in read_text("NVIDIA_PYTORCH_VERSION=25.09\n").components
