"""The table `nvidia-smi` prints, its one-line header on its own, and `nvidia-smi -L`.

"CUDA Version" of the header is the newest CUDA the driver speaks: the fact `driver_cuda`, never the component `cuda`.
"""

from __future__ import annotations

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.gpu_lines import listed
from stackcheck.ingest.formats.gpu_properties import put
from stackcheck.ingest.interface import Line, SourceText
from stackcheck.ingest.patterns import Lazy

_DRIVER = Lazy(r"\b(?:Driver|KMD) Version {0,40}: {0,4}(\d{3,4}(?:\.\d{1,4}){1,3})")
_CUDA = Lazy(r"\bCUDA(?: UMD)? Version {0,40}: {0,4}(\d{1,2}\.\d{1,2})")
_SMI = Lazy(r"\bNVIDIA-SMI (\d{3,4}(?:\.\d{1,4}){1,3})")
_ROW = Lazy(
    r"\| {1,6}(?P<index>\d{1,3}) {1,4}(?P<model>[A-Za-z].{1,48}?) {1,30}(?P<persistence>On|Off|N/A) {0,4}\|"
)
_MEMORY = Lazy(r"(\d{1,8})MiB ?/ ?(\d{1,8})MiB")
_POWER = Lazy(r"(?:(\d{1,5})W|N/A) ?/ ?(\d{1,5})W")
_MIG = Lazy(r"\| {1,40}(Enabled|Disabled)\*? ?\|\s*\Z")
_ECC = Lazy(r"\| {1,40}(\d{1,9}|Off|N/A) ?\|\s*\Z")
_PLAIN = Lazy(r"GPU [\d .,-]{1,40}: [\w /().-]{1,80}(?:UUID: |\Z)")  # nothing behind the model but its UUID
_NVML = Lazy(r"NVML library version: (\d{3,4}(?:\.\d{1,4}){1,3})")


def sniff(text: str) -> float:
    """Look for the header, or for a list of GPUs with UUIDs."""
    if "NVIDIA-SMI" in text or "NVML library version" in text:
        return 1.0
    return (
        0.7
        if "Driver Version" in text
        or "KMD Version" in text
        or "GPU 0: " in text
        or "(UUID: " in text
        or "MIG " in text
        else 0.0
    )


def read(draft: Draft) -> None:
    """Record driver, its newest CUDA, GPUs, and the state the table shows."""
    rows: dict[int, Line] = {}
    named: dict[int, Line] = {}
    border = False
    for line in draft.source.open():
        text = line.text
        if "ersion" in text:
            _header(draft, line)
        if text.lstrip()[:1] in ("|", "+"):
            border = border or text.lstrip().startswith("+-")
            _table(draft, line, rows)
        elif "GPU " in text and _PLAIN.search(text) and (gpus := listed(text)):
            draft.gpu(gpus.model, line, gpus.number)
            named.update((i, line) for i in gpus.indices)
            if gpus.capability:
                draft.first_fact("compute_capability", gpus.capability, line)
        elif "MIG " in text and "Device" in text and "UUID: MIG-" in text:
            put(draft, "mig", "enabled", line)
    if rows and border:
        draft.gpu(None, rows[min(rows)], len(rows))
    if named and _whole_list(draft.source):
        draft.gpu(None, named[min(named)], len(named))


def _whole_list(source: SourceText) -> bool:
    """Whether the list is `nvidia-smi -L` itself, not what a filter left of it."""
    return source.command.split("2>")[0].split() == ["nvidia-smi", "-L"]


def _header(draft: Draft, line: Line) -> None:
    text = line.text
    driver, cuda, smi = _DRIVER.search(text), _CUDA.search(text), _SMI.search(text)
    if driver:
        draft.component("driver", driver[1], line, loaded=True)
        if smi and smi[1] != driver[1]:
            draft.fact("nvidia_smi_version", smi[1], line)
    if cuda and (driver or smi or "CUDA Version " in text):
        draft.fact("driver_cuda", cuda[1], line)
    if nvml := _NVML.search(text):
        draft.component("driver", nvml[1], line, attributes={"part": "user-space"})


def _table(draft: Draft, line: Line, rows: dict[int, Line]) -> None:
    text = line.text
    draft.source.claim(line.number)
    if row := _ROW.match(text.strip()):
        rows[int(row["index"])] = line
        draft.gpu(row["model"], line)
        put(draft, "persistence", row["persistence"], line)
        if ecc := _ECC.search(text):
            put(draft, "ecc", "on" if ecc[1].isdigit() else ecc[1], line)
            if ecc[1].isdigit():
                put(draft, "ecc_uncorrected", ecc[1], line)
    elif (memory := _MEMORY.search(text)) and (power := _POWER.search(text)):
        draft.first_fact("gpu_memory_mib", int(memory[2]), line)
        draft.first_fact("power_limit_w", int(power[2]), line)
    elif mig := _MIG.search(text):
        put(draft, "mig", mig[1], line)
