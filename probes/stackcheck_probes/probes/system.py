"""Kernel, distribution, C library, interpreter, machine type: what everything else is built against."""

from __future__ import annotations

import os
import re
import sys

from stackcheck_probes.interface import HostError
from stackcheck_probes.look import Look
from stackcheck_probes.surroundings import container_kind

_GLIBC = rb"GNU C Library [^\n]*?version (\d+\.\d+(?:\.\d+)?)"
_LOADERS = {
    "/lib64/ld-linux-x86-64.so.2": "x86_64",
    "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2": "x86_64",
    "/lib/ld-linux-aarch64.so.1": "aarch64",
    "/lib64/ld-linux-aarch64.so.1": "aarch64",
}
LIBRARY_DIRECTORIES = ("/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
                       "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib")  # fmt: skip

BOOT_PARAMETERS = ("iommu", "intel_iommu", "amd_iommu", "pci", "pcie_", "processor.", "intel_idle.", "intel_pstate", "idle",
                   "amd_pstate", "numa_balancing", "clocksource", "tsc", "init_on_", "transparent_hugepage", "hugepage",
                   "default_hugepagesz", "nvidia", "nouveau", "modprobe.blacklist", "rd.driver.blacklist", "mitigations",
                   "isolcpus", "nohz_full", "rcu_nocbs", "cgroup", "systemd.unified_cgroup_hierarchy", "swiotlb",
                   "module_blacklist", "nosmt", "nopti", "mce")  # fmt: skip


def identity(look: Look) -> None:
    """Host name, architecture, instance type (from DMI: no metadata call), container or not."""
    name = look.text("/proc/sys/kernel/hostname") or look.text("/etc/hostname")
    look.seen.set("subject", name or "node")
    look.seen.set("arch", machine(look))
    vendor, product = look.text("/sys/class/dmi/id/sys_vendor"), look.text("/sys/class/dmi/id/product_name")
    if product and vendor == "Amazon EC2":
        look.seen.set("instance", product)
        look.seen.evidence("instance", "dmi", "/sys/class/dmi/id/product_name", product)
    elif product:
        look.fact("product_name", product, "/sys/class/dmi/id/product_name", "dmi")
    look.fact("container", container_kind(look.host) or "none", "marker files and /proc/self/cgroup")


def machine(look: Look) -> str | None:
    """Return ``x86_64`` or ``aarch64`` (as ``uname -m`` says), or None if nothing tells."""
    if look.host.live:
        return os.uname().machine
    said = look.text("/proc/sys/kernel/arch")
    if said:
        return said
    for path, name in _LOADERS.items():
        if look.exists(path):
            return name
    return None


def kernel(look: Look) -> None:
    """The running kernel (a container shows its host's) and its boot parameters."""
    look.looked_for("kernel")
    release = look.text("/proc/sys/kernel/osrelease")
    if release:
        look.component("kernel", release, "/proc/sys/kernel/osrelease", "procfs", scope="host")
    line = look.text("/proc/cmdline")
    if line is not None:
        look.fact("kernel_command_line", redact_cmdline(line), "/proc/cmdline", "procfs")


def redact_cmdline(line: str) -> str:
    """Return those boot parameters that bear on GPUs, memory and idle states: the rest may name the machine."""
    return " ".join(word for word in line.split() if word.split("=")[0].startswith(BOOT_PARAMETERS))


def distribution(look: Look) -> None:
    """Name and version of the distribution of these files, and its C and C++ libraries."""
    look.looked_for("os", "glibc", "libstdcxx")
    path = "/etc/os-release" if look.exists("/etc/os-release") else "/usr/lib/os-release"
    fields = parse_os_release(look.text(path) or "")
    if fields.get("ID"):
        version = fields.get("VERSION_ID")
        text = f"{fields['ID']}-{version}" if version else fields["ID"]
        look.component("os", text, path, "file", raw=fields.get("PRETTY_NAME", ""),
                       attributes={"id": fields["ID"], "version_id": version})  # fmt: skip
    _c_library(look)


def parse_os_release(text: str) -> dict[str, str]:
    """Return the assignments of an os-release file, without quotes."""
    pairs = (line.partition("=") for line in text.splitlines() if not line.startswith("#"))
    return {name.strip(): value.strip().strip("\"'") for name, equals, value in pairs if equals}


_LIBRARY_LIMIT = 64 << 20


def _c_library(look: Look) -> None:
    for directory in LIBRARY_DIRECTORIES:
        path = f"{directory}/libc.so.6"
        if not look.exists(path):
            continue
        try:
            content = look.host.files.map(path)[:_LIBRARY_LIMIT]
        except HostError:
            continue
        match = re.search(_GLIBC, content)
        if match:
            look.component("glibc", match[1].decode(), look.real(path), "elf-strings", raw=match[0].decode())
            return
    if look.host.live and hasattr(os, "confstr"):
        said = (os.confstr("CS_GNU_LIBC_VERSION") or "").split()
        if len(said) == 2:
            look.component("glibc", said[1], "confstr", "call")


def interpreter(look: Look) -> None:
    """The Python that runs the probe: only where it is also the one of the node."""
    if look.host.live:
        version = ".".join(str(part) for part in sys.version_info[:3])
        look.fact("probe_python", version, sys.executable, "call")
