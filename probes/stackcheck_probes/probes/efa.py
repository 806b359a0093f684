"""Elastic Fabric Adapter: devices, ports and error counters, kernel modules, what the installer recorded."""

from __future__ import annotations

import re

from stackcheck_probes import pci
from stackcheck_probes.look import Look

RDMA = "/sys/class/infiniband"
RECORD = "/opt/amazon/efa_installed_packages"
_INSTALLER = r"EFA installer version:\s*([0-9][0-9A-Za-z.]*)"
_DEB = r"^([a-z0-9][a-z0-9.+-]*)_([0-9][^_\s]*)_(?:amd64|arm64|all)$"
_RPM = r"^([A-Za-z0-9][A-Za-z0-9.+_-]*?)-([0-9][^-\s]*)-[^-\s]+\.(?:x86_64|aarch64|noarch)(?:\.rpm)?$"
_BAD_COUNTER = r"(?:_err|_errs|_error|_errors|drops|retrans_timeout_events|unresponsive_remote_events)$"
NVIDIA_MODULES = ("efa_nv_peermem",)


def efa(look: Look) -> None:
    """EFA devices against PCI, their ports, their driver, the peer-to-peer provider, the installer's record."""
    look.looked_for("efa-driver", "efa-installer", "efa-nv-peermem")
    _modules(look)
    installer_record(look)
    if not look.is_dir("/sys/bus/pci"):
        look.note("/sys/bus/pci: not visible here, EFA devices cannot be counted")
        return
    on_pci = [one for one in pci.devices(look) if one.is_efa]
    names = [name for name in look.names(RDMA) if _driver_of(look, name) == "efa"]
    look.fact("efa_devices", len(names), RDMA, "sysfs", " ".join(names))
    look.fact("efa_pci_devices", len(on_pci), pci.DEVICES, "sysfs", " ".join(one.address for one in on_pci))
    if on_pci:
        kinds = sorted({one.device for one in on_pci})
        look.fact("efa_pci_ids", kinds, pci.DEVICES, "sysfs")
    if names:
        _ports(look, names)
        _peer_provider(look, on_pci)


def _driver_of(look: Look, name: str) -> str | None:
    return pci.parse_uevent(look.text(f"{RDMA}/{name}/device/uevent") or "").get("DRIVER")


def _modules(look: Look) -> None:
    for component, module in (("efa-driver", "efa"), ("efa-nv-peermem", "efa_nv_peermem")):
        path = f"/sys/module/{module}/version"
        raw = look.text(path)
        if raw:
            look.component(component, driver_version(raw), path, "sysfs", scope="host", raw=raw, loaded=True)
        elif look.exists(f"/sys/module/{module}"):
            look.component(component, None, f"/sys/module/{module}", "sysfs", scope="host", loaded=True)


def driver_version(raw: str) -> str:
    """Return the release of the EFA module: AWS's own builds add a ``g`` (``2.17.3g``)."""
    return re.sub(r"(?<=\d)g$", "", raw)


def installer_record(look: Look) -> None:
    """Version and packages by the installer's own record; absent in images that only copied the files."""
    text = look.text(RECORD)
    match = re.search(_INSTALLER, text or "")
    if text and match:
        look.component("efa-installer", match[1], RECORD, "file", raw=match[0],
                       attributes={"packages": dict(parse_packages(text))})  # fmt: skip


def parse_packages(text: str) -> dict[str, str]:
    """Return name -> version of the packages listed, in Debian's (name_version_arch) or RPM's spelling."""
    found: dict[str, str] = {}
    for word in text.split():
        match = re.match(_DEB, word) or re.match(_RPM, word)
        if match:
            found[match[1]] = match[2]
    return found


def _ports(look: Look, names: list[str]) -> None:
    """Ports that are up, and error counters that are not zero (reading them needs no root)."""
    down: list[str] = []
    counters: dict[str, int] = {}
    for name in names:
        state = look.text(f"{RDMA}/{name}/ports/1/state")
        if state and not state.endswith("ACTIVE"):
            down.append(f"{name}: {state}")
        directory = f"{RDMA}/{name}/ports/1/hw_counters"
        for counter in look.names(directory):
            if re.search(_BAD_COUNTER, counter):
                value = look.number(f"{directory}/{counter}")
                if value:
                    counters[counter] = counters.get(counter, 0) + value
    look.fact("efa_ports_down", len(down), f"{RDMA}/*/ports/1/state", "sysfs", "; ".join(down))
    told = [f"{name}={value}" for name, value in sorted(counters.items())]
    look.fact("efa_error_counters", told, f"{RDMA}/*/ports/1/hw_counters", "sysfs")


def _peer_provider(look: Look, on_pci: list[pci.Device]) -> None:
    """The provider of GPU memory the driver uses; the file exists from driver 2.6.0 built with peer-to-peer on."""
    for device in on_pci[:1]:
        for name in ("p2p", "gdr"):
            text = look.text(f"{device.path}/{name}")
            if text is not None:
                look.fact("efa_p2p_provider", text, f"{device.path}/{name}", "sysfs")
                return
