from __future__ import annotations

from tests.ingest.reading import attributes, read_sample, read_text, versions


def test_torch_report_tells_the_whole_stack() -> None:
    found = read_sample("collect_env_torch.txt")
    assert versions(found, "torch") == {"2.8.0+cu128"}
    assert versions(found, "cuda") == {"12.8.90"}
    assert versions(found, "cuda-toolkit") == {"12.8.93"}
    assert versions(found, "driver") == {"570.172.08"}
    assert versions(found, "nccl") == {"2.27.3"}
    assert versions(found, "python") == {"3.12.3"}
    assert versions(found, "glibc") == {"2.39"}
    assert versions(found, "kernel") == {"6.8.0-1031-aws"}
    assert versions(found, "os") == {"ubuntu-24.04"}
    assert (found.gpu_model, found.gpu_count, found.arch) == ("NVIDIA H100 80GB HBM3", 8, "x86_64")
    assert found.facts["cuda_available"] is True


def test_system_cudnn_and_wheel_stay_apart_and_its_parts_are_one() -> None:
    seen = read_sample("collect_env_torch.txt").components["cudnn"]
    assert {(o.version, o.path) for o in seen} == {
        ("9.8.0", "/usr/lib/x86_64-linux-gnu"),
        ("9.10.2.21", ""),
    }


def test_the_cuda_that_built_torch_becomes_its_build_label() -> None:
    found = read_sample("collect_env_old_conda.txt")
    assert versions(found, "torch") == {"2.4.1+cu121"}
    assert versions(found, "cuda") == {"12.1"}
    assert versions(found, "os") == {"amzn-2023"}
    assert found.facts["cuda_available"] is False


def test_cudnn_integer_codes_are_decoded_by_their_width() -> None:
    assert versions(read_text("PyTorch version: 2.4.1\ncuDNN version: 90100\n"), "cudnn") == {"9.1.0"}
    assert versions(read_text("PyTorch version: 2.1.0\ncuDNN version: 8902\n"), "cudnn") == {"8.9.2"}


def test_what_could_not_be_collected_is_unknown() -> None:
    found = read_sample("collect_env_old_conda.txt")
    assert "driver" not in found.components
    assert "cuda-toolkit" not in found.components
    assert found.gpu_model is None


def test_vllm_report_with_aligned_colons_topology_and_environment() -> None:
    found = read_sample("collect_env_vllm.txt")
    assert versions(found, "vllm") == {"0.11.1rc6.dev30+gd2c33c397"}
    assert versions(found, "torch") == {"2.9.0+cu130"}
    assert versions(found, "flashinfer") == {"0.5.2"}
    assert (found.gpu_model, found.gpu_count) == ("NVIDIA B200", 2)
    assert found.facts["nvlink"] == 18
    assert found.facts["vllm_cuda_archs"] == "10.0a"
    assert found.environment["NCCL_CUMEM_ENABLE"] == "0"
    assert found.environment["CUDA_MODULE_LOADING"] == "LAZY"


def test_secrets_are_not_kept() -> None:
    assert "HF_TOKEN" not in read_sample("collect_env_vllm.txt").environment


def test_sglang_report() -> None:
    found = read_sample("check_env_sglang.txt")
    assert versions(found, "sglang") == {"0.5.3"}
    assert versions(found, "sgl-kernel") == {"0.3.14.post1"}
    assert versions(found, "driver") == {"570.133.20"}
    assert versions(found, "cuda-toolkit") == {"12.9.86"}
    assert found.components["vllm"] == ()  # looked for, and not there
    assert (found.gpu_model, found.gpu_count) == ("NVIDIA H200", 8)
    assert found.facts["compute_capability"] == "9.0"
    assert found.facts["limit:nofile"] == 1048576


def test_torch_says_which_build_it_is_of() -> None:
    assert attributes(read_sample("collect_env_torch.txt"), "torch")["cuda"] == "12.8"


def test_what_cuda_answers_as_a_code_is_no_driver_and_no_toolkit() -> None:
    found = read_text(
        "Is CUDA available: True\nCUDA Runtime Version: 12080\nCUDA Driver Version: 13000\n[pip3] torch==2.8.0\n"
    )
    assert versions(found, "cuda") == {"12.8"}
    assert found.facts["driver_cuda"] == "13.0"
    assert not {"driver", "cuda-toolkit"} & found.components.keys()
