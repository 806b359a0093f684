"""The GPUs: how many, which, and what holds them back. By NVML in a child process, else nvidia-smi; by PCI without a driver."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from stackcheck_probes import nvidia_smi, pci
from stackcheck_probes.look import Look

PROC = "/proc/driver/nvidia/gpus"
REASONS = {
    0x1: "gpu_idle", 0x2: "applications_clocks_setting", 0x4: "sw_power_cap", 0x8: "hw_slowdown", 0x10: "sync_boost",
    0x20: "sw_thermal_slowdown", 0x40: "hw_thermal_slowdown", 0x80: "hw_power_brake_slowdown",
}  # fmt: skip
FABRIC_STATES = {0: "not supported", 1: "not started", 2: "in progress", 3: "completed"}
COMPUTE_MODES = {0: "default", 1: "exclusive thread", 2: "prohibited", 3: "exclusive process"}
VIRTUALIZATION = {0: "none", 1: "passthrough", 2: "vgpu", 3: "host vgpu", 4: "host vsga"}
SLOW_NVML = "no answer from NVML in time: without persistence mode every start initialises all GPUs"
NVML_MISMATCH = 18


def gpus(look: Look) -> None:
    """Count and name the GPUs by PCI and procfs, then ask NVML for their state."""
    on_pci = _by_pci(look)
    informed = _by_procfs(look)
    answer, method = _ask(look)
    if answer and answer.get("gpus"):
        _report(look, answer, method)
    elif informed or on_pci:
        models = Counter(model for model in informed if model)
        model = models.most_common(1)[0][0] if models else None
        look.seen.update("gpu", {"model": model, "count": len(informed) or len(on_pci)})
        look.seen.evidence(
            "gpu", "procfs" if informed else "sysfs", PROC if informed else pci.DEVICES, model or ""
        )


def _by_pci(look: Look) -> list[pci.Device]:
    if not look.is_dir(pci.DEVICES):
        return []
    found = [one for one in pci.devices(look) if one.is_gpu]
    addresses = " ".join(one.address for one in found)
    look.fact("gpu_count_pci", len(found), pci.DEVICES, "sysfs", addresses)
    if not found:
        return []
    look.seen.update("gpu", {"pci_ids": sorted({one.device for one in found})})
    unbound = [one.address for one in found if one.driver not in ("nvidia", "vfio-pci", "nouveau")]
    look.fact("gpus_without_driver", len(unbound), pci.DEVICES, "sysfs", " ".join(unbound))
    return found


def _by_procfs(look: Look) -> list[str | None]:
    """Return the model of each GPU the driver knows, and report the firmware (``N/A``: GSP is off)."""
    models: list[str | None] = []
    firmware = set()
    for directory in look.children(PROC):
        text = look.text(f"{directory}/information")
        pairs = (line.partition(":") for line in (text or "").splitlines())
        fields = {key.strip(): value.strip() for key, colon, value in pairs if colon}
        models.append(fields.get("Model"))
        firmware.add(fields.get("GPU Firmware") or fields.get("GSP Firmware") or "")
    firmware.discard("")
    if models:
        look.fact("gpu_count_driver", len(models), PROC, "procfs")
    if firmware:
        look.fact("gsp_firmware", ", ".join(sorted(firmware)), f"{PROC}/*/information", "procfs")
    return models


def _ask(look: Look) -> tuple[dict[str, Any] | None, str]:
    if look.host.live and not _has_nvml(look):
        return None, ""
    output = look.run("nvml", 8.0)
    if output is not None:
        try:
            answer = json.loads(output.out.splitlines()[-1]) if output.out.strip() else {}
        except ValueError:
            answer = {}
        if isinstance(answer, dict) and isinstance(answer.get("gpus"), list):
            return answer, "nvml"
        _failure(look, answer if isinstance(answer, dict) else {}, output.err)
    elif look.host.live:
        look.note(SLOW_NVML)
        return None, ""
    output = look.run("nvidia-smi", 8.0)
    if output is None:
        return None, ""
    if output.rc != 0:
        look.fact(
            "nvidia_smi_error",
            (output.err or output.out).strip()[:200] or f"status {output.rc}",
            "nvidia-smi",
            "command",
        )
        return None, ""
    try:
        return nvidia_smi.parse(output.out), "nvidia-smi"
    except nvidia_smi.SmiError as error:
        look.note(f"nvidia-smi -q -x: {error}")
        return None, ""


def _has_nvml(look: Look) -> bool:
    places = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
              "/usr/local/nvidia/lib64", "/lib64", *look.host.environ.get("LD_LIBRARY_PATH", "").split(":"))  # fmt: skip
    return any(place.startswith("/") and look.exists(f"{place}/libnvidia-ml.so.1") for place in places)


def _failure(look: Look, answer: dict[str, Any], error: str) -> None:
    status = answer.get("status")
    text = str(answer.get("error") or error.strip()[-200:] or "no answer")
    look.fact("nvml_error", text, "libnvidia-ml.so.1", "nvml")
    if status == NVML_MISMATCH:
        look.fact("driver_library_mismatch", True, "libnvidia-ml.so.1", "nvml", text)


def _report(look: Look, answer: dict[str, Any], method: str) -> None:
    found = [gpu for gpu in answer["gpus"] if isinstance(gpu, dict) and "error" not in gpu]
    models = Counter(str(gpu["name"]) for gpu in found if gpu.get("name"))
    model = models.most_common(1)[0][0] if models else None
    look.seen.update("gpu", {"model": model, "count": len(found)})
    look.seen.evidence(
        "gpu", method, "libnvidia-ml.so.1" if method == "nvml" else "nvidia-smi -q -x", model or ""
    )
    ids = {str(gpu["device_id"]) for gpu in found if gpu.get("device_id")}
    if ids:
        look.seen.update("gpu", {"pci_ids": sorted(ids)})
    look.fact("gpu_count_nvml", len(found), method, method)
    look.fact("gpus_failed", len(answer["gpus"]) - len(found), method, method)
    capabilities = {".".join(map(str, gpu["capability"])) for gpu in found if gpu.get("capability")}
    if len(capabilities) == 1:
        look.fact("compute_capability", capabilities.pop(), method, method)
    cuda = (answer.get("cuda") or [0])[0]
    if cuda:
        look.fact("driver_cuda", f"{cuda // 1000}.{cuda % 1000 // 10}", method, method)
    if answer.get("driver"):
        look.fact("driver_nvml", answer["driver"], method, method)
    if "confidential_computing" in answer:
        look.fact("confidential_computing", bool(answer["confidential_computing"]), method, method)
    for name, value, raw in summary(found):
        look.fact(name, value, method, method, raw)


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
    add("clock_graphics_mhz", values("clock_graphics"), min)
    add("clock_graphics_max_mhz", values("clock_graphics_max"), min)
    add("clock_memory_mhz", values("clock_memory"), min)
    add("clock_memory_max_mhz", values("clock_memory_max"), min)
    add("gpu_memory_mib", values("memory"), min)
    facts += _capped(found) + _reasons(found) + _links(found) + _fabric(found)
    actions = sorted({str(gpu["recovery_action"]) for gpu in found if gpu.get("recovery_action")} - {"None"})
    if actions:
        facts.append(("gpu_recovery_action", ", ".join(actions), ""))
    return facts


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
    states = [gpu["links"] for gpu in found if gpu.get("links")]
    if not states:
        return []
    raw = " ".join(f"{sum(links)}/{len(links)}" for links in states)
    inactive = sum(len(links) - sum(links) for links in states)
    return [("nvlink_active", min(sum(links) for links in states), raw), ("nvlink_inactive", inactive, raw)]


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
    return facts


def fabric_health(masks: list[int]) -> list[str]:
    """Return what the health masks complain about (nvml.h, NVML_GPU_FABRIC_HEALTH_MASK_*): 1 is true, 0 unsupported."""
    names = {0: "degraded bandwidth", 2: "route recovery", 4: "route unhealthy", 6: "access timeout recovery"}
    found = {name for mask in masks for shift, name in names.items() if mask >> shift & 3 == 1}
    if any(mask >> 8 & 15 > 1 for mask in masks):
        found.add("incorrect configuration")
    return sorted(found)
