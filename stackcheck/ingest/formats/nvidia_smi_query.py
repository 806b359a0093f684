"""`nvidia-smi --query-gpu=FIELDS --format=csv`: the fields stand in the header, or in the command if `noheader` was asked for."""

from __future__ import annotations

import re

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.gpu_properties import put
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

_QUERY = Lazy(r"--query-gpu=([\w.,]{1,2000})")
_UNIT = Lazy(r" \[\w{1,8}\]$")
_COUNTED = Lazy(r"\s{0,12}(\d{1,4}) (?=\S)")
_FIELDS: dict[str, str] = {
    "name": "name", "gpu_name": "name", "driver_version": "driver_version", "count": "count", "compute_cap": "compute_cap",
    "persistence_mode": "persistence", "mig.mode.current": "mig", "ecc.mode.current": "ecc",
    "ecc.mode.pending": "ecc_pending", "ecc.errors.uncorrected.volatile.total": "ecc_uncorrected",
    "ecc.errors.corrected.volatile.total": "ecc_corrected", "ecc.errors.uncorrected.aggregate.total": "ecc_uncorrected_aggregate",
    "retired_pages.pending": "retired_pages_pending", "remapped_rows.correctable": "remapped_rows_correctable",
    "remapped_rows.uncorrectable": "remapped_rows_uncorrectable", "remapped_rows.pending": "remapped_rows_pending",
    "remapped_rows.failure": "remapped_rows_failure", "compute_mode": "compute_mode", "pstate": "performance_state",
    "fabric.state": "fabric_state", "fabric.status": "fabric_status", "gsp.mode.current": "gsp_firmware", "addressing_mode": "addressing_mode",
    "pcie.link.gen.current": "pcie_gen", "pcie.link.gen.gpucurrent": "pcie_gen", "pcie.link.gen.max": "pcie_gen_max",
    "pcie.link.width.current": "pcie_width", "pcie.link.width.max": "pcie_width_max", "pcie.replay_counter": "pcie_replays",
    "power.draw": "power_draw", "power.draw.average": "power_draw", "power.limit": "power_limit", "enforced.power.limit": "power_limit",
    "power.default_limit": "power_default", "power.max_limit": "power_max", "clocks.gr": "clock_graphics", "clocks.current.graphics": "clock_graphics", "clocks.max.gr": "clock_graphics_max",
    "clocks.max.graphics": "clock_graphics_max", "clocks.sm": "clock_sm", "clocks.current.sm": "clock_sm",
    "clocks.max.sm": "clock_sm_max", "clocks.mem": "clock_memory", "clocks.current.memory": "clock_memory", "clocks.max.memory": "clock_memory_max",
    "clocks.applications.graphics": "clock_application", "temperature.gpu": "temperature", "memory.total": "memory_total",
    "utilization.gpu": "utilization",
}  # fmt: skip
_REASONS = ("gpu_idle", "sw_power_cap", "hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown", "sync_boost",
            "applications_clocks_setting")  # fmt: skip
_FIELDS.update(
    {f"clocks_{kind}_reasons.{r}": f"reason_{r}" for kind in ("event", "throttle") for r in _REASONS}
)


def sniff(text: str) -> float:
    """Look for a header of known fields."""
    return (
        0.9
        if any(_header(line) for line in text.split("\n", 400)[:400] if "," in line or "_version" in line)
        else 0.0
    )


def read(draft: Draft) -> None:
    """Record the queried state of the GPUs."""
    query = _QUERY.search(draft.source.command)
    fields = query[1].split(",") if query else []
    rows, weighed = 0, 0
    first: Line | None = None
    for line in draft.source.open():
        if header := _header(line.text):
            fields = header
            draft.source.claim(line.number)
            continue
        times = _COUNTED.match(line.text) if "uniq -c" in draft.source.command else None
        cells = [c.strip() for c in line.text[times.end() if times else 0 :].split(",")]
        if not fields or len(cells) != len(fields):
            fields = fields if query else []
            continue
        if not _plausible(cells):
            continue
        for field, cell in zip(fields, cells, strict=True):
            if field in _FIELDS:
                put(draft, _FIELDS[field], cell, line)
        first = first or line
        rows += 1
        weighed += int(times[1]) if times else 1
    if first and rows and weighed > 1 and _all_gpus(draft.source.command):
        draft.gpu(None, first, weighed)


def _header(text: str) -> list[str]:
    names = [_UNIT.sub("", c.strip()) for c in text.split(",")[:80]]
    known = sum(n in _FIELDS for n in names)
    return (
        names
        if known
        and known >= len(names) / 2
        and (len(names) > 1 or text.strip() in ("driver_version", "compute_cap"))
        else []
    )


def _plausible(cells: list[str]) -> bool:
    return all(c and len(c) < 100 for c in cells) and not any(
        "rror" in c or "not a valid" in c for c in cells
    )


def _all_gpus(command: str) -> bool:
    """Whether the command asked for all GPUs and its output was not cut."""
    return "--query-gpu" in command and not re.search(
        r"\s-i\s|--id|\||\bhead\b|\bgrep\b|2>", command.replace("| sort | uniq -c", "")
    )
