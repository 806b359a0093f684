"""`nvidia-smi -q`: indented sections of `key : value`, per GPU; also what a `grep -A` leaves of it."""

from __future__ import annotations

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.gpu_properties import put
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

_MARKS = ("NVSMI LOG", "Attached GPUs", "Product Name   ", "Remapped Rows", "Clocks Event Reasons", "Clocks Throttle Reasons", "Persistence Mode   ",
          "Power Readings", "ECC Errors", "Max Clocks", "ECC Mode", "MIG Mode", "PCIe Generation", "Recovery Action", "Fabric\n")  # fmt: skip
_FIELD = Lazy(r"(?P<indent> {0,60})(?P<key>[A-Za-z][\w /().-]{0,60}?) {0,60}(?::(?P<value>.*))?\Z")
_GPU = Lazy(r"\s{0,8}GPU [0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:")

# (section, key) -> property; an empty section stands for any.
_KEYS: dict[tuple[str, str], str] = {
    ("", "driver version"): "driver_version",
    ("", "cuda version"): "cuda_version",
    ("", "attached gpus"): "count",
    ("", "product name"): "name",
    ("", "persistence mode"): "persistence",
    ("", "compute mode"): "compute_mode",
    ("", "performance state"): "performance_state",
    ("", "gpu recovery action"): "recovery_action",
    ("", "gsp firmware version"): "gsp_firmware",
    ("", "addressing mode"): "addressing_mode",
    ("", "virtualization mode"): "virtualization",
    ("mig mode", "current"): "mig",
    ("ecc mode", "current"): "ecc",
    ("ecc mode", "pending"): "ecc_pending",
    ("volatile", "dram uncorrectable"): "ecc_uncorrected",
    ("volatile", "sram uncorrectable"): "ecc_uncorrected",
    ("volatile", "sram uncorrectable parity"): "ecc_uncorrected",
    ("volatile", "sram uncorrectable sec-ded"): "ecc_uncorrected",
    ("volatile", "dram correctable"): "ecc_corrected",
    ("volatile", "sram correctable"): "ecc_corrected",
    ("aggregate", "dram uncorrectable"): "ecc_uncorrected_aggregate",
    ("aggregate", "sram uncorrectable"): "ecc_uncorrected_aggregate",
    ("aggregate", "sram uncorrectable parity"): "ecc_uncorrected_aggregate",
    ("aggregate", "sram uncorrectable sec-ded"): "ecc_uncorrected_aggregate",
    ("", "sram threshold exceeded"): "ecc_sram_threshold",
    ("retired pages", "pending page blacklist"): "retired_pages_pending",
    ("remapped rows", "correctable error"): "remapped_rows_correctable",
    ("remapped rows", "uncorrectable error"): "remapped_rows_uncorrectable",
    ("remapped rows", "pending"): "remapped_rows_pending",
    ("remapped rows", "remapping failure occurred"): "remapped_rows_failure",
    ("fabric", "state"): "fabric_state",
    ("fabric", "status"): "fabric_status",
    ("fabric", "cliqueid"): "clique",
    ("fabric", "bandwidth"): "fabric_bandwidth",
    ("pcie generation", "current"): "pcie_gen",
    ("pcie generation", "max"): "pcie_gen_max",
    ("link width", "current"): "pcie_width",
    ("link width", "max"): "pcie_width_max",
    ("", "replays since reset"): "pcie_replays",
    ("gpu power readings", "average power draw"): "power_draw",
    ("gpu power readings", "power draw"): "power_draw",
    ("gpu power readings", "current power limit"): "power_limit",
    ("gpu power readings", "default power limit"): "power_default",
    ("gpu power readings", "max power limit"): "power_max",
    ("power readings", "power draw"): "power_draw",
    ("power readings", "power limit"): "power_limit",
    ("power readings", "enforced power limit"): "power_limit",
    ("power readings", "default power limit"): "power_default",
    ("power readings", "max power limit"): "power_max",
    ("clocks", "graphics"): "clock_graphics",
    ("max clocks", "graphics"): "clock_graphics_max",
    ("clocks", "sm"): "clock_sm",
    ("clocks", "memory"): "clock_memory",
    ("max clocks", "sm"): "clock_sm_max",
    ("max clocks", "memory"): "clock_memory_max",
    ("applications clocks", "graphics"): "clock_application",
    ("", "gpu current temp"): "temperature",
    ("fb memory usage", "total"): "memory_total",
}  # fmt: skip
_REASONS = {
    "idle": "gpu_idle", "sw power cap": "sw_power_cap", "hw slowdown": "hw_slowdown", "hw thermal slowdown": "hw_thermal_slowdown",
    "hw power brake slowdown": "hw_power_brake_slowdown", "sw thermal slowdown": "sw_thermal_slowdown", "sync boost": "sync_boost",
    "applications clocks setting": "applications_clocks_setting",
}  # fmt: skip
_REASON_SECTIONS = ("clocks event reasons", "clocks throttle reasons", "hw slowdown")


def sniff(text: str) -> float:
    """Count the keys only this report has."""
    hits = sum(mark in text for mark in _MARKS)
    return min(1.0, 0.5 + 0.2 * hits) if hits else 0.0


def read(draft: Draft) -> None:
    """Record driver, GPUs, and their state."""
    sections: list[tuple[int, str]] = []
    inside = False
    for line in draft.source.open():
        text = line.text
        if not inside and not any(mark in text + "\n" for mark in _MARKS) and not _GPU.match(text):
            continue
        inside = True
        if _GPU.match(text) or "NVSMI LOG" in text:
            sections = []
            draft.source.claim(line.number)
            continue
        match = _FIELD.match(text)
        if match is None or _is_other(text):
            sections = []
            inside = False
            continue
        indent = len(match["indent"])
        while sections and sections[-1][0] >= indent:
            sections.pop()
        if match["value"] is None:
            sections.append((indent, match["key"].lower()))
            if indent or any(mark.strip() in text for mark in _MARKS):
                draft.source.claim(line.number)
        else:
            _field(draft, [name for _, name in sections], match["key"].lower(), match["value"], line)
            sections.append((indent, match["key"].lower()))


def _is_other(text: str) -> bool:
    """Whether an unindented line is none of the report's."""
    return not text.startswith(" ") and ":" in text and " :" not in text


def _field(draft: Draft, sections: list[str], key: str, value: str, line: Line) -> None:
    name = _KEYS.get(("", key))
    for section in reversed(sections):
        if section in _REASON_SECTIONS and key in _REASONS:
            name = f"reason_{_REASONS[key]}"
            break
        if found := _KEYS.get((section, key)):
            name = found
            break
        if section == "module power readings" or section.endswith("counters"):
            name = None
            break
    if name:
        put(draft, name, value, line)
    elif sections or " : " in line.text:
        draft.source.claim(line.number)
