"""States that fail in silence, each laid over a healthy node in the formats of the real files: it is named, and what only looks like it is not."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli.conftest import Call
from tests.nodes import tree as parts
from tests.nodes.objects import Spec
from tests.nodes.tree import Tree

NODES = Path(__file__).parents[1] / "nodes"
P5, B200, TRAY, L40S, IB, DLC = (
    "p5.48xlarge", "p6-b200.48xlarge", "p6e-gb200.36xlarge", "g6e.48xlarge", "ib-h100", "dlc-pytorch-2.9",
)  # fmt: skip
PCI = "/sys/bus/pci/devices"
STATUS = "Name:\tpython3\nCapEff:\t{capabilities}\nSeccomp:\t{seccomp}\nCpus_allowed_list:\t{cpus}\n"
FABRIC = {"state": 3, "status": 0, "clique": 0, "health": 2, "cluster": "00" * 16}
NO_GDRCOPY = {"/dev/gdrdrv", "/sys/module/gdrdrv", "/proc/driver/gdrdrv"}
GUIDS = {f"/sys/class/infiniband/mlx5_{n}/sys_image_guid": f"b83f:d203:00aa:{n:04x}\n" for n in range(8)}


class State(NamedTuple):
    """A change of a healthy node, and the finding it must give (or, with ``silent``, must not)."""

    name: str
    base: str
    finding: str
    change: Callable[[Tree, str], None]
    silent: bool = False


def nvml(only: int | None = None, **values: object) -> Callable[[Tree, str], None]:
    """Change what NVML says of one GPU, or of all."""

    def change(tree: Tree, base: str) -> None:
        whole: dict[str, Any] = json.loads((NODES / base / "cmd/nvml").read_text())
        for index, gpu in enumerate(whole["gpus"]):
            if only in (None, index):
                gpu.update(values)
        tree.text("/cmd/nvml", json.dumps(whole) + "\n")

    return change


def job(**variables: str) -> Callable[[Tree, str], None]:
    """Change variables of the job."""

    def change(tree: Tree, base: str) -> None:
        old = dict(
            line.split("=", 1) for line in (NODES / base / "environ").read_text().splitlines() if "=" in line
        )
        parts.environment(tree, **{**old, **variables})

    return change


def files(*absent: str) -> Callable[[dict[str, str]], Callable[[Tree, str], None]]:
    """Take paths away and write files."""

    def given(content: dict[str, str]) -> Callable[[Tree, str], None]:
        def change(tree: Tree, base: str) -> None:
            tree.absent.update(absent)
            for path, text in content.items():
                target = NODES / base / path.lstrip("/")
                if target.is_file():
                    tree.text(path, text)
                else:
                    tree.small[path] = text

        return change

    return given


def both(*changes: Callable[[Tree, str], None]) -> Callable[[Tree, str], None]:
    """Make several changes."""

    def change(tree: Tree, base: str) -> None:
        for one in changes:
            one(tree, base)

    return change


def bare_metal(switches: int) -> Callable[[Tree, str], None]:
    """Make an EC2 node one of another maker, with NVSwitches that the driver took on its PCI bus."""

    def change(tree: Tree, _base: str) -> None:
        tree.sys("/sys/class/dmi/id", sys_vendor="Example Systems", product_name="GPU-SERVER")
        for index in range(switches):
            parts.pci(tree, f"0000:c{index}:00.0", "10de", "22a3", "68000", "nvidia-nvswitch", 0)

    return change


def on_cpus(cpus: str) -> Callable[[Tree, str], None]:
    """Let the process run on these CPUs; GPUs 0 to 3 are beside CPUs 0-95, the others beside 96-191."""
    lists = {
        f"{PCI}/{parts.gpu_address(n)}/local_cpulist": "0-95\n" if n < 4 else "96-191\n" for n in range(8)
    }
    status = STATUS.format(capabilities="0000000000000000", seccomp=0, cpus=cpus)
    return files()({"/proc/self/status": status, **lists})


def lustre(options: str) -> Callable[[Tree, str], None]:
    """Mount a Lustre file system over TCP, the client as its package leaves it."""

    def change(tree: Tree, _base: str) -> None:
        tree.small["/proc/self/mounts"] = f"10.0.1.5@tcp:/abcd /fsx lustre {options} 0 0\n"
        tree.small["/sys/fs/lustre/version"] = "2.15.6\n"
        tree.small["/sys/module/ksocklnd/parameters/credits"] = "256\n"

    return change


def assembler(release: str) -> Callable[[Tree, str], None]:
    """Lay down a ptxas of that CUDA release."""

    def change(tree: Tree, _base: str) -> None:
        text = f"Cuda compilation tools, release {release}, V{release}.99"
        tree.library("/opt/old/bin/ptxas", Spec(strings=(text,)))

    return change


def cdi(driver: str) -> Callable[[Tree, str], None]:
    """Write a CDI specification for that driver."""
    library = f"/usr/lib/x86_64-linux-gnu/libcuda.so.{driver}"
    text = f"cdiVersion: 0.5.0\ncontainerEdits:\n  mounts:\n  - containerPath: {library}\n    hostPath: {library}\n"
    return files()({"/etc/cdi/nvidia.yaml": text})


def vllm(*attention: str) -> Callable[[Tree, str], None]:
    """Install a vLLM with these FlashAttention modules."""

    def change(tree: Tree, _base: str) -> None:
        site = "/opt/pytorch/lib/python3.12/site-packages"
        tree.wheel(site, "vllm", "0.28.0")
        for name in attention:
            tree.small[f"{site}/vllm/vllm_flash_attn/_vllm_{name}_C.abi3.so"] = ""

    return change


def inbox(flavour: str, kernel: str) -> Callable[[Tree, str], None]:
    """Take MOFED and nvidia-peermem away: the kernel's own mlx5 driver."""
    title = (
        "NVIDIA UNIX Open Kernel Module for x86_64"
        if flavour == "open"
        else "NVIDIA UNIX x86_64 Kernel Module"
    )
    version = f"NVRM version: {title}  580.126.20  Mon Jan 12 19:38:01 UTC 2026\n"
    return files("/sys/module/nvidia_peermem", "/sys/module/mlx5_core/version", "/var/lib/dpkg/status")(
        {"/proc/driver/nvidia/version": version, "/proc/sys/kernel/osrelease": kernel + "\n"}
    )


PARAMS = "/proc/driver/nvidia/params"
FIRMWARE = files()({PARAMS: 'EnableGpuFirmware: 0\nRegistryDwords: ""\n'})
COHERENT = files()({PARAMS: 'EnableGpuFirmware: 18\nCoherentGPUMemoryMode: ""\n'})
KUBELET = files()({"/sys/fs/cgroup/system.slice/kubelet.service/cgroup.procs": "99\n"})
NIC = f"{PCI}/0000:18:00.0"
NARROW = {f"{NIC}/current_link_speed": "16.0 GT/s PCIe\n"}
CONFIG = "/boot/config-6.8.0-1044-aws"
GRACE_CONFIG = "/boot/config-6.14.0-1017-aws"
NO_HUGE_PAGES = "MemTotal: 2147483648 kB\nHugePages_Total: 0\nHugePages_Free: 0\nHugepagesize: 2048 kB\n"
SPEED, SLOW = 26562, 13281

STATES = (
    State("one NVLink at half speed", P5, "nvlink-speeds-differ", nvml(2, link_speeds=[SPEED] * 17 + [SLOW])),
    State("all NVLinks at one speed", P5, "nvlink-speeds-differ", nvml(link_speeds=[SPEED] * 18), silent=True),
    State("links down, fabric known", P5, "nvlink-links-down", both(bare_metal(0), nvml(5, links=[1] * 16 + [0] * 2))),
    State("links down, switches on the bus", P5, "nvlink-links-down",
          both(bare_metal(4), nvml(5, links=[1] * 16 + [0] * 2, fabric=None))),
    State("PCIe boards without bridges", P5, "nvlink-links-down", both(bare_metal(0), nvml(links=[0] * 18, fabric=None)), silent=True),
    State("Fabric Manager down", P5, "fabric-manager-not-running",
          both(bare_metal(4), nvml(fabric=None), files("/sys/fs/cgroup/system.slice/nvidia-fabricmanager.service")({}))),
    State("Fabric Manager idle on PCIe boards", P5, "fabric-manager-not-running",
          both(bare_metal(0), nvml(fabric=None), files("/sys/fs/cgroup/system.slice/nvidia-fabricmanager.service")({})), silent=True),
    State("a tray that waits for its switches", TRAY, "fabric-not-registered-rack", nvml(2, fabric={**FABRIC, "state": 2})),
    State("a GPU in another partition", TRAY, "nvlink-partitions-differ", nvml(2, fabric={**FABRIC, "clique": 5})),
    State("a GPU in another cluster", TRAY, "nvlink-partitions-differ", nvml(2, fabric={**FABRIC, "cluster": "11" * 16})),
    State("clocks below their default", P5, "health-application-clocks-lowered", nvml(1, clock_graphics=[1200], clock_graphics_default=[1980])),
    State("default clocks below the maximum", P5, "health-application-clocks-lowered",
          nvml(clock_graphics=[1275], clock_graphics_default=[1275]), silent=True),
    State("the driver asks for a reset", P5, "health-recovery-action", nvml(1, recovery=[1])),
    State("an action this program does not know", P5, "health-recovery-action", nvml(1, recovery=[77]), silent=True),
    State("the driver asks for nothing", P5, "health-recovery-action", nvml(recovery=[0]), silent=True),
    State("SRAM over the driver's limit", P5, "health-ecc-sram-threshold", nvml(1, sram_exceeded=[1])),
    State("GSP switched off", IB, "gsp-firmware-off", FIRMWARE),
    State("an L40S on half its lanes", L40S, "pcie-narrow", nvml(1, pcie_width=[8])),
    State("a card on a slower link", IB, "nic-pcie-below-port-rate", files()({**GUIDS, **NARROW})),
    State("a card with half its lanes", IB, "nic-pcie-below-port-rate", files()({**GUIDS, f"{NIC}/current_link_width": "8\n"})),
    State("one card on two slots", IB, "nic-pcie-below-port-rate", files()({**dict.fromkeys(GUIDS, "same\n"), **NARROW}), silent=True),
    State("a link the kernel does not know", IB, "nic-pcie-below-port-rate",
          files()({**GUIDS, f"{NIC}/current_link_speed": "Unknown\n"}), silent=True),
    State("no peer memory without MOFED", IB, "rdma-proprietary-without-peermem", inbox("proprietary", "5.15.0-136-generic")),
    State("no dma-buf in the kernel", IB, "rdma-kernel-too-old-for-dmabuf", inbox("open", "5.4.0-150-generic")),
    State("dma-buf serves", IB, "rdma-kernel-too-old-for-dmabuf", inbox("open", "5.15.0-136-generic"), silent=True),
    State("no way to ring the NIC", IB, "ibgda-without-path", both(
        files(*NO_GDRCOPY)({}), lambda tree, _base: tree.wheel("/opt/pytorch/lib/python3.12/site-packages", "deep_ep", "1.2.1"))),
    State("GPU memory in the system's NUMA nodes", TRAY, "coherent-memory-numa", both(COHERENT, KUBELET)),
    State("the same without Kubernetes", TRAY, "coherent-memory-numa", COHERENT, silent=True),
    State("CPUs of the other socket", P5, "cpus-far-from-gpus", both(on_cpus("0-95"), job(CUDA_VISIBLE_DEVICES="4,5"))),
    State("CPUs beside one of its GPUs", P5, "cpus-far-from-gpus", both(on_cpus("0-95"), job(CUDA_VISIBLE_DEVICES="3,4")), silent=True),
    State("GPUs named by UUID", P5, "cpus-far-from-gpus", both(on_cpus("0-95"), job(CUDA_VISIBLE_DEVICES="GPU-5")), silent=True),
    State("one socket and all GPUs", P5, "cpus-far-from-gpus", on_cpus("0-95"), silent=True),
    State("NUMA nodes not told", P5, "gpu-numa-node-unknown", files()(
        {f"{PCI}/{parts.gpu_address(n)}/numa_node": "-1\n" for n in range(8)})),
    State("a sandbox without /sys/bus/pci", DLC, "gpus-not-in-sysfs", files("/sys/bus/pci")({})),
    State("Docker's filter of system calls", DLC, "numa-calls-filtered", files()(
        {"/proc/self/status": STATUS.format(capabilities="00000000a80425fb", seccomp=2, cpus="0-191")})),
    State("no policy of the kubelet", P5, "kubelet-without-alignment", files()(
        {"/var/lib/kubelet/config.yaml": "kind: KubeletConfiguration\ntopologyManagerPolicy: none\n"})),
    State("a kubelet whose policy is not in the file", P5, "kubelet-without-alignment", files()(
        {"/var/lib/kubelet/config.yaml": "kind: KubeletConfiguration\ncgroupDriver: systemd\n"}), silent=True),
    State("no huge pages", P5, "efa-without-huge-pages", files()({"/proc/meminfo": NO_HUGE_PAGES})),
    State("zeroed pages asked for", P5, "host-init-on-alloc", files()({"/proc/cmdline": "ro init_on_alloc=1\n"})),
    State("zeroed pages by the kernel's build on Grace", "p6e-gb200.36xlarge", "host-init-on-alloc", files()(
        {GRACE_CONFIG: "CONFIG_INIT_ON_ALLOC_DEFAULT_ON=y\n"})),
    State("what a distribution chose for x86", P5, "host-init-on-alloc", files()({CONFIG: "CONFIG_INIT_ON_ALLOC_DEFAULT_ON=y\n"}), silent=True),
    State("the build's default switched off", P5, "host-init-on-alloc", files()(
        {CONFIG: "CONFIG_INIT_ON_ALLOC_DEFAULT_ON=y\n", "/proc/cmdline": "ro init_on_alloc=0\n"}), silent=True),
    State("Lustre without locks", P5, "lustre-without-flock", lustre("rw,relatime,lazystatfs")),
    State("Lustre with locks", P5, "lustre-without-flock", lustre("rw,relatime,flock,lazystatfs"), silent=True),
    State("Lustre over TCP", P5, "lustre-over-tcp-beside-efa", lustre("rw,relatime,flock")),
    State("Lustre's defaults", P5, "lustre-client-defaults", lustre("rw,relatime,flock")),
    State("an assembler before the GPU", B200, "triton-assembler-older-than-gpu",
          both(assembler("12.4"), job(TRITON_PTXAS_BLACKWELL_PATH="/opt/old/bin/ptxas"))),
    State("an assembler that knows the GPU", B200, "triton-assembler-older-than-gpu",
          both(assembler("13.0"), job(TRITON_PTXAS_BLACKWELL_PATH="/opt/old/bin/ptxas")), silent=True),
    State("a variable this GPU does not use", B200, "triton-assembler-older-than-gpu",
          both(assembler("12.4"), job(TRITON_PTXAS_PATH="/opt/old/bin/ptxas")), silent=True),
    State("EFA excluded by name", P5, "env-fi-provider-not-efa", job(FI_PROVIDER="^tcp,efa")),
    State("another provider excluded", P5, "env-fi-provider-not-efa", job(FI_PROVIDER="^tcp"), silent=True),
    State("RDMA switched off in words", P5, "env-device-rdma-off", job(FI_EFA_USE_DEVICE_RDMA="no")),
    State("the check switched off in words", P5, "env-ofi-gdr-check-off", job(OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK="True")),
    State("a tuner that is none", P5, "env-tuner-is-none", both(assembler("12.4"), job(NCCL_TUNER_PLUGIN="/opt/old/bin/ptxas"))),
    State("the plug-in's own tuner", P5, "env-tuner-is-none",
          job(NCCL_TUNER_PLUGIN="/opt/amazon/ofi-nccl/lib/libnccl-ofi-tuner.so"), silent=True),
    State("a tuner that is not there: NCCL asks the network plug-in", P5, "env-tuner-is-none", job(NCCL_TUNER_PLUGIN="/opt/gone.so"), silent=True),
    State("a CDI file of the driver before", P5, "cdi-of-another-driver", cdi("580.95.05")),
    State("a CDI file of this driver", P5, "cdi-of-another-driver", cdi("580.126.20"), silent=True),
    State("arguments checked by NCCL", P5, "env-nccl-check-mode", job(NCCL_CHECK_MODE="DEBUG_GLOBAL")),
    State("vLLM without FlashAttention 3 on Hopper", P5, "vllm-without-flash-attention-3", vllm("fa2")),
    State("vLLM with FlashAttention 3", P5, "vllm-without-flash-attention-3", vllm("fa2", "fa3"), silent=True),
    State("vLLM of other file names", P5, "vllm-without-flash-attention-3", vllm(), silent=True),
    State("FlashAttention 3 is for Hopper", B200, "vllm-without-flash-attention-3", vllm("fa2"), silent=True),
    State("thread blocks by the newer name", P5, "env-min-ctas", job(NCCL_MIN_CTAS="32")),
)  # fmt: skip


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
def test_a_state_is_named_and_what_looks_like_it_is_not(call: Call, tmp_path: Path, state: State) -> None:
    tree = Tree(machine="aarch64" if state.base == TRAY else "x86_64")
    state.change(tree, state.base)
    for path, data in tree.binary.items():
        target = tmp_path / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    overlay = {"base": os.path.relpath(NODES / state.base, tmp_path), "files": tree.small, "links": tree.links,
               "absent": sorted(tree.absent)}  # fmt: skip
    (tmp_path / "overlay.json").write_text(json.dumps(overlay))
    found = {f["id"]: f for f in call("probe", "--root", str(tmp_path), "--format", "json").json["findings"]}
    if state.silent:
        assert state.finding not in found
    else:
        assert state.finding in found
        assert found[state.finding]["evidence"]
        assert found[state.finding]["remedy"]
