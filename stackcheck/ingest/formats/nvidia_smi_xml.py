"""`nvidia-smi -q -x`. Its document type declaration names a file and is not followed; one that declares entities is refused."""

from __future__ import annotations

from xml.parsers import expat

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.gpu_properties import put
from stackcheck.ingest.interface import Line
from stackcheck.model.errors import InputError

_START = ("<nvidia_smi_log", "<!DOCTYPE nvidia_smi_log")
_DEEPEST = 64

# (parent element, element) -> property; an empty parent stands for any.
_ELEMENTS: dict[tuple[str, str], str] = {
    ("nvidia_smi_log", "driver_version"): "driver_version",
    ("nvidia_smi_log", "cuda_version"): "cuda_version",
    ("nvidia_smi_log", "attached_gpus"): "count",
    ("gpu", "product_name"): "name",
    ("gpu", "persistence_mode"): "persistence",
    ("gpu", "compute_mode"): "compute_mode",
    ("gpu", "performance_state"): "performance_state",
    ("gpu", "addressing_mode"): "addressing_mode",
    ("gpu", "gpu_recovery_action"): "recovery_action",
    ("", "gsp_firmware_version"): "gsp_firmware",
    ("gpu_virtualization_mode", "virtualization_mode"): "virtualization",
    ("mig_mode", "current_mig"): "mig",
    ("ecc_mode", "current_ecc"): "ecc",
    ("ecc_mode", "pending_ecc"): "ecc_pending",
    ("volatile", "dram_uncorrectable"): "ecc_uncorrected",
    ("volatile", "sram_uncorrectable"): "ecc_uncorrected",
    ("volatile", "sram_uncorrectable_parity"): "ecc_uncorrected",
    ("volatile", "sram_uncorrectable_secded"): "ecc_uncorrected",
    ("volatile", "dram_correctable"): "ecc_corrected",
    ("volatile", "sram_correctable"): "ecc_corrected",
    ("aggregate", "dram_uncorrectable"): "ecc_uncorrected_aggregate",
    ("aggregate", "sram_uncorrectable"): "ecc_uncorrected_aggregate",
    ("aggregate", "sram_uncorrectable_parity"): "ecc_uncorrected_aggregate",
    ("aggregate", "sram_uncorrectable_secded"): "ecc_uncorrected_aggregate",
    ("", "sram_threshold_exceeded"): "ecc_sram_threshold",
    ("retired_pages", "pending_retirement"): "retired_pages_pending",
    ("remapped_rows", "remapped_row_corr"): "remapped_rows_correctable",
    ("remapped_rows", "remapped_row_unc"): "remapped_rows_uncorrectable",
    ("remapped_rows", "remapped_row_pending"): "remapped_rows_pending",
    ("remapped_rows", "remapped_row_failure"): "remapped_rows_failure",
    ("fabric", "state"): "fabric_state",
    ("fabric", "status"): "fabric_status",
    ("fabric", "cliqueId"): "clique",
    ("health", "bandwidth"): "fabric_bandwidth",
    ("pcie_gen", "current_link_gen"): "pcie_gen",
    ("pcie_gen", "max_link_gen"): "pcie_gen_max",
    ("link_widths", "current_link_width"): "pcie_width",
    ("link_widths", "max_link_width"): "pcie_width_max",
    ("pci", "replay_counter"): "pcie_replays",
    ("gpu_power_readings", "power_draw"): "power_draw",
    ("gpu_power_readings", "average_power_draw"): "power_draw",
    ("gpu_power_readings", "current_power_limit"): "power_limit",
    ("gpu_power_readings", "default_power_limit"): "power_default",
    ("gpu_power_readings", "max_power_limit"): "power_max",
    ("power_readings", "power_draw"): "power_draw",
    ("power_readings", "enforced_power_limit"): "power_limit",
    ("power_readings", "default_power_limit"): "power_default",
    ("power_readings", "max_power_limit"): "power_max",
    ("clocks", "graphics_clock"): "clock_graphics",
    ("max_clocks", "graphics_clock"): "clock_graphics_max",
    ("clocks", "sm_clock"): "clock_sm",
    ("clocks", "mem_clock"): "clock_memory",
    ("max_clocks", "sm_clock"): "clock_sm_max",
    ("max_clocks", "mem_clock"): "clock_memory_max",
    ("applications_clocks", "graphics_clock"): "clock_application",
    ("temperature", "gpu_temp"): "temperature",
    ("fb_memory_usage", "total"): "memory_total",
}  # fmt: skip
_REASONS = ("gpu_idle", "sw_power_cap", "hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown", "sync_boost",
            "applications_clocks_setting")  # fmt: skip


def sniff(text: str) -> float:
    """Look for the root element."""
    return 1.0 if any(mark in text for mark in _START) else 0.0


def read(draft: Draft) -> None:
    """Record driver, GPUs, and their state; what comes before a break in the document is kept.

    Raises:
        InputError: the document declares entities of its own.
    """
    lines = list(draft.source.lines)
    first = next((i for i, x in enumerate(lines) if x.text.lstrip().startswith(("<?xml", *_START))), None)
    if first is None:
        return
    reader = _Reader(draft, lines[first:])
    last = next((i for i, x in enumerate(lines) if "</nvidia_smi_log>" in x.text), len(lines) - 1)
    document = "\n".join(
        line.text.lstrip() if i == first else line.text
        for i, line in enumerate(lines[: last + 1])
        if i >= first
    )
    try:
        reader.parse(document)
    except expat.ExpatError as fault:
        draft.note(
            f"the XML breaks off or is broken: {expat.ErrorString(fault.code)}",
            lines[min(first + fault.lineno - 1, len(lines) - 1)],
        )
    draft.source.claim_range(lines[first].number, lines[min(last, first + reader.reached)].number)


class _Reader:
    """Handlers of one parse."""

    def __init__(self, draft: Draft, lines: list[Line]) -> None:
        self._draft = draft
        self._lines = lines
        self._path: list[str] = []
        self._text: list[str] = []
        self.reached = 0
        self._parser = expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.EntityDeclHandler = self._refuse_entity
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters

    def parse(self, document: str) -> None:
        """Feed the whole document."""
        self._parser.Parse(document, True)

    def _doctype(self, _name: str, _system: str | None, _public: str | None, has_subset: bool) -> None:
        if has_subset:
            self._refuse()

    def _refuse_entity(self, *_: object) -> None:
        self._refuse()

    def _refuse(self) -> None:
        raise InputError(
            "the XML declares entities, which are refused",
            where=self._draft.source.name,
            fix="give the output of `nvidia-smi -q -x`",
        )

    def _start(self, name: str, _: dict[str, str]) -> None:
        self._path.append(name)
        self._text.clear()
        if len(self._path) > _DEEPEST:
            raise InputError(
                "the XML is nested too deeply",
                where=self._draft.source.name,
                fix="give the output of `nvidia-smi -q -x`",
            )

    def _characters(self, data: str) -> None:
        if len(self._text) < 64:
            self._text.append(data[:400])

    def _end(self, name: str) -> None:
        index = min(self._parser.CurrentLineNumber - 1, len(self._lines) - 1)
        self.reached = max(self.reached, index)
        value = "".join(self._text).strip()
        self._text.clear()
        self._path.pop()
        if not value:
            return
        parent = self._path[-1] if self._path else ""
        found = _ELEMENTS.get((parent, name)) or _ELEMENTS.get(("", name)) or _reason(name)
        if found:
            put(self._draft, found, value, Line(self._lines[index].number, f"<{name}>{value[:200]}"))


def _reason(name: str) -> str:
    for prefix in ("clocks_event_reason_", "clocks_throttle_reason_"):
        if name.startswith(prefix) and name.removeprefix(prefix) in _REASONS:
            return "reason_" + name.removeprefix(prefix)
    return ""
