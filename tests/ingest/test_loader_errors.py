from __future__ import annotations

from tests.ingest.reading import attributes, read_sample, read_text, versions


def test_architectures_in_torchs_warning_belong_to_torch() -> None:
    found = read_sample("traceback_arch.txt")
    targets = ["sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"]
    assert attributes(found, "torch")["targets"] == targets
    assert found.facts["arch_list"] == tuple(targets)
    assert found.gpu_model == "NVIDIA B200"
    assert found.facts["compute_capability"] == "10.0"
    assert found.facts["cuda_error"] == (209,)


def test_they_are_given_to_the_torch_that_another_line_names() -> None:
    found = read_text(
        "torch==2.4.1+cu121\nThe current PyTorch install supports CUDA capabilities sm_80 sm_90.\n"
    )
    (torch,) = found.components["torch"]
    assert torch.version == "2.4.1+cu121"
    assert torch.attributes["targets"] == ["sm_80", "sm_90"]


def test_values_of_loader_errors() -> None:
    facts = read_sample("loader_errors.txt").facts
    assert facts["undefined_symbol_in"] == ("flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so",)
    assert facts["missing_libraries"] == ("libcudart.so.13",)
    assert facts["glibc_needed"] == "2.34"
    assert facts["glibcxx_needed"] == "3.4.32"
    assert facts["symbol_version_wanted_by"] == ("_C.abi3.so", "y.so")
    assert facts["cuda_error"] == (803, 804)
    assert facts["driver_cuda"] == "12.4"
    assert facts["ptxas_unsupported"] == "sm_103a"
    assert facts["cudnn_compiled_with"] == "9.1.0"


def test_cudnn_found_at_run_time_is_the_loaded_one() -> None:
    (cudnn,) = read_sample("loader_errors.txt").components["cudnn"]
    assert (cudnn.version, cudnn.loaded) == ("8.9.2", True)


def test_jax_names_both_cudnns() -> None:
    found = read_text(
        "E cuda_dnn.cc:456] Loaded runtime CuDNN library: 9.10.1 but source was compiled with: 9.13.1.  CuDNN library needs to have\n"
    )
    assert versions(found, "cudnn") == {"9.10.1"}
    assert found.facts["cudnn_compiled_with"] == "9.13.1"


def test_wanted_versions_are_not_installed_ones() -> None:
    found = read_text(
        "Failed to get device capability: SM 12.x requires CUDA >= 12.9\nWarning: please use at least NVCC 12.9 for the best performance\n"
        "vllm requires torch==2.9.0, which is not met; flashinfer needs torch 2.8.0 or newer\n"
    )
    assert found.components == {}
    assert found.facts["cuda_wanted"] == "12.9"
    assert found.facts["nvcc_wanted"] == "12.9"


def test_plugin_with_an_unmet_symbol_version() -> None:
    facts = read_text(
        "n:1:2 [0] NCCL INFO NET/Plugin: libnccl-net-ofi.so: /lib/libefa.so.1: version `EFA_1.4' not found (required by /opt/amazon/efa/lib/libfabric.so.1)\n"
    ).facts
    assert facts["nccl_net_plugin_loaded"] is False


def test_engine_logs() -> None:
    found = read_text(
        "INFO 11-29 09:59:12 [api_server.py:1839] vLLM API server version 0.11.0\n"
        "(EngineCore_DP0 pid=1) INFO 11-29 09:59:13 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: x\n"
        "INFO [cuda.py] Using FLASHINFER attention backend\nNVSHMEM v3.4.5\n"
        "DEBUG:x:{'transformer_engine_version': '2.8.0', 'compute_capability': 'sm100', 'flash_attn_version': '2.7.3'}\n"
    )
    assert versions(found, "vllm") == {"0.11.0"}
    assert versions(found, "nvshmem") == {"3.4.5"}
    assert versions(found, "transformer-engine") == {"2.8.0"}
    assert versions(found, "flash-attn") == {"2.7.3"}
    assert found.facts["attention_backend"] == "FLASHINFER"
    assert found.facts["compute_capability"] == "10.0"


def test_ds_report() -> None:
    found = read_sample("ds_report.txt")
    assert versions(found, "torch") == {"2.7.1+cu128"}
    assert versions(found, "cuda-toolkit") == {"12.6"}
    assert attributes(found, "deepspeed") == {"torch": "2.7", "cuda": "12.8"}
    assert found.facts["limit:shm"] == 64 << 20


def test_the_banner_of_an_image_names_its_compat_library() -> None:
    found = read_text(
        "NOTE: CUDA Forward Compatibility mode ENABLED.\n"
        "  Using CUDA 13.0 driver version 580.82.07 with kernel driver version 570.172.08.\n"
    )
    assert versions(found, "cuda-compat") == {"580.82.07"}
    assert versions(found, "driver") == {"570.172.08"}
    assert versions(found, "cuda") == {"13.0"}
