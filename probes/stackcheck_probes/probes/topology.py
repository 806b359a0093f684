"""PCIe between GPUs and network: link speed, access control (ACS), IOMMU, NUMA nodes."""

from __future__ import annotations

import re
import struct

from stackcheck_probes import pci
from stackcheck_probes.interface import HostError
from stackcheck_probes.look import Look

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
