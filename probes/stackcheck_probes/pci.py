"""PCI devices of a node, from sysfs alone."""

from __future__ import annotations

import posixpath
from typing import NamedTuple

from stackcheck_probes.look import Look

DEVICES = "/sys/bus/pci/devices"
NVIDIA, AMAZON, MELLANOX = "10de", "1d0f", "15b3"


class Device(NamedTuple):
    """A PCI function: address (``0000:53:00.0``), vendor, device and class in lower-case hex, bound driver."""

    address: str
    vendor: str
    device: str
    class_code: str
    driver: str | None

    @property
    def path(self) -> str:
        """Return its directory in sysfs."""
        return posixpath.join(DEVICES, self.address)

    @property
    def is_gpu(self) -> bool:
        """Tell whether it is an NVIDIA display or 3D controller."""
        return self.vendor == NVIDIA and self.class_code[:4] in ("0300", "0302")

    @property
    def is_efa(self) -> bool:
        """Tell whether it is an Elastic Fabric Adapter of AWS."""
        return self.vendor == AMAZON and self.device.startswith("efa")

    @property
    def is_nvswitch(self) -> bool:
        """Tell whether it is an NVSwitch that the driver took; those of the fifth NVLink generation are not on this bus."""
        return self.vendor == NVIDIA and self.driver == "nvidia-nvswitch"

    @property
    def is_bridge(self) -> bool:
        """Tell whether it is a PCI-to-PCI bridge (a port of a switch or of the root complex)."""
        return self.class_code[:4] == "0604"


def devices(look: Look) -> list[Device]:
    """Return every PCI device, by address; read once for all probes."""
    return look.shared.once("pci", lambda: _read(look))


def has_efa(look: Look) -> bool:
    """Tell whether an EFA is on the bus."""
    return any(one.is_efa for one in devices(look))


def _read(look: Look) -> list[Device]:
    found = []
    for address in look.names(DEVICES):
        device = _device(look, address)
        if device is not None:
            found.append(device)
    return found


def _device(look: Look, address: str) -> Device | None:
    """Return a device by its ``uevent`` (PCI_CLASS=30200, PCI_ID=10DE:2330, DRIVER=nvidia)."""
    fields = parse_uevent(look.text(f"{DEVICES}/{address}/uevent") or "")
    vendor, colon, device = fields.get("PCI_ID", "").lower().partition(":")
    if not colon:
        return None
    code = fields.get("PCI_CLASS", "").lower().rjust(6, "0")
    return Device(address, vendor.rjust(4, "0"), device.rjust(4, "0"), code, fields.get("DRIVER"))


def parse_uevent(text: str) -> dict[str, str]:
    """Return the NAME=value lines of a uevent file."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
