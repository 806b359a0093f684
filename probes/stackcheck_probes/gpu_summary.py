"""NVML's answers for all GPUs of a node put into a few facts: the worst value of a kind, or how many GPUs are affected."""

from __future__ import annotations

from typing import Any

VIRTUALIZATION = {0: "none", 1: "passthrough", 2: "vgpu", 3: "host vgpu", 4: "host vsga"}
COMPUTE_MODES = {0: "default", 1: "exclusive thread", 2: "prohibited", 3: "exclusive process"}
FABRIC_STATES = {0: "not supported", 1: "not started", 2: "in progress", 3: "completed"}
RECOVERY_ACTIONS = {
    0: "None",
    1: "Reset",
    2: "Reboot",
    3: "Drain P2P",
    4: "Drain and Reset",
    5: "Recover IMEX Domain",
}
REASONS = {
    0x1: "gpu_idle", 0x2: "applications_clocks_setting", 0x4: "sw_power_cap", 0x8: "hw_slowdown", 0x10: "sync_boost",
    0x20: "sw_thermal_slowdown", 0x40: "hw_thermal_slowdown", 0x80: "hw_power_brake_slowdown",
}  # fmt: skip


def summary(found: list[dict[str, Any]]) -> list[tuple[str, Any, str]]:
    """Return fact, value and raw text for the GPUs together: the worst of a kind, or how many are affected."""
    facts: list[tuple[str, Any, str]] = []

    def values(key: str, index: int = 0) -> list[int]:
        return [gpu[key][index] for gpu in found if isinstance(gpu.get(key), list) and len(gpu[key]) > index]

    def add(name: str, numbers: list[int], worst: Any) -> None:
        if numbers:
            facts.append((name, worst(numbers), " ".join(map(str, numbers))))

    add("persistence", values("persistence"), lambda n: "enabled" if all(n) else "disabled")
    add("ecc", values("ecc"), lambda n: "enabled" if all(n) else "disabled")
    pending = [gpu["ecc"] for gpu in found if len(gpu.get("ecc", ())) == 2]
    add("ecc_change_pending", [int(pair[0] != pair[1]) for pair in pending], lambda n: any(n))
    add("ecc_uncorrected", values("ecc_volatile"), sum)
    add("ecc_uncorrected_aggregate", values("ecc_aggregate"), max)
    add("remapped_rows_uncorrectable", values("remapped", 1), max)
    add("remapped_rows_pending", values("remapped", 2), sum)
    add("remapped_rows_failure", values("remapped", 3), sum)
    add("retired_pages_pending", values("retired_pending"), sum)
    add("power_limit_w", values("power_limit"), lambda n: min(n) // 1000)
    add("power_default_w", values("power_default"), lambda n: min(n) // 1000)
    for key in ("pcie_gen", "pcie_width"):
        add(f"{key}_current", values(key), min)
        add(f"{key}_max", values(f"{key}_max"), min)
    add("pcie_replays", values("replays"), max)
    add("mig", values("mig"), lambda n: "enabled" if any(n) else "disabled")
    add("compute_mode", values("compute_mode"), lambda n: COMPUTE_MODES.get(max(n), str(max(n))))
    add("virtualization", values("virtualization"), lambda n: VIRTUALIZATION.get(max(n), str(max(n))))
    add("ecc_sram_threshold_exceeded", values("sram_exceeded"), sum)
    add("clock_application_mhz", values("clock_graphics"), min)
    add("clock_graphics_max_mhz", values("clock_graphics_max"), min)
    add("clock_application_memory_mhz", values("clock_memory"), min)
    add("clock_memory_max_mhz", values("clock_memory_max"), min)
    add("gpu_memory_mib", values("memory"), min)
    return facts + [
        fact for told in (_capped, _lowered, _reasons, _links, _fabric, _recovery) for fact in told(found)
    ]


def _recovery(found: list[dict[str, Any]]) -> list[tuple[str, Any, str]]:
    """What the driver asks for, if anything: NVML tells a number (a new one is no finding), nvidia-smi the word."""
    told = [gpu.get("recovery_action") for gpu in found]
    told += [RECOVERY_ACTIONS.get(gpu["recovery"][0]) for gpu in found if gpu.get("recovery")]
    actions = sorted({str(action) for action in told if action} - {"None"})
    return [("gpu_recovery_action", ", ".join(actions), "")] if actions else []


def _lowered(found: list[dict[str, Any]]) -> list[tuple[str, Any, str]]:
    """Application clocks below the board's own default: that is below the maximum on some boards, so only this says that somebody set them."""
    pairs = [(gpu[key][0], gpu[f"{key}_default"][0]) for gpu in found for key in ("clock_graphics", "clock_memory")
             if gpu.get(key) and gpu.get(f"{key}_default")]  # fmt: skip
    lowered = sum(clock < default for clock, default in pairs)
    return (
        [("clocks_lowered", lowered, " ".join(f"{clock}/{default} MHz" for clock, default in pairs))]
        if pairs
        else []
    )


def _capped(found: list[dict[str, Any]]) -> list[tuple[str, Any, str]]:
    pairs = [(gpu["power_limit"][0], gpu["power_default"][0]) for gpu in found
             if gpu.get("power_limit") and gpu.get("power_default")]  # fmt: skip
    raw = " ".join(f"{limit // 1000}/{default // 1000} W" for limit, default in pairs)
    return [("power_capped", sum(limit < default for limit, default in pairs), raw)] if pairs else []


def _reasons(found: list[dict[str, Any]]) -> list[tuple[str, Any, str]]:
    masks = [gpu["reasons"][0] for gpu in found if gpu.get("reasons")]
    names = sorted({name for mask in masks for bit, name in REASONS.items() if mask & bit})
    return [("clocks_event_reasons", names, " ".join(hex(mask) for mask in masks))] if masks else []


def _links(found: list[dict[str, Any]]) -> list[tuple[str, Any, str]]:
    # a GPU that is cut into instances (MIG) has no peers: its links are inactive, and that is no fault
    states = [gpu["links"] for gpu in found if gpu.get("links") and not (gpu.get("mig") or [0])[0]]
    if not states:
        return []
    raw = " ".join(f"{sum(links)}/{len(links)}" for links in states)
    inactive = sum(len(links) - sum(links) for links in states)
    facts: list[tuple[str, Any, str]] = [
        ("nvlink_active", min(sum(links) for links in states), raw), ("nvlink_inactive", inactive, raw),
    ]  # fmt: skip
    speeds = [speed for gpu in found for speed in gpu.get("link_speeds", ())]
    if speeds:
        raw = " ".join(map(str, sorted(set(speeds))))
        facts += [("nvlink_mbs", min(speeds), raw), ("nvlink_mbs_max", max(speeds), raw)]
    return facts


def _fabric(found: list[dict[str, Any]]) -> list[tuple[str, Any, str]]:
    infos = [
        gpu["fabric"] for gpu in found if isinstance(gpu.get("fabric"), dict) and gpu["fabric"].get("state")
    ]
    if not infos:
        return []
    raw = " ".join(f"{info['state']}/{info.get('status')}" for info in infos)
    worst = min(int(info["state"]) for info in infos)
    facts: list[tuple[str, Any, str]] = [("fabric_state", FABRIC_STATES.get(worst, str(worst)), raw)]
    failed = sum(1 for info in infos if info["state"] == 3 and info.get("status"))
    facts.append(("fabric_status", "failure" if failed else "success", raw))
    masks = [int(info["health"]) for info in infos if "health" in info]
    if masks:
        facts.append(("fabric_health", fabric_health(masks), " ".join(hex(mask) for mask in masks)))
    facts.append(("nvlink_clique_ids", sorted({int(info.get("clique") or 0) for info in infos}), raw))
    members = {
        (str(info.get("cluster")), info.get("clique"))
        for info in infos
        if info["state"] == 3 and not info.get("status")
    }
    if members:
        facts.append(
            (
                "nvlink_partitions",
                len(members),
                " ".join(f"{cluster}/{clique}" for cluster, clique in sorted(members)),
            )
        )
    return facts


def fabric_health(masks: list[int]) -> list[str]:
    """Return what the health masks complain about (nvml.h, NVML_GPU_FABRIC_HEALTH_MASK_*): 1 is true, 0 unsupported."""
    names = {0: "degraded bandwidth", 2: "route recovery", 4: "route unhealthy", 6: "access timeout recovery"}
    found = {name for mask in masks for shift, name in names.items() if mask >> shift & 3 == 1}
    if any(mask >> 8 & 15 > 1 for mask in masks):
        found.add("incorrect configuration")
    return sorted(found)
