"""The GPUs: how many, which, and what holds them back. By NVML in a child process, else nvidia-smi; by PCI without a driver."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from stackcheck_probes import pci
from stackcheck_probes.gpu_summary import numbered, summary
from stackcheck_probes.look import Look
from stackcheck_probes.probes.loading import loader_cache

PROC = "/proc/driver/nvidia/gpus"
SLOW_NVML = "no answer from NVML in time: without persistence mode every start initialises all GPUs"
NVML_NO_PERMISSION, NVML_MISMATCH = 4, 18


def gpus(look: Look) -> None:
    """Count and name the GPUs by PCI and procfs, then ask NVML for their state."""
    on_pci = _by_pci(look)
    informed = _by_procfs(look)
    answer, method = answered(look)
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
    switches = [one.address for one in pci.devices(look) if one.is_nvswitch]
    look.fact("nvswitches_pci", len(switches), pci.DEVICES, "sysfs", " ".join(switches))
    look.seen.update("gpu", {"pci_ids": sorted({one.device for one in found})})
    passed = [one.address for one in found if one.driver == "vfio-pci"]
    if passed:
        look.fact("gpus_passed_through", len(passed), pci.DEVICES, "sysfs", " ".join(passed))
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
        shown = [address for address in look.names(PROC) if look.exists(f"{pci.DEVICES}/{address}/uevent")]
        look.fact("gpus_in_sysfs", len(shown), pci.DEVICES, "sysfs", " ".join(shown))
    if firmware:
        look.fact("gsp_firmware", ", ".join(sorted(firmware)), f"{PROC}/*/information", "procfs")
    return models


def answered(look: Look) -> tuple[dict[str, Any] | None, str]:
    """Return the answer of NVML (or nvidia-smi in its form) and which of them gave it; asked once for all probes."""
    return look.shared.once("nvml", lambda: _ask(look))


def capability(look: Look) -> tuple[int, int] | None:
    """Return the compute capability of the GPUs, if NVML tells it and all are alike."""
    answer, _method = answered(look)
    told = {
        tuple(gpu["capability"])
        for gpu in (answer or {}).get("gpus", ())
        if isinstance(gpu, dict) and gpu.get("capability")
    }
    found = told.pop() if len(told) == 1 else ()
    return (int(found[0]), int(found[1])) if len(found) == 2 else None


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
    from stackcheck_probes import nvidia_smi  # the XML parser is needed only where NVML did not answer

    try:
        return nvidia_smi.parse(output.out), "nvidia-smi"
    except nvidia_smi.SmiError as error:
        look.note(f"nvidia-smi -q -x: {error}")
        return None, ""


def _has_nvml(look: Look) -> bool:
    places = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
              "/usr/local/nvidia/lib64", "/lib64", *look.host.environ.get("LD_LIBRARY_PATH", "").split(":"))  # fmt: skip
    if any(place.startswith("/") and look.exists(f"{place}/libnvidia-ml.so.1") for place in places):
        return True
    return "libnvidia-ml.so.1" in loader_cache(look)


def _failure(look: Look, answer: dict[str, Any], error: str) -> None:
    status = answer.get("status")
    text = str(answer.get("error") or error.strip()[-200:] or "no answer")
    look.fact("nvml_error", text, "libnvidia-ml.so.1", "nvml")
    if status == NVML_MISMATCH:
        look.fact("driver_library_mismatch", True, "libnvidia-ml.so.1", "nvml", text)


def _report(look: Look, answer: dict[str, Any], method: str) -> None:
    told = numbered(answer["gpus"])
    found = [gpu for gpu in told if "error" not in gpu]
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
    # NVML counts the GPUs that a control group keeps from us, and then refuses them: they are somebody else's, not broken
    failed = [gpu for gpu in told if gpu.get("error") not in (None, NVML_NO_PERMISSION)]
    statuses = ", ".join(f"GPU {gpu['index']}: NVML status {gpu['error']}" for gpu in failed)
    look.fact("gpus_failed", len(failed), method, method, statuses)
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
