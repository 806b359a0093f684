"""The NVIDIA driver: running kernel module and its flavour, the module on disk, user-space libcuda, firmware."""

from __future__ import annotations

import re
from collections.abc import Iterable

from stackcheck_probes.interface import HostError
from stackcheck_probes.look import Look

VERSION_FILE = "/proc/driver/nvidia/version"
_NVRM = r"NVRM version:\s*(.*?)\s{2,}(\d+(?:\.\d+)+)"
_NVRM_LOOSE = r"NVRM version:.*?(\d{3,}\.\d+(?:\.\d+)?)"
_MODULE_NAMES = ("nvidia.ko", "nvidia.ko.xz", "nvidia.ko.gz", "nvidia.ko.zst")
_MODULE_PLACES = ("updates/dkms", "extra", "kernel/drivers/video", "updates", "weak-updates",
                  "extra/nvidia", "kernel/drivers/video/nvidia", "kernel/drivers/misc")  # fmt: skip
DRIVER_CONTAINER = "/run/nvidia/driver"
_MODULE_LIMIT = 256 << 20


def kernel_module(look: Look) -> None:
    """The running kernel module: version, open or proprietary; and the one on disk, which the next boot would load."""
    look.looked_for("driver")
    text = look.text(VERSION_FILE)
    version, flavour, line = parse_version(text or "")
    if version:
        look.component("driver", version, VERSION_FILE, "procfs", scope="host", raw=line, loaded=True,
                       attributes={"flavour": flavour})  # fmt: skip
        look.fact("driver_flavour", flavour, VERSION_FILE, "procfs", line)
    running = look.text("/sys/module/nvidia/version")
    if running and not version:
        look.component("driver", running, "/sys/module/nvidia/version", "sysfs", scope="host", loaded=True,
                       attributes={"flavour": _flavour_by_taint(look)})  # fmt: skip
    _installed(look, version or running)
    _parameters(look)
    if look.is_dir(f"{DRIVER_CONTAINER}/usr"):
        look.fact(
            "driver_container",
            True,
            DRIVER_CONTAINER,
            "file",
            "libraries and services of the driver run in a container",
        )


def parse_version(text: str) -> tuple[str | None, str | None, str]:
    """Return version, flavour (``open`` or ``proprietary``) and the line of /proc/driver/nvidia/version."""
    line = next((line for line in text.splitlines() if line.startswith("NVRM version")), "")
    match = re.search(_NVRM, line)
    loose = re.search(_NVRM_LOOSE, line)
    version = match[2] if match else loose[1] if loose else None
    flavour = None
    if version:
        flavour = "open" if "Open Kernel Module" in line else "proprietary"
    return version, flavour, line


def _flavour_by_taint(look: Look) -> str | None:
    """Return the flavour by the taint letter P, which only a proprietary licence sets on its own module."""
    taint = look.text("/sys/module/nvidia/taint")
    return None if taint is None else "proprietary" if "P" in taint else "open"


def _installed(look: Look, running: str | None) -> None:
    release = look.text("/proc/sys/kernel/osrelease")
    if not release:
        return
    found = _modules_in(look, f"/lib/modules/{release}", _MODULE_PLACES)[:1]
    if not found:
        # Ubuntu's signed modules lie beside each other, a directory per branch and flavour; of several depmod decides
        kernel = f"/lib/modules/{release}/kernel"
        signed = _modules_in(
            look, kernel, [name for name in look.names(kernel) if name.startswith("nvidia-")]
        )
        found = signed if len(signed) == 1 else []
    for path in found:
        _report_installed(look, path, running)


def _modules_in(look: Look, root: str, places: Iterable[str]) -> list[str]:
    """Return the files of the driver's module below ``root``, in the order of the places."""
    paths = (f"{root}/{place}/{name}" for place in places for name in _MODULE_NAMES)
    return [path for path in paths if look.exists(path)]


def _report_installed(look: Look, path: str, running: str | None) -> None:
    info = _modinfo(look, path)
    version = info.get("version")
    if not version and path.endswith(".zst"):
        output = look.run("modinfo-nvidia", 2.0)
        version = output.out.strip() if output and output.rc == 0 else None
    if not version:
        return
    look.fact("driver_installed", version, path, "modinfo", f"version={version}")
    if running:
        look.fact(
            "driver_reboot_pending",
            version != running,
            path,
            "modinfo",
            f"running {running}, on disk {version}",
        )
    else:
        licence = info.get("license", "")
        flavour = "open" if "GPL" in licence else "proprietary" if licence else None
        look.fact("driver_installed_flavour", flavour, path, "modinfo", f"license={licence}")


def _modinfo(look: Look, path: str) -> dict[str, str]:
    """Return the key=value pairs of section .modinfo; empty if it cannot be unpacked with the standard library."""
    import lzma  # only where a compressed module lies on disk
    import zlib

    try:
        if path.endswith(".ko"):
            data = look.host.files.map(path)[:_MODULE_LIMIT]
        elif path.endswith(".xz"):
            data = lzma.LZMADecompressor().decompress(
                look.host.files.read(path, _MODULE_LIMIT), _MODULE_LIMIT
            )
        elif path.endswith(".gz"):
            data = zlib.decompressobj(31).decompress(look.host.files.read(path, _MODULE_LIMIT), _MODULE_LIMIT)
        else:
            return {}
    except (HostError, lzma.LZMAError, zlib.error, EOFError):
        return {}
    return parse_modinfo(data)


def parse_modinfo(data: bytes) -> dict[str, str]:
    """Return ``version`` and ``license`` of a kernel module's file."""
    result: dict[str, str] = {}
    for key in (b"version", b"license"):
        match = re.search(rb"\0" + key + rb"=([^\0]{1,80})\0", data)
        if match:
            result[key.decode()] = match[1].decode("utf-8", "replace")
    return result


def _parameters(look: Look) -> None:
    """Module parameters that change what the node can do; one that is shown empty has the driver's default."""
    text = look.text("/proc/driver/nvidia/params")
    pairs = (line.partition(":") for line in (text or "").splitlines())
    values = {key.strip(): value.strip().strip('"') for key, colon, value in pairs if colon}
    names = {"RegistryDwords": "driver_registry_dwords", "CoherentGPUMemoryMode": "coherent_gpu_memory_mode",
             "EnableGpuFirmware": "driver_enable_gpu_firmware", "DmaRemapPeerMmio": "driver_dma_remap_peer_mmio"}  # fmt: skip
    for key, fact in names.items():
        if key in values:
            look.fact(fact, values[key], "/proc/driver/nvidia/params", "procfs", f"{key}: {values[key]}")
