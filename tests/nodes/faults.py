"""The broken nodes: each lies on a healthy one and has one fault."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.nodes import tree as parts
from tests.nodes.healthy import DRIVER, VENV
from tests.nodes.objects import Spec
from tests.nodes.tree import Tree

SITE = f"{VENV}/lib/python3.12/site-packages"
PLUGIN = "/opt/amazon/ofi-nccl/lib"
Change = Callable[[Tree], None]


def _answers(base: str) -> dict[str, Any]:
    """Return NVML's captured answer of a healthy node."""
    loaded: dict[str, Any] = json.loads((Path(__file__).parent / base / "cmd/nvml").read_text())
    return loaded


def _answer(tree: Tree, base: str, index: int, **values: object) -> None:
    """Change NVML's answer for one GPU."""
    whole = _answers(base)
    whole["gpus"][index].update(values)
    tree.text("/cmd/nvml", json.dumps(whole) + "\n")


def gdrdrv_missing(tree: Tree) -> None:
    """The GDRCopy library is there, its kernel module and device are not."""
    tree.absent |= {"/sys/module/gdrdrv", "/dev/gdrdrv", "/proc/driver/gdrdrv"}


def fabric_manager_mismatch(tree: Tree) -> None:
    """Fabric Manager of another driver release: it does not start, the fabric stays unregistered."""
    parts.packages(tree, **parts.HOST_PACKAGES, nvidia_fabricmanager_580="580.95.05-1")
    tree.absent.add("/sys/fs/cgroup/system.slice/nvidia-fabricmanager.service")
    whole = _answers("p5.48xlarge")
    for gpu in whole["gpus"]:
        gpu["fabric"]["state"] = 1
    tree.text("/cmd/nvml", json.dumps(whole) + "\n")


def interfaces_missing(tree: Tree) -> None:
    """Launched with 24 of 32 network cards."""
    for index in range(24, 32):
        bus = 0x20 + index * 4
        tree.absent |= {
            f"/sys/class/infiniband/rdmap{bus}s25",
            f"/sys/bus/pci/devices/0000:{bus:02x}:19.0",
            f"/dev/infiniband/uverbs{index}",
        }


def plugin_stale_path(tree: Tree) -> None:
    """LD_LIBRARY_PATH names the directory of an older installer, and the loader's configuration none: sockets."""
    tree.absent.add("/etc/ld.so.conf.d/100_ofinccl.conf")
    parts.environment(tree, PATH=f"{VENV}/bin:/usr/bin", VIRTUAL_ENV=VENV, HOME="/home/user",
                      LD_LIBRARY_PATH=f"{PLUGIN}/x86_64-linux-gnu")  # fmt: skip


def plugin_too_old(tree: Tree) -> None:
    """A plug-in of 2022 first on LD_LIBRARY_PATH: its newest interface is v5, which this NCCL no longer takes."""
    tree.library(
        "/opt/aws-ofi-nccl/lib/libnccl-net.so", parts.plugin("1.4.0", range(2, 6), (), name="libnccl-net.so")
    )
    parts.environment(
        tree,
        PATH=f"{VENV}/bin:/usr/bin",
        VIRTUAL_ENV=VENV,
        HOME="/home/user",
        LD_LIBRARY_PATH="/opt/aws-ofi-nccl/lib",
    )


def nccl_preloaded(tree: Tree) -> None:
    """LD_PRELOAD puts a self-built older NCCL before the one of the wheels."""
    tree.library(
        "/opt/nccl/build/lib/libnccl.so.2.21.5",
        parts.nccl(tree, "2.21.5", "12.4", (("sm_80", 6), ("sm_90", 6), ("compute_90", 6))),
    )
    parts.environment(
        tree,
        PATH=f"{VENV}/bin:/usr/bin",
        VIRTUAL_ENV=VENV,
        HOME="/home/user",
        LD_PRELOAD="/opt/nccl/build/lib/libnccl.so.2",
    )


def nccl_shadowed(tree: Tree) -> None:
    """torch linked with RUNPATH (built from source), and an older NCCL on LD_LIBRARY_PATH, which comes before it."""
    parts.torch_package(tree, SITE, parts.Torch(), new_tags=True)
    tree.library(
        "/opt/nccl/build/lib/libnccl.so.2.21.5",
        parts.nccl(tree, "2.21.5", "12.4", (("sm_80", 6), ("sm_90", 6), ("compute_90", 6))),
    )
    parts.environment(
        tree,
        PATH=f"{VENV}/bin:/usr/bin",
        VIRTUAL_ENV=VENV,
        HOME="/home/user",
        LD_LIBRARY_PATH="/opt/nccl/build/lib",
    )


def nccl_two_wheels(tree: Tree) -> None:
    """Wheels of CUDA 12 and 13 both own nvidia/nccl/lib/libnccl.so.2; the later one overwrote the file."""
    path = f"{SITE}/nvidia/nccl/lib/libnccl.so.2"
    tree.library(path, parts.nccl(tree, "2.27.5", "12.9"))
    tree.wheel(SITE, "nvidia-nccl-cu12", "2.27.5", (path,))
    folder = f"{SITE}/nvidia_nccl_cu12-2.27.5.dist-info"
    tree.small[f"{folder}/RECORD"] = tree.small[f"{folder}/RECORD"].replace("sha256=x", "sha256=y")


def extension_other_torch(tree: Tree) -> None:
    """flash-attn built for torch 2.5 with the old C++ ABI."""
    path = f"{SITE}/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so"
    symbols = ("_ZN3c105ErrorC1ENS_14SourceLocationESs", "_ZN2at5emptyEv")
    tree.library(
        path,
        Spec(
            undefined=symbols, needed=("libc10.so", "libtorch_cpu.so", "libtorch_cuda.so"), code=tree.code(30)
        ),
    )
    tree.wheel(SITE, "flash_attn", "2.7.3+cu12torch2.5cxx11abiFALSE", (path,))


def no_code_for_gpu(tree: Tree) -> None:
    """An extension compiled for Hopper only, without PTX, on a B200."""
    path = f"{SITE}/my_kernels/_C.abi3.so"
    tree.library(path, Spec(needed=("libc10.so",), code=(("sm_80", 30), ("sm_90", 30))))
    tree.wheel(SITE, "my_kernels", "0.4.0", (path,))


def compiled_at_first_use(tree: Tree) -> None:
    """An extension with machine code for Ampere and PTX for the rest, on a B200."""
    path = f"{SITE}/my_kernels/_C.abi3.so"
    tree.library(path, Spec(needed=("libc10.so",), code=(("sm_80", 30), ("compute_80", 30))))
    tree.wheel(SITE, "my_kernels", "0.4.0", (path,))


def memlock_low(tree: Tree) -> None:
    """Slurm started without LimitMEMLOCK: 64 kB of locked memory."""
    tree.small["/proc/self/limits"] = parts.LIMITS.format(memlock="65536")


def shm_small(tree: Tree) -> None:
    """A container with Docker's default shared memory of 64 MB."""
    tree.small["/proc/self/mounts"] = (
        "overlay / overlay rw,relatime 0 0\nshm /dev/shm tmpfs rw,nosuid,nodev,noexec,relatime,size=65536k,inode64 0 0\n"
    )


def driver_reboot_pending(tree: Tree) -> None:
    """The driver's packages were updated, the old module still runs: NVML refuses."""
    tree.library(f"{tree.multiarch}/libcuda.so.580.159.03", Spec("libcuda.so.1"))
    tree.library(f"{tree.multiarch}/libnvidia-ml.so.580.159.03", Spec("libnvidia-ml.so.1"))
    tree.text("/cmd/nvml", json.dumps({"error": "nvmlInit_v2 returned 18", "status": 18}) + "\n")
    tree.text(
        "/cmd/nvidia-smi",
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.159\n",
    )
    tree.text("/cmd/nvidia-smi.rc", "18\n")


def row_remap_pending(tree: Tree) -> None:
    """GPU 3 waits for a reset to remap a row, and logged Xid 63 and 94."""
    _answer(tree, "p5.48xlarge", 3, remapped=[0, 1, 1, 0], ecc_volatile=[2])
    tree.text("/cmd/kernel-log", (
        "[ 8123.120118] NVRM: Xid (PCI:0000:86:00): 94, pid=4711, name=python3, Contained: SM (0x1). RST: No, D-RST: No\n"
        "[ 8123.220118] NVRM: Xid (PCI:0000:86:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping\n"))  # fmt: skip


def nvlink_down(tree: Tree) -> None:
    """Two NVLinks of GPU 5 are inactive."""
    _answer(tree, "p6-b200.48xlarge", 5, links=[1] * 16 + [0] * 2)


def power_capped(tree: Tree) -> None:
    """All GPUs held at 500 W of 700 W, one slowed by heat."""
    whole = _answers("p5.48xlarge")
    for gpu in whole["gpus"]:
        gpu["power_limit"] = [500000]
    whole["gpus"][2]["reasons"] = [0x48]
    tree.text("/cmd/nvml", json.dumps(whole) + "\n")


def imex_channel_missing(tree: Tree) -> None:
    """No IMEX channel in this namespace, domain down: multi-node NVLink is not used."""
    tree.absent.add("/dev/nvidia-caps-imex-channels/channel0")
    tree.text("/cmd/nvidia-imex-ctl", "Domain State: DOWN\n")


def proprietary_module(tree: Tree) -> None:
    """The proprietary kernel module on Blackwell, which needs the open one: no GPU comes up."""
    tree.text("/proc/driver/nvidia/version", (
        f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {DRIVER}  Mon Jan 12 19:38:01 UTC 2026\nGCC version:  gcc version 11.4.0\n"))  # fmt: skip
    tree.sys("/sys/module/nvidia", taint="POE")
    tree.absent.add("/proc/driver/nvidia/gpus")
    tree.text("/cmd/nvml", json.dumps({"driver": DRIVER, "gpus": []}) + "\n")


def iommu_translating(tree: Tree) -> None:
    """IOMMU translating and ACS redirecting on bare metal: peer traffic goes through the root complex."""
    for group in range(4):
        tree.sys(f"/sys/kernel/iommu_groups/{group}", type="DMA")
    parts.pci(tree, "0000:16:01.0", "1000", "c030", "60400", "pcieport", 0)
    config = bytearray(4096)
    config[0x100:0x108] = b"\x0d\x00\x01\x00\x00\x00\x1d\x00"
    tree.binary["/sys/bus/pci/devices/0000:16:01.0/config"] = bytes(config)


def nccl_conf_sockets(tree: Tree) -> None:
    """A forgotten /etc/nccl.conf forces TCP sockets; nothing in the environment shows it."""
    tree.small["/etc/nccl.conf"] = "# benchmark of last year\nNCCL_NET=Socket\n"


def nccl_overwritten(tree: Tree) -> None:
    """A self-built older NCCL copied over the file of the wheel: pip goes on reporting the wheel's version."""
    tree.library(f"{SITE}/nvidia/nccl/lib/libnccl.so.2", parts.nccl(tree, "2.21.5", "12.4"))


def plugin_without_libfabric(tree: Tree) -> None:
    """The loader's configuration names the plug-in but no longer its libfabric: it does not load, sockets."""
    tree.small["/etc/ld.so.conf.d/000_efa.conf"] = "/opt/amazon/openmpi/lib\n"


def plugin_of_another_fabric(tree: Tree) -> None:
    """HPC-X's plug-in for InfiniBand first on LD_LIBRARY_PATH of an EFA instance."""
    folder = "/opt/hpcx/nccl_rdma_sharp_plugin/lib"
    tree.library(
        f"{folder}/libnccl-net.so",
        Spec(
            "libnccl-net.so.0",
            strings=("nccl-rdma-sharp-plugin",),
            symbols=tuple(f"ncclNetPlugin_v{v}" for v in range(5, 12)),
            needed=("libibverbs.so.1",),
        ),
    )
    parts.environment(tree, PATH=f"{VENV}/bin:/usr/bin", VIRTUAL_ENV=VENV, HOME="/home/user",
                      LD_LIBRARY_PATH=folder)  # fmt: skip


def driver_not_loaded(tree: Tree) -> None:
    """The kernel module is not loaded (a kernel update without DKMS build): libraries and GPUs are there."""
    tree.absent |= {
        "/proc/driver/nvidia",
        "/sys/module/nvidia",
        "/sys/module/nvidia_uvm",
        "/sys/module/nvidia_modeset",
        "/dev/nvidia0",
        "/dev/nvidiactl",
    }
    tree.text("/cmd/nvml", json.dumps({"error": "nvmlInit_v2 returned 9", "status": 9}) + "\n")
    tree.text(
        "/cmd/nvidia-smi", "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
    )
    tree.text("/cmd/nvidia-smi.rc", "9\n")


def _fault(base: str, change: Change) -> tuple[str, str, Change]:
    return base, (change.__doc__ or "").strip(), change


FAULTS: dict[str, tuple[str, str, Change]] = {
    "p5.48xlarge+gdrdrv-missing": _fault("p5.48xlarge", gdrdrv_missing),
    "p5.48xlarge+fabric-manager-mismatch": _fault("p5.48xlarge", fabric_manager_mismatch),
    "p5.48xlarge+efa-interfaces-missing": _fault("p5.48xlarge", interfaces_missing),
    "p5.48xlarge+plugin-stale-path": _fault("p5.48xlarge", plugin_stale_path),
    "p5.48xlarge+plugin-too-old": _fault("p5.48xlarge", plugin_too_old),
    "p5.48xlarge+nccl-preloaded": _fault("p5.48xlarge", nccl_preloaded),
    "p5.48xlarge+nccl-shadowed": _fault("p5.48xlarge", nccl_shadowed),
    "p5.48xlarge+nccl-two-wheels": _fault("p5.48xlarge", nccl_two_wheels),
    "p5.48xlarge+extension-other-torch": _fault("p5.48xlarge", extension_other_torch),
    "p6-b200.48xlarge+no-code-for-gpu": _fault("p6-b200.48xlarge", no_code_for_gpu),
    "p6-b200.48xlarge+compiled-at-first-use": _fault("p6-b200.48xlarge", compiled_at_first_use),
    "p5.48xlarge+memlock-low": _fault("p5.48xlarge", memlock_low),
    "dlc-pytorch-2.9+shm-small": _fault("dlc-pytorch-2.9", shm_small),
    "p5.48xlarge+driver-reboot-pending": _fault("p5.48xlarge", driver_reboot_pending),
    "p5.48xlarge+row-remap-pending": _fault("p5.48xlarge", row_remap_pending),
    "p6-b200.48xlarge+nvlink-down": _fault("p6-b200.48xlarge", nvlink_down),
    "p5.48xlarge+power-capped": _fault("p5.48xlarge", power_capped),
    "p6e-gb200.36xlarge+imex-channel-missing": _fault("p6e-gb200.36xlarge", imex_channel_missing),
    "p6-b200.48xlarge+proprietary-module": _fault("p6-b200.48xlarge", proprietary_module),
    "ib-h100+iommu-translating": _fault("ib-h100", iommu_translating),
    "p5.48xlarge+nccl-conf-sockets": _fault("p5.48xlarge", nccl_conf_sockets),
    "p5.48xlarge+nccl-overwritten": _fault("p5.48xlarge", nccl_overwritten),
    "p5.48xlarge+plugin-without-libfabric": _fault("p5.48xlarge", plugin_without_libfabric),
    "p5.48xlarge+plugin-of-another-fabric": _fault("p5.48xlarge", plugin_of_another_fabric),
    "p6-b200.48xlarge+driver-not-loaded": _fault("p6-b200.48xlarge", driver_not_loaded),
}
