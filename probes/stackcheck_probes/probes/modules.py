"""Kernel modules and device nodes around the GPU: peer memory, GDRCopy, GPUDirect Storage, IMEX channels."""

from __future__ import annotations

import re

from stackcheck_probes.look import Look

MODULES = ("nvidia", "nvidia_uvm", "nvidia_peermem", "nv_peer_mem", "gdrdrv", "efa", "efa_nv_peermem", "ib_core", "ib_uverbs",
           "mlx5_core", "mlx5_ib", "nvidia_fs", "lustre", "lnet", "kefalnd", "nouveau", "vfio_pci", "intel_idle")  # fmt: skip
DEVICES = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/gdrdrv", "/dev/infiniband", "/dev/nvidia-caps-imex-channels",
           "/dev/nvidia-fs0", "/dev/fuse", "/dev/knem")  # fmt: skip
PEER_PLACES = (
    "/sys/module/nvidia_peermem",
    "/sys/kernel/mm/memory_peers/nv_mem",
    "/sys/kernel/mm/memory_peers/nv_mem_nc",
)


def modules(look: Look) -> None:
    """Which modules are loaded (the same inside and outside a container), which device nodes are here."""
    if look.is_dir("/sys/module"):
        loaded = set(look.names("/sys/module"))
        for name in MODULES:
            look.fact(f"module:{name}", name in loaded, f"/sys/module/{name}", "sysfs")
    if look.is_dir("/dev"):
        for path in DEVICES:
            look.fact(f"device:{path}", look.exists(path), path, "device")
        _uverbs(look)
        _channels(look)


def _uverbs(look: Look) -> None:
    nodes = [name for name in look.names("/dev/infiniband") if name.startswith("uverbs")]
    look.fact("rdma_device_nodes", len(nodes), "/dev/infiniband", "device")


def _channels(look: Look) -> None:
    names = [name for name in look.names("/dev/nvidia-caps-imex-channels") if name.startswith("channel")]
    look.fact("imex_channels", len(names), "/dev/nvidia-caps-imex-channels", "device")


def gdrcopy(look: Look) -> None:
    """The gdrdrv module: version, and for which driver flavour it was built."""
    look.looked_for("gdrdrv")
    text = look.text("/proc/driver/gdrdrv/params") or ""
    flavour = re.search(r"Built for NVIDIA driver flavor:\s*(\S+)", text)
    version = look.text("/sys/module/gdrdrv/version")
    where = "/sys/module/gdrdrv/version"
    if not version:
        match = re.search(r"^Version:\s*(\S+)", text, re.MULTILINE)
        version, where = (match[1] if match else None), "/proc/driver/gdrdrv/params"
    if version or look.exists("/sys/module/gdrdrv"):
        look.component("gdrdrv", version, where, "sysfs" if where.startswith("/sys") else "procfs", scope="host", loaded=True,
                       attributes={"flavour": _flavour(flavour[1]) if flavour else None})  # fmt: skip


def _flavour(text: str) -> str:
    """Return ``open`` or ``proprietary``; gdrdrv writes ``opensource``."""
    return "open" if text.lower().startswith("open") else text.lower()


def peer_memory(look: Look) -> None:
    """nvidia-peermem or its predecessor; its absence is no fault where dma-buf or EFA's own provider serves."""
    look.looked_for("nvidia-peermem")
    for place in PEER_PLACES:
        if look.exists(place):
            version = look.text(f"{place}/version")
            look.component("nvidia-peermem", version, f"{place}/version", "sysfs", scope="host", loaded=True)
            return


def direct_storage(look: Look) -> None:
    """nvidia-fs and the policy of cuFile."""
    look.looked_for("nvidia-fs")
    stats = look.text("/proc/driver/nvidia-fs/stats")
    match = re.search(r"NVFS [Dd]river\s*\(version:\s*([\d.:]+)", stats or "")
    version = (match[1].replace(":", ".") if match else None) or look.text("/sys/module/nvidia_fs/version")
    if version or look.exists("/sys/module/nvidia_fs"):
        where = "/proc/driver/nvidia-fs/stats" if match else "/sys/module/nvidia_fs"
        look.component("nvidia-fs", version, where, "procfs" if match else "sysfs", scope="host", loaded=True)
    path = look.host.environ.get("CUFILE_ENV_PATH_JSON") or "/etc/cufile.json"
    text = look.text(path) if path.startswith("/") else None
    allow = re.search(r'^\s*"allow_compat_mode"\s*:\s*(true|false)', text or "", re.MULTILINE)
    if allow:
        look.fact("cufile_allow_compat_mode", allow[1] == "true", path, "file", allow[0].strip())


def imex_domain(look: Look) -> None:
    """State of the multi-node NVLink domain, where the control program is installed and this user may ask."""
    if not look.exists("/dev/nvidia-caps-imex-channels"):
        return
    output = look.run("nvidia-imex-ctl", 3.0)
    if output is None:
        return
    match = re.search(r"Domain State:\s*(\S+)", output.out)
    if match:
        look.fact("imex_domain_state", match[1], "nvidia-imex-ctl -N", "command", match[0])
    elif output.rc:
        look.note(f"nvidia-imex-ctl -N: {(output.err or output.out).strip()[:160]}")
