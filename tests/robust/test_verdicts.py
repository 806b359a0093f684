"""What a node looks like when it is well, in words that sound ill, in versions with odd tails and from the future."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.robust.conftest import Call, Inventory, Outcome, ended_well

# What healthy machines print, one program a text. Nothing in them may be an error.
_WELL = {
    "dmesg": (
        "[    2.1] RAS: Correctable Errors collector initialized.\n"
        "[    5.2] nvidia: loading out-of-tree module taints kernel.\n"
        "[    5.2] nvidia: module verification failed: signature and/or required key missing - tainting kernel\n"
        "[    5.3] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder@U22)\n"
        "[    5.4] nvidia 0000:53:00.0: enabling device (0000 -> 0002)\n"
        "[    5.5] nvidia-nvswitch: Probing device 0000:85:00.0, Vendor Id = 0x10de, Device Id = 0x22a3, Class = 0x68000\n"
        "[    5.7] nvidia 0000:53:00.0: [drm] No compatible format found\n"
        "[    7.0] infiniband efa_0: ib_query_port failed (-22)\n"
        "[   12.0] NVRM: Persistence mode is deprecated and will be removed in a future release. Please use nvidia-persistenced instead.\n"
    ),
    "training": (
        "W1120 12:00:00.0 100 torch/distributed/run.py:774] Setting OMP_NUM_THREADS environment variable for each process to be 1\n"
        " [2025-11-20 12:01:00] iteration      804/  100000 | consumed samples: 803 | elapsed time per iteration (ms): 999.0 |\n"
        "[rank0]:[W1120 12:00:10.1 ProcessGroupNCCL.cpp:5023] Guessing device ID based on global rank. This can cause a hang if rank to GPU"
        " mapping is heterogeneous.\n"
        "UserWarning: TORCH_CUDA_ARCH_LIST is not set, all archs for visible cards are included for compilation.\n"
        "WARNING: destroy_process_group() was not called before program exit, which can leak resources.\n"
    ),
    "nccl": (
        "n1:100:100 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.\n"
        "n1:100:100 [0] NCCL INFO TUNER/Plugin: Could not find: libnccl-tuner.so. Using internal tuner plugin.\n"
        "n1:100:100 [0] NCCL INFO NET/Plugin: Failed to find ncclNetPlugin_v10 symbol.\n"
        "n1:100:100 [0] NCCL INFO NET/Plugin: Loaded net plugin Libfabric (v9)\n"
        "n1:100:100 [0] NCCL INFO Call to connect returned Connection refused, retrying\n"
        "n1:100:100 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.\n"
        "n1:100:100 [0] NCCL INFO comm 0x5 rank 0 nranks 16 cudaDev 0 nvmlDev 0 busId 53000 commId 0x1 - Init COMPLETE\n"
    ),
    "limits": (
        "$ ulimit -a\nmax locked memory           (kbytes, -l) unlimited\nopen files                          (-n) 1048576\n"
        "core file size              (blocks, -c) 0\nstack size                  (kbytes, -s) 8192\n"
    ),
    "slurm": (
        "srun: job 123 queued and waiting for resources\npyxis: imported docker image: nvcr.io#nvidia/pytorch:25.09-py3\n"
        "slurmstepd: error: *** STEP 123.0 ON n1 CANCELLED AT 2025-11-20T12:00:00 ***\nsrun: error: n1: tasks 0-7: Terminated\n"
    ),
    "kubernetes": (
        "Conditions:\n"
        "  MemoryPressure   False   Thu, 20 Nov 2025 10:00:00 +0000   KubeletHasSufficientMemory   kubelet has sufficient memory available\n"
        "  Ready            True    Thu, 20 Nov 2025 10:00:00 +0000   KubeletReady                 kubelet is posting ready status\n"
        "Capacity:\n  nvidia.com/gpu:          8\n  vpc.amazonaws.com/efa:   32\nEvents:              <none>\n"
    ),
    "engine": (
        "(EngineCore_DP0 pid=12) WARNING 11-20 12:00:13 [custom_all_reduce.py:144] Custom allreduce is disabled because it's not supported"
        " on more than two PCIe-only GPUs.\n"
        "(APIServer pid=1) INFO 11-20 12:10:00 [loggers.py:127] Engine 000: Avg prompt throughput: 803.0 tokens/s, Running: 999 reqs\n"
        "[2025-11-20 12:00:40 TP0] max_total_num_tokens=803000, max_running_requests=999, context_len=131072\n"
    ),
    "pip": (
        "Collecting triton==3.5.1 (from torch==2.9.1)\n    Found existing installation: torch 2.8.0\n"
        "Successfully installed nvidia-nccl-cu12-2.27.5 torch-2.9.1 triton-3.5.1\n"
        "WARNING: Running pip as the 'root' user can result in broken permissions\nNo broken requirements found.\n"
    ),
    "docker inspect": (
        '[{"Id":"3f","State":{"Status":"running","OOMKilled": false,"ExitCode": 0},"Config":{"Env":["NCCL_VERSION=2.27.7"]}}]\n'
    ),
    "systemd": (
        "  nvidia-imex.service  loaded inactive dead  NVIDIA IMEX service\nnvidia-imex.service: recovered from failed state\n"
        "nvlsm.service: Main process exited, code=exited, status=0/SUCCESS\nnvlsm[99]: Errors: 0\nfabricmanager.service: error count 0\n"
    ),
    "rdma": (
        "libibverbs: Warning: couldn't load driver 'libvmw_pvrdma-rdmav34.so': libvmw_pvrdma-rdmav34.so: cannot open shared object file:"
        " No such file or directory\nRLIMIT_MEMLOCK limit: unlimited\nSet RLIMIT_MEMLOCK limit to unlimited\n"
    ),
    "sysctl": "kernel.apparmor_restrict_unprivileged_userns = 1\n",
    "signals": "signal handlers installed for SIGTERM, SIGBUS\n",
    "another way taken": (
        "INFO 08-21 12:22:33 [cuda.py:12] FlashMLA is not supported on this device, using FLASH_ATTN backend\n"
        "MXFP4 is only supported on blackwell; using bf16\nFalling back to cpu offload\n"
        "Some features require CUDA_DEVICE_MAX_CONNECTIONS=1, which is set.\n"
        "cuDNN frontend: CUDNN_STATUS_NOT_SUPPORTED for engine 5, skipped\n"
        "INFO peer access is not supported between these two devices, using copy\nNo devices were found that need updating\n"
    ),
    "memory": "Detected 0 oom_kill events\nno oom_kill event\n",
    "advice": (
        '# If you see "no kernel image is available for execution on the device", rebuild\n'
        "If you get `CUDA error: no kernel image is available for execution on the device`, set TORCH_CUDA_ARCH_LIST.\n"
    ),
    "changes and sources": (
        '- Fix "CUDA error: an illegal memory access was encountered" in fused kernel (#1234)\n'
        "* [Kernel] Fixed NCCL WARN Cuda failure 'out of memory' when many communicators exist\n"
        '    raise RuntimeError("CUDA error: no kernel image is available for execution on the device")\n'
        '            logger.error("NCCL error: unhandled system error")\n'
        "#define CUDA_ERROR_NO_BINARY_FOR_GPU 209\n"
        '$ grep -r "no kernel image is available for execution on the device" .\n'
    ),
    "counts of nothing": "NVRM: Xid messages: none\nNo Xid errors found\nECC errors: uncorrectable 0\nexit code: 0\nOut of memory: 0 times\n",
}  # fmt: skip


@pytest.mark.parametrize("name", _WELL)
def test_what_a_healthy_machine_prints_is_no_error(call: Call, tmp_path: Path, name: str) -> None:
    path = tmp_path / "text"
    path.write_text(_WELL[name])
    outcome = call("check", str(path), "--gpu", "h100", "--format", "json")
    ended_well(outcome)
    assert [f["id"] for f in outcome.json["findings"] if f["severity"] == "error"] == []


def errors(call: Call, path: str, *flags: str) -> list[str]:
    """Return the ids of the errors found in a file."""
    outcome = call("check", path, *flags, "--format", "json")
    ended_well(outcome)
    assert outcome.code in (0, 1)
    return [f["id"] for f in outcome.json["findings"] if f["severity"] == "error"]


@pytest.mark.parametrize(
    "components",
    [
        {"driver": "580.95.05-1ubuntu1", "fabric-manager": "580.95.05-1", "cuda": "13.0"},
        {"driver": "580.95.05-0ubuntu0.22.04.1", "cuda": "12.8.r12.8/compiler", "torch": "2.9.1+cu128"},
        {"driver": "580.95.05", "torch": "2.8.0a0+git123"},
        {"driver": "580.95.05", "torch": "2.8.0a0+5228986c39.nv25.06", "cuda": "12.9.1.010"},
        {"driver": "580.95.05", "cudnn": "91300", "nccl": "2.27.7-1+cuda13.0"},
    ],
    ids=lambda c: " ".join(c.values()),
)
def test_tails_of_versions_are_no_faults(
    call: Call, inventory: Inventory, components: dict[str, str]
) -> None:
    assert errors(call, inventory(components=components)) == []


def test_a_node_from_the_future_is_told_to_be_unknown(call: Call, inventory: Inventory) -> None:
    future = {
        "driver": "999.1", "fabric-manager": "999.1", "cuda": "14.0", "torch": "9.0.0+cu140", "nccl": "3.0", "cudnn": "12.0",
        "python": "3.20", "glibc": "2.80", "kernel": "9.9.9", "libfabric": "5.0", "aws-ofi-nccl": "3.0", "efa-installer": "9.0.0",
        "efa-driver": "9.0", "gdrdrv": "9.9", "nvlsm": "2030.1.1", "vllm": "9.0", "flash-attn": "9.0",
    }  # fmt: skip
    outcome = call("check", inventory(components=future), "--format", "json")
    ended_well(outcome)
    assert outcome.json["summary"]["error"] == 0
    assert outcome.json["summary"]["warning"] == 0
    assert "unknown-release" in [f["id"] for f in outcome.json["findings"]]


@pytest.mark.parametrize(
    "parts",
    [
        {"gpu": {"model": "NVIDIA Z9000"}, "components": {"torch": "2.4.1+cu121"}},
        {"components": {"no-such-thing": "1.0", "torch": [], "driver": [{"version": ""}]}},
        {"environment": {"NO_SUCH_VARIABLE": "1", "NCCL_NO_SUCH": "x"}},
        {"facts": {"no_such_fact": [1, 2], "limit:none": "x"}},
    ],
    ids=["gpu", "components", "environment", "facts"],
)
def test_what_nobody_knows_is_no_error(call: Call, inventory: Inventory, parts: dict[str, Any]) -> None:
    assert errors(call, inventory(**parts)) == []


def test_an_inventory_with_nothing_in_it_is_not_healthy(call: Call, inventory: Inventory) -> None:
    outcome = call("check", inventory.raw('{"schema": "stackcheck.inventory/1"}'))
    ended_well(outcome)
    assert outcome.code == 2
    assert "nothing in it" in outcome.message


_ILL = {
    "RuntimeError: CUDA error: no kernel image is available for execution on the device": "log-no-kernel-image",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=1.0": "log-process-killed-for-memory",
    "rank 0 Out of memory: Killed process 12 (python)": "log-process-killed-for-memory",
    "    Reason:       OOMKilled": "log-out-of-memory-killed",
    "FlashMLA is only supported on Hopper and Blackwell devices": "log-flash-mla-arch",
    "ValueError: NVFP4 requires Blackwell": "log-fp4-needs-blackwell",
    "torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with signal SIGBUS": "log-bus-error",
    "Signal 7 (SIGBUS) received by PID 99": "log-bus-error",
    "libibverbs: Warning: RLIMIT_MEMLOCK is 65536 bytes. This will severely limit memory registrations.": "log-memlock-refused",
    "nvlsm.service: Main process exited, code=exited, status=1/FAILURE": "log-nvlsm-prerequisite",
    "nvidia-imex.service: Failed with result 'exit-code'.": "log-imex-not-running",
    "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED": "unexplained-cudnn-error",
    "No devices were found": "log-nvidia-smi-no-devices",
}  # fmt: skip


@pytest.mark.parametrize("line", _ILL)
def test_the_same_words_about_a_failure_are_an_error(call: Call, tmp_path: Path, line: str) -> None:
    path = tmp_path / "text"
    path.write_text(f"{line}\n")
    outcome = call("check", str(path), "--format", "json")
    assert _ILL[line] in [f["id"] for f in outcome.json["findings"] if f["severity"] == "error"], (
        outcome.json["findings"]
    )


def _findings(outcome: Outcome) -> dict[str, str]:
    ended_well(outcome)
    return {f["id"]: f["severity"] for f in outcome.json["findings"]}


def test_two_driver_versions_are_told_whatever_their_order(call: Call, tmp_path: Path) -> None:
    (tmp_path / "dmesg").write_text(
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n"
    )
    (tmp_path / "smi").write_text(
        "| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4     |\n"
    )
    names = [str(tmp_path / "dmesg"), str(tmp_path / "smi")]
    one = _findings(call("check", *names, "--gpu", "b200", "--format", "json"))
    assert one == _findings(call("check", *reversed(names), "--gpu", "b200", "--format", "json"))
    assert one["two-versions-driver"] == "info"
    assert one["driver-below-gpu-floor"] == "error", "the oldest counts"


@pytest.mark.parametrize("versions", [["580.95.05"], ["580.95.05", "580.95.05-1ubuntu1"], ["580.95.05", ""]])
def test_one_driver_version_in_two_spellings_is_one(
    call: Call, inventory: Inventory, versions: list[str]
) -> None:
    outcome = call("check", inventory(components={"driver": versions}), "--format", "json")
    assert "two-versions-driver" not in _findings(outcome)


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({"gpu": {"model": "h100"}, "instance": "p6-b200.48xlarge"}, "target-contradiction"),
        ({"gpu": {"model": "b200"}, "arch": "aarch64"}, "target-contradiction"),
        ({"instance": "p5.48xlarge", "arch": "aarch64", "gpu": None}, "target-contradiction"),
        ({"gpu": {"model": "NVIDIA Z9000"}}, "gpu-unknown"),
    ],
)
def test_what_cannot_be_or_is_not_known_is_told(
    call: Call, inventory: Inventory, parts: dict[str, Any], found: str
) -> None:
    path = inventory(components={"torch": "2.9.1"}, **parts)
    assert _findings(call("check", path, "--format", "json")).get(found) == "info"
    assert call("explain", found).code == 0


def test_a_flag_against_the_texts_is_told(call: Call, inventory: Inventory) -> None:
    path = inventory(components={"torch": "2.9.1"})
    outcome = call("check", path, "--gpu", "h100")
    assert outcome.message == "--gpu h100: what is read says b200; judged for h100, as asked"
    assert call("check", path, "--gpu", "B200").err == ""
    outcome = call("check", path, "--gpu", "h100", "--instance", "p6-b200.48xlarge")
    ended_well(outcome)
    assert outcome.code == 2


def test_the_kernel_of_a_kubernetes_node_is_no_distribution(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "describe"
    path.write_text(
        "System Info:\n  OS Image:                   Amazon Linux 2023.9.20251014\n"
        "  Kernel Version:             6.1.150-174.273.amzn2023.x86_64\n"
    )
    seen = call("check", str(path), "--format", "json").json["inventory"]["components"]
    assert [o["version"] for o in seen["kernel"]] == ["6.1.150-174.273.amzn2023.x86_64"]
    assert [o["version"] for o in seen["os"]] == ["amzn-2023"]
    path.write_text("the node runs Amazon Linux 2023.9.20251014 and torch 2.9.1\n")
    assert "kernel" not in call("check", str(path), "--format", "json").json["inventory"]["components"]
