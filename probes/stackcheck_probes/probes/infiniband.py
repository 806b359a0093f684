"""RDMA devices of every kind: how many, which ports are up and how fast, who drives them, MOFED or inbox."""

from __future__ import annotations

import re
from collections import Counter

from stackcheck_probes import pci
from stackcheck_probes.look import Look
from stackcheck_probes.probes.topology import link_gbps

RDMA = "/sys/class/infiniband"
_OFED = r"^\d{2}\.\d{2}-\d+\.\d+\.\d+"
_MANAGEMENT = r"smi\d+$"
"""Management interfaces of a card with several planes (ConnectX-8): no cards, and no verbs."""


def rdma(look: Look) -> None:
    """Count RDMA devices; of InfiniBand and RoCE ones also the ports that are not up and the slowest rate."""
    look.looked_for("mlnx-ofed")
    if not look.is_dir("/sys/class"):
        return
    drivers = {
        name: pci.parse_uevent(look.text(f"{RDMA}/{name}/device/uevent") or "").get("DRIVER")
        for name in look.names(RDMA)
        if not re.match(_MANAGEMENT, name)
    }
    # EC2 has no network cards of Mellanox: beside EFA they are the ports by which NVLSM manages the NVSwitches (P6)
    controllers = (
        [name for name, driver in drivers.items() if driver == "mlx5_core"] if pci.has_efa(look) else []
    )
    if controllers:
        look.fact("nvlink_controllers", len(controllers), RDMA, "sysfs", " ".join(controllers))
    cards = [name for name in drivers if name not in controllers]
    look.fact("nic_count", len(cards), RDMA, "sysfs", " ".join(cards))
    others = [name for name in cards if drivers[name] != "efa"]
    if others:
        _ports(look, others)
    version = look.text("/sys/module/mlx5_core/version")
    if version and re.match(_OFED, version):
        look.component(
            "mlnx-ofed", version, "/sys/module/mlx5_core/version", "sysfs", scope="host", loaded=True
        )


def _ports(look: Look, names: list[str]) -> None:
    rates, firmware = [], set()
    up: dict[str, int] = {}
    down: dict[str, list[str]] = {}
    fastest: dict[str, int] = {}
    for name in names:
        for port in look.names(f"{RDMA}/{name}/ports"):
            directory = f"{RDMA}/{name}/ports/{port}"
            state = look.text(f"{directory}/state") or ""
            layer = look.text(f"{directory}/link_layer") or ""
            if not state.endswith("ACTIVE"):
                down.setdefault(layer, []).append(f"{name}/{port}: {state or 'unknown'}")
                continue
            rate = re.match(r"(\d+)", look.text(f"{directory}/rate") or "")
            rates += [int(rate[1])] if rate else []
            up[layer] = up.get(layer, 0) + 1
            fastest[name] = max(fastest.get(name, 0), int(rate[1]) if rate else 0)
        firmware.add(look.text(f"{RDMA}/{name}/fw_ver") or "")
    if up.get("InfiniBand"):
        down.pop(
            "Ethernet", None
        )  # storage and management: DGX systems leave the second port of such a card free
    asleep = [text for texts in down.values() for text in texts]
    where = f"{RDMA}/*/ports/*"
    look.fact("ib_devices", len(names), RDMA, "sysfs", " ".join(names))
    look.fact("ib_ports_down", len(asleep), where, "sysfs", "; ".join(asleep))
    look.fact("ib_rate_gbps", min(rates) if rates else None, where, "sysfs", " ".join(map(str, rates)))
    look.fact("ib_link_layer", ", ".join(sorted(set(up) - {""})) or None, where, "sysfs")
    _bottlenecks(look, fastest)
    look.fact("ib_firmware", sorted(firmware - {""}), f"{RDMA}/*/fw_ver", "sysfs")


def _bottlenecks(look: Look, fastest: dict[str, int]) -> None:
    """Devices whose port is faster than their PCIe link. A card with several links (its functions share one image id) is left out."""
    cards = Counter(look.text(f"{RDMA}/{name}/sys_image_guid") or name for name in fastest)
    slow, known = [], 0
    for name, rate in sorted(fastest.items()):
        link = link_gbps(look, f"{RDMA}/{name}/device")
        if link is None or not rate or cards[look.text(f"{RDMA}/{name}/sys_image_guid") or name] > 1:
            continue
        known += 1
        slow += [f"{name}: port {rate} Gb/s, PCIe {link} Gb/s"] if link < rate else []
    if known:
        look.fact("nics_below_port_rate", slow, f"{RDMA}/*/device/current_link_*", "sysfs")
