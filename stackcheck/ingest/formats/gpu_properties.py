"""What `nvidia-smi` says of each GPU, under the names it uses in `-q`, XML and `--query-gpu`, joined into facts about the node.

A flag that should be set counts as set if every GPU has it; one that should not, if any GPU has it; of numbers the worse one counts.
Source of the names: `nvidia-smi --help-query-gpu` and the report itself, drivers 470 to 590.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

Setter = Callable[[Draft, str, Line], None]

_YES = frozenset(("enabled", "yes", "on", "active", "true", "1"))
_NO = frozenset(("disabled", "no", "off", "not active", "inactive", "false", "0"))
_NUMBER = Lazy(r"-?\d{1,12}(?:\.\d{1,6})?")
_NOTHING = frozenset(
    (
        "",
        "n/a",
        "[n/a]",
        "[not supported]",
        "not supported",
        "unknown error",
        "[unknown error]",
        "requested functionality has been deprecated",
    )
)


def _flag(name: str, *, every: bool) -> Setter:
    def put(draft: Draft, value: str, line: Line) -> None:
        word = value.strip().lower()
        if word not in _YES and word not in _NO:
            return
        new, old = word in _YES, draft.facts.get(name)
        worse = old is None or (new is not old and new is not every)
        if worse:
            draft.fact(name, new, line)

    return put


def _number(name: str, *, worse: Callable[[float, float], float]) -> Setter:
    def put(draft: Draft, value: str, line: Line) -> None:
        match = _NUMBER.search(value)
        if match is None:
            return
        new = float(match[0]) if "." in match[0] else int(match[0])
        old = draft.facts.get(name)
        if not isinstance(old, int | float) or worse(new, old) == new != old:
            draft.fact(name, new, line)

    return put


def _text(name: str, good: frozenset[str] = frozenset()) -> Setter:
    """Keep the first value, but let one that is not good replace a good one."""

    def put(draft: Draft, value: str, line: Line) -> None:
        old = draft.facts.get(name)
        if old is None or (good and old in good and value.strip() not in good):
            draft.fact(name, value.strip(), line)

    return put


def _reason(name: str) -> Setter:
    def put(draft: Draft, value: str, line: Line) -> None:
        if value.strip().lower() == "active":
            draft.add("clocks_event_reasons", name, line)
        elif "clocks_event_reasons" not in draft.facts:
            draft.facts["clocks_event_reasons"] = ()

    return put


def _driver(draft: Draft, value: str, line: Line) -> None:
    if re.fullmatch(r"\d{3,4}(?:\.\d{1,4}){1,3}", value.strip()):
        draft.component("driver", value.strip(), line, loaded=True)


def _driver_cuda(draft: Draft, value: str, line: Line) -> None:
    if match := re.match(r"\d{1,2}\.\d{1,2}", value.strip()):
        draft.fact("driver_cuda", match[0], line)


def _name(draft: Draft, value: str, line: Line) -> None:
    draft.gpu(value.strip(), line)


def _count(draft: Draft, value: str, line: Line) -> None:
    if value.strip().isdigit() and len(value.strip()) < 5:
        draft.gpu(None, line, int(value))


def _capability(draft: Draft, value: str, line: Line) -> None:
    if re.fullmatch(r"\d{1,2}\.\d", value.strip()):
        draft.first_fact("compute_capability", value.strip(), line)


PROPERTIES: dict[str, Setter] = {
    "driver_version": _driver,
    "cuda_version": _driver_cuda,
    "name": _name,
    "count": _count,
    "compute_cap": _capability,
    "persistence": _flag("persistence", every=True),
    "mig": _flag("mig", every=False),
    "mig_pending": _flag("mig_pending", every=False),
    "ecc": _flag("ecc", every=True),
    "ecc_pending": _flag("ecc_pending", every=True),
    "ecc_uncorrectable_volatile": _number("ecc_uncorrectable_volatile", worse=max),
    "ecc_correctable_volatile": _number("ecc_correctable_volatile", worse=max),
    "ecc_uncorrectable_aggregate": _number("ecc_uncorrectable_aggregate", worse=max),
    "ecc_sram_threshold_exceeded": _flag("ecc_sram_threshold_exceeded", every=False),
    "retired_pages_pending": _flag("retired_pages_pending", every=False),
    "remapped_rows_correctable": _number("remapped_rows_correctable", worse=max),
    "remapped_rows_uncorrectable": _number("remapped_rows_uncorrectable", worse=max),
    "remapped_rows_pending": _flag("remapped_rows_pending", every=False),
    "remapped_rows_failure": _flag("remapped_rows_failure", every=False),
    "compute_mode": _text("compute_mode", frozenset(("Default",))),
    "performance_state": _text("performance_state"),
    "fabric_state": _text("fabric_state", frozenset(("Completed",))),
    "fabric_status": _text("fabric_status", frozenset(("Success",))),
    "fabric_bandwidth": _text("fabric_bandwidth", frozenset(("Full",))),
    "recovery_action": _text("gpu_recovery_action", frozenset(("None",))),
    "gsp_firmware": _text("gsp_firmware"),
    "addressing_mode": _text("addressing_mode"),
    "virtualization_mode": _text("virtualization_mode"),
    "pcie_gen": _number("pcie_gen", worse=min),
    "pcie_gen_max": _number("pcie_gen_max", worse=max),
    "pcie_width": _number("pcie_width", worse=min),
    "pcie_width_max": _number("pcie_width_max", worse=max),
    "pcie_replays": _number("pcie_replays", worse=max),
    "power_draw": _number("power_draw_w", worse=max),
    "power_limit": _number("power_limit_w", worse=min),
    "power_limit_default": _number("power_limit_default_w", worse=max),
    "power_limit_max": _number("power_limit_max_w", worse=max),
    "clock_sm": _number("clock_sm_mhz", worse=min),
    "clock_sm_max": _number("clock_sm_max_mhz", worse=max),
    "clock_memory": _number("clock_memory_mhz", worse=min),
    "clock_memory_max": _number("clock_memory_max_mhz", worse=max),
    "clock_application": _number("clock_application_mhz", worse=min),
    "temperature": _number("temperature_c", worse=max),
    "memory_total": _number("gpu_memory_mib", worse=min),
    "utilization": _number("gpu_utilization_percent", worse=max),
    **{f"reason_{r}": _reason(r) for r in (
        "sw_power_cap", "hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown",
        "sync_boost", "applications_clocks_setting",
    )},
}  # fmt: skip
"""Our name of a property -> what to do with its value."""


def put(draft: Draft, name: str, value: str, line: Line) -> None:
    """Record a property of one GPU; values such as N/A say nothing."""
    draft.source.claim(line.number)
    if value.strip().lower() not in _NOTHING and len(value) < 200:
        PROPERTIES[name](draft, value, line)
