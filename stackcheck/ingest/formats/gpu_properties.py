"""What `nvidia-smi` says of each GPU, under the names it uses in `-q`, XML and `--query-gpu`, joined into facts about the node.

A flag that should be set counts as set if every GPU has it; one that should not, if any GPU has it; of numbers the worse one counts.
Source of the names: `nvidia-smi --help-query-gpu` and the report itself, drivers 470 to 590.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

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
        new, old = "enabled" if word in _YES else "disabled", draft.facts.get(name)
        good = "enabled" if every else "disabled"
        if old is None or (old == good and new != good):
            draft.fact(name, new, line)

    return put


def _count(name: str) -> Setter:
    """Count the GPUs that say yes."""

    def put(draft: Draft, value: str, line: Line) -> None:
        word = value.strip().lower()
        if word in _YES or word in _NO:
            before = draft.facts.get(name)
            number = before if isinstance(before, int) else 0
            if word in _YES or before is None:
                draft.fact(name, number + (word in _YES), line)

    return put


def _number(name: str, *, worse: Callable[[float, float], float], whole: bool = False) -> Setter:
    def put(draft: Draft, value: str, line: Line) -> None:
        match = _NUMBER.search(value)
        if match is None:
            return
        new = float(match[0]) if "." in match[0] and not whole else int(match[0].partition(".")[0])
        old = draft.facts.get(name)
        kept = new if not isinstance(old, int | float) else worse(new, old)
        if kept != old:
            draft.fact(name, kept, line)

    return put


def _total(new: float, old: float) -> float:
    return new + old


def _text(
    name: str, good: frozenset[str] = frozenset(), spelled: Mapping[str, str] = MappingProxyType({})
) -> Setter:
    """Keep the first value in lower case, but let one that is not good replace a good one."""

    def put(draft: Draft, value: str, line: Line) -> None:
        old, new = draft.facts.get(name), value.strip().lower().replace("_", " ")
        new = spelled.get(new, new)
        if old is None or (good and old in good and new not in good):
            draft.fact(name, new, line)

    return put


def _verbatim(name: str) -> Setter:
    def put(draft: Draft, value: str, line: Line) -> None:
        draft.first_fact(name, value.strip(), line)

    return put


def _recovery(draft: Draft, value: str, line: Line) -> None:
    if value.strip() != "None":
        draft.first_fact("gpu_recovery_action", value.strip(), line)


def _ecc(draft: Draft, value: str, line: Line) -> None:
    draft.state["ecc"] = value.strip()
    _flag("ecc", every=True)(draft, value, line)


def _ecc_pending(draft: Draft, value: str, line: Line) -> None:
    changes = value.strip() != draft.state.get("ecc", value.strip())
    if changes or "ecc_change_pending" not in draft.facts:
        draft.fact("ecc_change_pending", changes, line)


def _power_limit(draft: Draft, value: str, line: Line) -> None:
    draft.state["power_limit"] = value
    _number("power_limit_w", worse=min, whole=True)(draft, value, line)


def _power_default(draft: Draft, value: str, line: Line) -> None:
    """The default follows the limit of the same GPU; `power_capped` counts the GPUs below it."""
    _number("power_default_w", worse=min, whole=True)(draft, value, line)
    limit, default = _NUMBER.search(draft.state.pop("power_limit", "")), _NUMBER.search(value)
    if limit and default:
        before = draft.facts.get("power_capped")
        capped = (before if isinstance(before, int) else 0) + (float(limit[0]) < float(default[0]))
        if capped != before:
            draft.fact("power_capped", capped, line)


def _bandwidth(draft: Draft, value: str, line: Line) -> None:
    if value.strip().lower() == "degraded":
        draft.add("fabric_health", "degraded bandwidth", line)


def _clique(draft: Draft, value: str, line: Line) -> None:
    if value.strip().isdigit() and len(value.strip()) < 9:
        draft.add("nvlink_clique_ids", int(value), line)


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


def _gpu_count(draft: Draft, value: str, line: Line) -> None:
    if value.strip().isdigit() and len(value.strip()) < 5:
        draft.gpu(None, line, int(value))


def _capability(draft: Draft, value: str, line: Line) -> None:
    if re.fullmatch(r"\d{1,2}\.\d", value.strip()):
        draft.first_fact("compute_capability", value.strip(), line)


PROPERTIES: dict[str, Setter] = {
    "driver_version": _driver,
    "cuda_version": _driver_cuda,
    "name": _name,
    "count": _gpu_count,
    "compute_cap": _capability,
    "persistence": _flag("persistence", every=True),
    "mig": _flag("mig", every=False),
    "ecc": _ecc,
    "ecc_pending": _ecc_pending,
    "ecc_uncorrected": _number("ecc_uncorrected", worse=_total),
    "ecc_corrected": _number("ecc_corrected", worse=_total),
    "ecc_uncorrected_aggregate": _number("ecc_uncorrected_aggregate", worse=max),
    "ecc_sram_threshold": _count("ecc_sram_threshold_exceeded"),
    "retired_pages_pending": _count("retired_pages_pending"),
    "remapped_rows_correctable": _number("remapped_rows_correctable", worse=max),
    "remapped_rows_uncorrectable": _number("remapped_rows_uncorrectable", worse=max),
    "remapped_rows_pending": _count("remapped_rows_pending"),
    "remapped_rows_failure": _count("remapped_rows_failure"),
    "compute_mode": _text("compute_mode", frozenset(("default",))),
    "performance_state": _verbatim("performance_state"),
    "fabric_state": _text("fabric_state", frozenset(("completed",))),
    "fabric_status": _text("fabric_status", frozenset(("success",))),
    "fabric_bandwidth": _bandwidth,
    "clique": _clique,
    "recovery_action": _recovery,
    "gsp_firmware": _verbatim("gsp_firmware"),
    "addressing_mode": _text("addressing_mode"),
    "virtualization": _text("virtualization", frozenset(("none", "passthrough")), {"pass-through": "passthrough"}),
    "pcie_gen": _number("pcie_gen_current", worse=min),
    "pcie_gen_max": _number("pcie_gen_max", worse=min),
    "pcie_width": _number("pcie_width_current", worse=min),
    "pcie_width_max": _number("pcie_width_max", worse=min),
    "pcie_replays": _number("pcie_replays", worse=max),
    "power_draw": _number("power_draw_w", worse=max, whole=True),
    "power_limit": _power_limit,
    "power_default": _power_default,
    "power_max": _number("power_max_w", worse=min, whole=True),
    "clock_graphics": _number("clock_graphics_mhz", worse=min),
    "clock_graphics_max": _number("clock_graphics_max_mhz", worse=min),
    "clock_sm": _number("clock_sm_mhz", worse=min),
    "clock_sm_max": _number("clock_sm_max_mhz", worse=min),
    "clock_memory": _number("clock_memory_mhz", worse=min),
    "clock_memory_max": _number("clock_memory_max_mhz", worse=min),
    "clock_application": _number("clock_application_mhz", worse=min),
    "temperature": _number("temperature_c", worse=max),
    "memory_total": _number("gpu_memory_mib", worse=min),
    "utilization": _number("gpu_utilization_percent", worse=max),
    **{f"reason_{r}": _reason(r) for r in (
        "gpu_idle", "sw_power_cap", "hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown",
        "sync_boost", "applications_clocks_setting",
    )},
}  # fmt: skip
"""Our name of a property -> what to do with its value."""


def put(draft: Draft, name: str, value: str, line: Line) -> None:
    """Record a property of one GPU; values such as N/A say nothing."""
    draft.source.claim(line.number)
    if value.strip().lower() not in _NOTHING and len(value) < 200:
        PROPERTIES[name](draft, value, line)
