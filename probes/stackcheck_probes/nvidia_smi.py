"""``nvidia-smi -q -x``: the same answers as NVML's, for where NVML itself could not be asked.

Element names: nvsmi_device_v12/v13 (https://docs.nvidia.com/deploy/nvidia-smi/index.html). Hostile input: size is bounded by
the caller, and a document type with entities is refused before parsing.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

_ENTITY = re.compile(r"<!ENTITY", re.IGNORECASE)
_STATES = {"not started": 1, "in progress": 2, "completed": 3}
_VIRTUALIZATION = {"none": 0, "pass-through": 1, "vgpu": 2, "host vgpu": 3, "host vsga": 4}
_REASONS = {
    "hw_slowdown": 0x8, "sw_power_cap": 0x4, "hw_thermal_slowdown": 0x40, "hw_power_brake_slowdown": 0x80,
    "sw_thermal_slowdown": 0x20, "sync_boost": 0x10, "applications_clocks_setting": 0x2, "gpu_idle": 0x1,
}  # fmt: skip


class SmiError(ValueError):
    """The text is no nvidia-smi XML."""


def parse(text: str) -> dict[str, Any]:
    """Return the answers in the form of ``nvml_child.everything``. Raises ``SmiError``."""
    if _ENTITY.search(text):
        raise SmiError("entities in the document type")
    try:
        log = ET.fromstring(text)  # noqa: S314  see above
    except ET.ParseError as error:
        raise SmiError(str(error)) from None
    if log.tag != "nvidia_smi_log":
        raise SmiError(f"root element {log.tag[:40]}")
    result: dict[str, Any] = {"gpus": [_gpu(element) for element in log.findall("gpu")]}
    driver = _text(log, "driver_version")
    cuda = re.match(r"(\d+)\.(\d+)$", _text(log, "cuda_version") or "")
    if driver:
        result["driver"] = driver
    if cuda:
        result["cuda"] = [int(cuda[1]) * 1000 + int(cuda[2]) * 10]
    return result


def _text(element: ET.Element, path: str) -> str | None:
    text = (element.findtext(path) or "").strip()
    return None if text in ("", "N/A", "[N/A]", "Requested functionality has been deprecated") else text


def _flag(element: ET.Element, path: str) -> int | None:
    text = _text(element, path)
    return None if text is None else int(text.lower() in ("enabled", "yes", "active", "pending"))


def _whole(element: ET.Element, *paths: str) -> int | None:
    for path in paths:
        match = re.match(r"\d+", _text(element, path) or "")
        if match:
            return int(match[0])
    return None


def _gpu(gpu: ET.Element) -> dict[str, Any]:
    link = "pci/pci_gpu_link_info"
    watts = [_whole(gpu, f"{group}/{name}") for name in ("current_power_limit", "default_power_limit")
             for group in ("gpu_power_readings", "power_readings")]  # fmt: skip
    found: dict[str, Any] = {
        "name": _text(gpu, "product_name"), "bus_id": (gpu.get("id") or "").lower() or None,
        "device_id": (_text(gpu, "pci/pci_device_id") or "")[:4].lower() or None,
        "persistence": _list(_flag(gpu, "persistence_mode")),
        "ecc": _pair(_flag(gpu, "ecc_mode/current_ecc"), _flag(gpu, "ecc_mode/pending_ecc")),
        "mig": _pair(_flag(gpu, "mig_mode/current_mig"), _flag(gpu, "mig_mode/pending_mig")),
        "remapped": _remapped(gpu),
        "retired_pending": _list(_flag(gpu, "retired_pages/pending_retirement")),
        "power_limit": _milliwatts(watts[0], watts[1]), "power_default": _milliwatts(watts[2], watts[3]),
        "pcie_gen": _list(_whole(gpu, f"{link}/pcie_gen/current_link_gen")),
        "pcie_gen_max": _list(_whole(gpu, f"{link}/pcie_gen/max_link_gen")),
        "pcie_width": _list(_whole(gpu, f"{link}/link_widths/current_link_width")),
        "pcie_width_max": _list(_whole(gpu, f"{link}/link_widths/max_link_width")),
        "replays": _list(_whole(gpu, "pci/replay_counter")),
        "ecc_volatile": _uncorrected(gpu, "volatile"), "ecc_aggregate": _uncorrected(gpu, "aggregate"),
        "sram_exceeded": _list(_flag(gpu, "ecc_errors/aggregate/sram_threshold_exceeded")),
        "reasons": _reasons(gpu), "gsp": _text(gpu, "gsp_firmware_version"), "fabric": _fabric(gpu),
        "compute_mode": _list(_compute_mode(_text(gpu, "compute_mode"))),
        "memory": _list(_whole(gpu, "fb_memory_usage/total")),
        "clock_graphics": _list(_whole(gpu, "applications_clocks/graphics_clock")),
        "clock_graphics_default": _list(_whole(gpu, "default_applications_clocks/graphics_clock")),
        "clock_graphics_max": _list(_whole(gpu, "max_clocks/graphics_clock")),
        "virtualization": _list(_VIRTUALIZATION.get((_text(gpu, "gpu_virtualization_mode/virtualization_mode") or "").lower())),
        "recovery_action": _text(gpu, "gpu_recovery_action"),
    }  # fmt: skip
    return {key: value for key, value in found.items() if value is not None}


def _list(value: int | None) -> list[int] | None:
    return None if value is None else [value]


def _pair(first: int | None, second: int | None) -> list[int] | None:
    return None if first is None else [first, first if second is None else second]


def _milliwatts(*values: int | None) -> list[int] | None:
    return next(([value * 1000] for value in values if value is not None), None)


def _remapped(gpu: ET.Element) -> list[int] | None:
    if gpu.find("remapped_rows/remapped_row_pending") is None:
        return None
    counts = [_whole(gpu, f"remapped_rows/remapped_row_{name}") or 0 for name in ("corr", "unc")]
    flags = [_flag(gpu, f"remapped_rows/remapped_row_{name}") or 0 for name in ("pending", "failure")]
    return counts + flags


def _uncorrected(gpu: ET.Element, kind: str) -> list[int] | None:
    group = gpu.find(f"ecc_errors/{kind}")
    if group is None:
        return None
    texts = [(child.text or "").strip() for child in group if "uncorrectable" in child.tag]
    values = [int(text) for text in texts if text.isdigit()]
    return [sum(values)] if values else None


def _reasons(gpu: ET.Element) -> list[int] | None:
    for word in ("event", "throttle"):  # the word changed with driver 535
        element = gpu.find(f"clocks_{word}_reasons")
        if element is not None:
            names = {name: f"clocks_{word}_reason_{name}" for name in _REASONS}
            return [sum(bit for name, bit in _REASONS.items() if _text(element, names[name]) == "Active")]
    return None


def _fabric(gpu: ET.Element) -> dict[str, Any] | None:
    state = _text(gpu, "fabric/state")
    if state is None or state.lower() not in _STATES:
        return None
    status = (_text(gpu, "fabric/status") or "Success").lower()
    clique = _whole(gpu, "fabric/cliqueId", "fabric/clique_id")
    return {"state": _STATES[state.lower()], "status": 0 if status == "success" else 999, "clique": clique or 0,
            "cluster": (_text(gpu, "fabric/clusterUuid") or "").replace("-", "").lower()}  # fmt: skip


def _compute_mode(text: str | None) -> int | None:
    return (
        None if text is None else {"default": 0, "prohibited": 2, "exclusive_process": 3}.get(text.lower(), 0)
    )
