"""NVML's answers for all GPUs of a node put into a few facts: the worst value of a kind, or how many GPUs are affected."""

from __future__ import annotations

from collections.abc import Callable
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
SLOWDOWNS = 0x8 | 0x20 | 0x40 | 0x80

Told = list[tuple[str, Any, str]]
NAMED = 8  # GPUs that are named one by one; of more the count says enough


def summary(found: list[dict[str, Any]]) -> Told:
    """Return fact, value and raw text for the GPUs together: the worst of a kind, or how many are affected; raw names them."""
    facts: Told = []

    def add(
        name: str,
        key: str,
        worst: Any,
        index: int = 0,
        *,
        low: bool = False,
        word: Callable[[int], Any] = int,
    ) -> None:
        """Add a fact: ``low`` says that the worst GPU has the lowest number, ``word`` how a GPU's number is told."""
        having = [gpu for gpu in found if isinstance(gpu.get(key), list) and len(gpu[key]) > index]
        if having:
            numbers = [gpu[key][index] for gpu in having]
            best = max(numbers) if low else min(numbers)
            value = word(worst(numbers))
            told = which(having, [word(number) for number in numbers], word(best))
            facts.append((name, value, told.replace(f"{_all(having)}: {value}", _all(having))))

    add("persistence", "persistence", min, low=True, word=_enabled)
    add("ecc", "ecc", min, low=True, word=_enabled)
    pairs = [gpu for gpu in found if len(gpu.get("ecc", ())) == 2]
    pending = [gpu["ecc"][0] != gpu["ecc"][1] for gpu in pairs]
    words = ["pending" if one else "none" for one in pending]
    facts += [("ecc_change_pending", any(pending), which(pairs, words, "none"))] if pairs else []
    add("ecc_uncorrected", "ecc_volatile", sum)
    add("ecc_uncorrected_aggregate", "ecc_aggregate", max)
    add("remapped_rows_uncorrectable", "remapped", max, 1)
    add("remapped_rows_pending", "remapped", sum, 2)
    add("remapped_rows_failure", "remapped", sum, 3)
    add("retired_pages_pending", "retired_pending", sum)
    add("power_limit_w", "power_limit", min, low=True, word=_watts)
    add("power_default_w", "power_default", min, low=True, word=_watts)
    for key in ("pcie_gen", "pcie_width"):
        add(f"{key}_current", key, min, low=True)
        add(f"{key}_max", f"{key}_max", min, low=True)
    add("pcie_replays", "replays", max)
    add("mig", "mig", max, word=_enabled)
    add("compute_mode", "compute_mode", max, word=lambda n: COMPUTE_MODES.get(n, str(n)))
    add("virtualization", "virtualization", max, word=lambda n: VIRTUALIZATION.get(n, str(n)))
    add("ecc_sram_threshold_exceeded", "sram_exceeded", sum)
    add("clock_application_mhz", "clock_graphics", min, low=True)
    add("clock_graphics_max_mhz", "clock_graphics_max", min, low=True)
    add("clock_application_memory_mhz", "clock_memory", min, low=True)
    add("clock_memory_max_mhz", "clock_memory_max", min, low=True)
    add("gpu_memory_mib", "memory", min, low=True)
    return facts + [
        fact for told in (_capped, _lowered, _reasons, _links, _fabric, _recovery) for fact in told(found)
    ]


def _enabled(flag: int) -> str:
    return "enabled" if flag else "disabled"


def _watts(milliwatts: int) -> int:
    return milliwatts // 1000


def which(gpus: list[dict[str, Any]], values: list[Any], best: Any) -> str:
    """Return which GPUs have which value: ``GPU 3 00000000:86:00.0: 2, the other 7: 0``; short where all agree on the best.

    ``best`` is the value of a GPU that nothing is wrong with, as far as the others show.
    """
    if len(set(values)) == 1:
        return f"{_all(gpus)}: {values[0]}"
    odd = [(gpu, value) for gpu, value in zip(gpus, values) if value != best]
    told = [f"{_name(gpu)}: {value}" for gpu, value in odd[:NAMED]]
    told += [f"{len(odd) - NAMED} more"] if len(odd) > NAMED else []
    return ", ".join([*told, f"the other {len(gpus) - len(odd)}: {best}"])


def _all(gpus: list[dict[str, Any]]) -> str:
    return f"all {len(gpus)} GPUs" if len(gpus) > 1 else _name(gpus[0])


def _name(gpu: dict[str, Any]) -> str:
    """Return the number by which nvidia-smi -i knows a GPU, and its bus id."""
    return " ".join(str(part) for part in ("GPU", gpu.get("index"), gpu.get("bus_id")) if part is not None)


def numbered(answers: list[Any]) -> list[dict[str, Any]]:
    """Return the GPUs of an answer, each with its number: those that do not answer count too."""
    return [{**gpu, "index": number} for number, gpu in enumerate(answers) if isinstance(gpu, dict)]


def _recovery(found: list[dict[str, Any]]) -> Told:
    """What the driver asks for, if anything: NVML tells a number (a new one is no finding), nvidia-smi the word."""
    told = [
        str(gpu.get("recovery_action") or RECOVERY_ACTIONS.get((gpu.get("recovery") or [0])[0]) or "None")
        for gpu in found
    ]
    actions = sorted(set(told) - {"None"})
    return [("gpu_recovery_action", ", ".join(actions), which(found, told, "None"))] if actions else []


def _lowered(found: list[dict[str, Any]]) -> Told:
    """Application clocks below the board's own default: that is below the maximum on some boards, so only this says that somebody set them."""
    keys = ("clock_graphics", "clock_memory")
    pairs = [
        (gpu, [(gpu[key][0], gpu[f"{key}_default"][0]) for key in keys if gpu.get(key) and gpu.get(f"{key}_default")])
        for gpu in found
    ]  # fmt: skip
    pairs = [(gpu, clocks) for gpu, clocks in pairs if clocks]
    lowered = sum(clock < default for _gpu, clocks in pairs for clock, default in clocks)
    told = [" ".join(f"{clock}/{default} MHz" for clock, default in clocks) for _gpu, clocks in pairs]
    fine = [text for text, (_gpu, clocks) in zip(told, pairs) if all(c >= default for c, default in clocks)]
    return (
        [("clocks_lowered", lowered, which([gpu for gpu, _ in pairs], told, _usual(fine or told)))]
        if pairs
        else []
    )


def _usual(values: list[Any]) -> Any:
    """Return the commonest value, the first of several."""
    return max(values, key=values.count)


def _capped(found: list[dict[str, Any]]) -> Told:
    having = [gpu for gpu in found if gpu.get("power_limit") and gpu.get("power_default")]
    pairs = [(gpu["power_limit"][0], gpu["power_default"][0]) for gpu in having]
    told = [f"{limit // 1000}/{default // 1000} W" for limit, default in pairs]
    fine = [text for text, (limit, default) in zip(told, pairs) if limit >= default]
    capped = sum(limit < default for limit, default in pairs)
    return [("power_capped", capped, which(having, told, _usual(fine or told)))] if pairs else []


def _reasons(found: list[dict[str, Any]]) -> Told:
    having = [gpu for gpu in found if gpu.get("reasons")]
    told = [
        " ".join(sorted(name for bit, name in REASONS.items() if gpu["reasons"][0] & bit)) or "none"
        for gpu in having
    ]
    names = sorted({name for text in told for name in text.split()} - {"none"})
    fine = [text for text, gpu in zip(told, having) if not gpu["reasons"][0] & SLOWDOWNS]
    return [("clocks_event_reasons", names, which(having, told, _usual(fine or told)))] if having else []


def _links(found: list[dict[str, Any]]) -> Told:
    # a GPU that is cut into instances (MIG) has no peers: its links are inactive, and that is no fault
    having = [gpu for gpu in found if gpu.get("links") and not (gpu.get("mig") or [0])[0]]
    if not having:
        return []
    states = [gpu["links"] for gpu in having]
    told = [f"{sum(links)} of {len(links)} up" for links in states]
    best = max(states, key=sum)
    raw = which(having, told, f"{sum(best)} of {len(best)} up")
    inactive = sum(len(links) - sum(links) for links in states)
    facts: Told = [
        ("nvlink_active", min(sum(links) for links in states), raw), ("nvlink_inactive", inactive, raw),
    ]  # fmt: skip
    having = [gpu for gpu in found if gpu.get("link_speeds")]
    if having:
        speeds = [speed for gpu in having for speed in gpu["link_speeds"]]
        ranges = [" ".join(map(str, sorted(set(gpu["link_speeds"])))) for gpu in having]
        raw = which(having, ranges, _usual(ranges))
        facts += [("nvlink_mbs", min(speeds), raw), ("nvlink_mbs_max", max(speeds), raw)]
    return facts


def _fabric(found: list[dict[str, Any]]) -> Told:
    having = [gpu for gpu in found if isinstance(gpu.get("fabric"), dict) and gpu["fabric"].get("state")]
    infos = [gpu["fabric"] for gpu in having]
    if not infos:
        return []
    told = [_registration(info) for info in infos]
    raw = which(having, told, next((text for text in told if text == "completed"), _usual(told)))
    worst = min(int(info["state"]) for info in infos)
    facts: Told = [("fabric_state", FABRIC_STATES.get(worst, str(worst)), raw)]
    failed = sum(1 for info in infos if info["state"] == 3 and info.get("status"))
    facts.append(("fabric_status", "failure" if failed else "success", raw))
    masked = [gpu for gpu in having if "health" in gpu["fabric"]]
    masks = [int(gpu["fabric"]["health"]) for gpu in masked]
    if masks:
        complaints = [", ".join(fabric_health([mask])) or "none" for mask in masks]
        best = "none" if "none" in complaints else _usual(complaints)
        facts.append(("fabric_health", fabric_health(masks), which(masked, complaints, best)))
    cliques = [int(info.get("clique") or 0) for info in infos]
    facts.append(("nvlink_clique_ids", sorted(set(cliques)), which(having, cliques, _usual(cliques))))
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


def _registration(info: dict[str, Any]) -> str:
    state = FABRIC_STATES.get(int(info["state"]), str(info["state"]))
    return f"{state}, status {info['status']}" if info.get("status") else state


def fabric_health(masks: list[int]) -> list[str]:
    """Return what the health masks complain about (nvml.h, NVML_GPU_FABRIC_HEALTH_MASK_*): 1 is true, 0 unsupported."""
    names = {0: "degraded bandwidth", 2: "route recovery", 4: "route unhealthy", 6: "access timeout recovery"}
    found = {name for mask in masks for shift, name in names.items() if mask >> shift & 3 == 1}
    if any(mask >> 8 & 15 > 1 for mask in masks):
        found.add("incorrect configuration")
    return sorted(found)
