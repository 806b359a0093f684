"""PCIe between GPUs and network: link speed, access control (ACS), IOMMU, NUMA nodes."""

from __future__ import annotations

import re
import struct

from stackcheck_probes import pci
from stackcheck_probes.host import GIVEN
from stackcheck_probes.interface import HostError
from stackcheck_probes.look import Look
from stackcheck_probes.probes import gpus

GENERATIONS = {
    "2.5": 1,
    "5.0": 2,
    "5": 2,
    "8.0": 3,
    "8": 3,
    "16.0": 4,
    "16": 4,
    "32.0": 5,
    "32": 5,
    "64.0": 6,
    "64": 6,
}
LAST_8B10B = 5.0  # GT/s; faster links lose two bits in 130 to the line code
ACS_CAPABILITY, ACS_CONTROL_OFFSET = 0x000D, 6
ACS_REDIRECT = 0x04 | 0x08  # peer-to-peer request redirect, completion redirect
EXTENDED_CONFIGURATION = 256


def pcie(look: Look) -> None:
    """Link generation and width of the GPUs (idle GPUs lower the generation: it is a hint), and of RDMA devices."""
    found = pci.devices(look)
    for name, devices in (("gpu", [one for one in found if one.is_gpu]), ("nic", _network(found))):
        _links(look, name, devices)
        nodes = sorted({look.number(f"{one.path}/numa_node") for one in devices} - {None}, key=int)  # type: ignore[arg-type]
        look.fact(f"{name}_numa_nodes", nodes or None, f"{pci.DEVICES}/*/numa_node", "sysfs")


def affinity(look: Look) -> None:
    """Whether the process may run on a CPU beside any GPU it sees; which GPUs those are is known only where NVML shows all of them."""
    status = re.search(r"^Cpus_allowed_list:\s*(\S+)", look.process("status") or "", re.MULTILINE)
    addresses = _visible(look)
    lists = [look.text(f"{pci.DEVICES}/{address}/local_cpulist") for address in addresses]
    if status is None or not lists or not all(lists):
        return
    allowed = parse_cpulist(status[1])
    near = [bool(allowed & parse_cpulist(text or "")) for text in lists]
    look.fact("cpus_near_gpus", any(near), f"{pci.DEVICES}/*/local_cpulist", "sysfs",
              f"allowed {status[1]}; {len(near)} GPUs have {', '.join(sorted({text or '' for text in lists}))}")  # fmt: skip


def _visible(look: Look) -> list[str]:
    """Return the addresses of the GPUs of the process; empty if they are not known for sure."""
    answer, _method = gpus.answered(look)
    found = (answer or {}).get("gpus") or []
    addresses = [str(gpu.get("bus_id") or "")[-12:].lower() for gpu in found]
    chosen = look.host.environ.get("CUDA_VISIBLE_DEVICES")
    if not all(addresses) or len({gpu.get("name") for gpu in found}) > 1:
        return []
    if chosen is None:
        return addresses
    numbers = [one.strip() for one in chosen.split(",")]
    if (
        look.host.pid
        or look.host.environ_where == GIVEN
        or not all(one.isdigit() and int(one) < len(addresses) for one in numbers)
    ):
        return []  # the numbers of another process may count within its own devices only
    return [addresses[int(one)] for one in numbers]


def parse_cpulist(text: str) -> set[int]:
    """Return the numbers of a list as the kernel writes it (``0-47,96-143``)."""
    found: set[int] = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        found.update(range(int(first), min(int(last or first), int(first) + 65535) + 1))
    return found


def _network(found: list[pci.Device]) -> list[pci.Device]:
    efa = [one for one in found if one.is_efa]
    return efa or [one for one in found if one.vendor == pci.MELLANOX and one.class_code[:2] == "02"]


def _links(look: Look, name: str, devices: list[pci.Device]) -> None:
    for kind in ("speed", "width"):
        pairs = [(_link(look, one, "current", kind), _link(look, one, "max", kind)) for one in devices]
        known = [(current, most) for current, most in pairs if current and most]
        if known:
            fact = {"speed": "gen", "width": "width"}[kind]
            raw = " ".join(f"{current}/{most}" for current, most in known)
            where = f"{pci.DEVICES}/*/current_link_{kind}"
            look.fact(f"{name}_pcie_{fact}", min(current for current, _most in known), where, "sysfs", raw)
            look.fact(f"{name}_pcie_{fact}_max", min(most for _current, most in known), where, "sysfs", raw)


def _link(look: Look, device: pci.Device, which: str, kind: str) -> int | None:
    text = look.text(f"{device.path}/{which}_link_{kind}") or ""
    if kind == "speed":
        return GENERATIONS.get(text.split(" ")[0])
    return int(text) if text.isdigit() and 0 < int(text) < 64 else None


def link_gbps(look: Look, directory: str) -> int | None:
    """Return what the link of a device carries now, in Gb/s after line coding; None where the kernel does not know the link."""
    speed = re.match(r"[\d.]+", look.text(f"{directory}/current_link_speed") or "")
    width = look.text(f"{directory}/current_link_width") or ""
    if speed is None or not width.isdigit() or not 0 < int(width) < 64:
        return None
    rate = float(speed[0])
    return int(rate * int(width) * (128 / 130 if rate > LAST_8B10B else 8 / 10))


def iommu(look: Look) -> None:
    """``off``, ``passthrough`` (identity domains) or ``translating``, by the groups of the GPUs and NICs, else boot options."""
    if not look.is_dir("/sys/kernel/iommu_groups"):
        return
    groups = look.names("/sys/kernel/iommu_groups")
    where = "/sys/kernel/iommu_groups"
    if not groups:
        look.fact("iommu", "off", where, "sysfs")
        return
    kinds = sorted({look.text(f"{where}/{group}/type") or "" for group in groups} - {""})
    line = look.text("/proc/cmdline") or ""
    if kinds:
        value = "passthrough" if set(kinds) == {"identity"} else "translating"
    else:
        value = "passthrough" if re.search(r"\biommu(?:\.passthrough)?=(?:pt|1)\b", line) else "translating"
    look.fact(
        "iommu", value, where, "sysfs", f"{len(groups)} groups, types {', '.join(kinds) or 'not shown'}"
    )


def access_control(look: Look) -> None:
    """Whether bridges redirect peer traffic (ACS). Needs the extended configuration space, which only root may read."""
    bridges = [one for one in pci.devices(look) if one.is_bridge]
    states: dict[str, bool] = {}
    for bridge in bridges:
        try:
            control = acs_control(look.host.files.read(f"{bridge.path}/config", 4096))
        except HostError:
            continue
        if control is not None:
            states[bridge.address] = bool(control & ACS_REDIRECT)
    if states:
        on = sorted(address for address, redirects in states.items() if redirects)
        look.fact("acs_enabled", bool(on), f"{pci.DEVICES}/*/config", "sysfs", " ".join(on))
    elif bridges:
        look.note(
            "PCIe access control (ACS) is unknown: the extended configuration space of bridges needs root"
        )


def acs_control(config: bytes) -> int | None:
    """Return the ACS control register; None without that capability, or if only the first 256 bytes could be read.

    Format: PCI Express Base Specification, extended capability 000Dh.
    """
    offset = EXTENDED_CONFIGURATION
    for _ in range(96):
        if offset < EXTENDED_CONFIGURATION or offset + 8 > len(config):
            return None
        header = struct.unpack_from("<I", config, offset)[0]
        if header & 0xFFFF == ACS_CAPABILITY:
            return int(struct.unpack_from("<H", config, offset + ACS_CONTROL_OFFSET)[0])
        offset = header >> 20
    return None
