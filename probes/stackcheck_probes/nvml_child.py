"""Program text run by a child interpreter (``python -I -S -c``): ask NVML about every GPU, print one JSON line.

NVML creates no CUDA context. Each call that fails is left out; a library that does not load or start is told as ``error``.
Prototypes and structures: nvml.h (https://github.com/NVIDIA/go-nvml/blob/main/gen/nvml/nvml.h).
"""

import ctypes
import json
import sys
from typing import Any

UINT, ULONG = ctypes.c_uint, ctypes.c_ulonglong
INVALID_ARGUMENT, NOT_SUPPORTED = 2, 3
MAX_LINKS = 36
NVLINK_SPEED = 164  # NVML_FI_DEV_NVLINK_GET_SPEED; its scope is the link
RECOVERY_ACTION = 230  # NVML_FI_DEV_GET_GPU_RECOVERY_ACTION
UNSIGNED = 1  # NVML_VALUE_TYPE_UNSIGNED_INT


class Pci(ctypes.Structure):
    """nvmlPciInfo_t (version 3)."""

    _fields_ = [
        ("legacy", ctypes.c_char * 16), ("domain", UINT), ("bus", UINT), ("device", UINT),
        ("device_id", UINT), ("subsystem_id", UINT), ("bus_id", ctypes.c_char * 32),
    ]  # fmt: skip


class Fabric(ctypes.Structure):
    """nvmlGpuFabricInfo_v2_t; what lies behind the one byte of ``state`` is padding and may hold anything."""

    _fields_ = [
        ("version", UINT), ("cluster", ctypes.c_uint8 * 16), ("status", UINT), ("clique", ctypes.c_uint32),
        ("state", ctypes.c_uint8), ("health", ctypes.c_uint32),
    ]  # fmt: skip


class ConfidentialComputing(ctypes.Structure):
    """nvmlConfComputeSystemState_t."""

    _fields_ = [("environment", UINT), ("feature", UINT), ("tools", UINT)]


class SramErrors(ctypes.Structure):
    """nvmlEccSramErrorStatus_v1_t: uncorrectable and corrected counts since ever and since start, buckets, the driver's own limit."""

    _fields_ = [("version", UINT), ("counts", ULONG * 11), ("exceeded", UINT)]


class FieldValue(ctypes.Structure):
    """nvmlFieldValue_t; ``value`` is a union of numbers of at most eight bytes."""

    _fields_ = [
        ("field", UINT), ("scope", UINT), ("timestamp", ctypes.c_longlong), ("latency", ctypes.c_longlong),
        ("kind", UINT), ("status", UINT), ("value", ULONG),
    ]  # fmt: skip


class Memory(ctypes.Structure):
    """nvmlMemory_t."""

    _fields_ = [("total", ULONG), ("free", ULONG), ("used", ULONG)]


def call(library: Any, name: str, *arguments: Any) -> Any:
    """Return the status of an NVML function, or None if this NVML has none of that name."""
    try:
        function = getattr(library, name)
    except AttributeError:
        return None
    function.restype = UINT
    return function(*arguments)


def number(library: Any, name: str, *arguments: Any, kind: Any = UINT, count: int = 1) -> Any:
    """Return the out-parameters of a call as a list, or None."""
    values = [kind() for _ in range(count)]
    if call(library, name, *arguments, *[ctypes.byref(value) for value in values]) != 0:
        return None
    return [value.value for value in values]


def text(library: Any, name: str, size: int, *arguments: Any) -> Any:
    """Return the string a call fills in, or None."""
    buffer = ctypes.create_string_buffer(size)
    sized = () if name.endswith("GspFirmwareVersion") else (UINT(size),)
    if call(library, name, *arguments, buffer, *sized) != 0:
        return None
    return buffer.value.decode("utf-8", "replace")


NUMBERS = {
    "persistence": ("nvmlDeviceGetPersistenceMode", 1), "ecc": ("nvmlDeviceGetEccMode", 2),
    "remapped": ("nvmlDeviceGetRemappedRows", 4), "retired_pending": ("nvmlDeviceGetRetiredPagesPendingStatus", 1),
    "power_limit": ("nvmlDeviceGetEnforcedPowerLimit", 1),
    "power_default": ("nvmlDeviceGetPowerManagementDefaultLimit", 1),
    "pcie_gen": ("nvmlDeviceGetCurrPcieLinkGeneration", 1), "pcie_gen_max": ("nvmlDeviceGetMaxPcieLinkGeneration", 1),
    "pcie_width": ("nvmlDeviceGetCurrPcieLinkWidth", 1), "pcie_width_max": ("nvmlDeviceGetMaxPcieLinkWidth", 1),
    "replays": ("nvmlDeviceGetPcieReplayCounter", 1), "mig": ("nvmlDeviceGetMigMode", 2),
    "compute_mode": ("nvmlDeviceGetComputeMode", 1), "virtualization": ("nvmlDeviceGetVirtualizationMode", 1),
    "capability": ("nvmlDeviceGetCudaComputeCapability", 2),
}  # fmt: skip


def links(library: Any, device: Any) -> dict[int, int]:
    """Return the state (1 active, 0 not) of each NVLink of which NVML knows it, by number, until there is no such link."""
    states = {}
    for link in range(MAX_LINKS):
        state = UINT()
        status = call(library, "nvmlDeviceGetNvLinkState", device, UINT(link), ctypes.byref(state))
        if status in (None, INVALID_ARGUMENT, NOT_SUPPORTED):
            break
        if status == 0:
            states[link] = state.value
    return states


def fields(library: Any, device: Any, field: int, scopes: list[int]) -> list[Any]:
    """Return a field of NVML for each scope (such as a link); None where it gives no unsigned number."""
    values = (FieldValue * len(scopes))(*[FieldValue(field=field, scope=scope) for scope in scopes])
    if (
        not scopes
        or call(library, "nvmlDeviceGetFieldValues", device, ctypes.c_int(len(scopes)), values) != 0
    ):
        return []
    return [one.value & 0xFFFFFFFF if one.status == 0 and one.kind == UNSIGNED else None for one in values]


def sram(library: Any, device: Any) -> Any:
    """Return whether the driver says that the uncorrectable errors of the SRAM are above its limit, or None."""
    errors = SramErrors(version=ctypes.sizeof(SramErrors) | 1 << 24)
    if call(library, "nvmlDeviceGetSramEccErrorStatus", device, ctypes.byref(errors)) != 0:
        return None
    return [int(errors.exceeded != 0)]


def fabric(library: Any, device: Any) -> Any:
    """Return registration state, status, clique and health mask of a GPU in its NVLink fabric, or None."""
    info = Fabric(version=0x02000024)
    if call(library, "nvmlDeviceGetGpuFabricInfoV", device, ctypes.byref(info)) != 0:
        return None
    cluster = "".join(f"{byte:02x}" for byte in info.cluster)
    return {
        "state": info.state,
        "status": info.status,
        "clique": info.clique,
        "health": info.health,
        "cluster": cluster,
    }


def gpu(library: Any, device: Any) -> dict[str, Any]:
    """Return everything about one GPU."""
    result: dict[str, Any] = {"name": text(library, "nvmlDeviceGetName", 96, device)}
    info = Pci()
    if call(library, "nvmlDeviceGetPciInfo_v3", device, ctypes.byref(info)) == 0:
        result["bus_id"] = info.bus_id.decode("ascii", "replace").lower()
        result["device_id"] = "%04x" % (info.device_id >> 16)
    for key, (name, count) in NUMBERS.items():
        result[key] = number(library, name, device, count=count)
    for key, counter in (("ecc_volatile", 0), ("ecc_aggregate", 1)):
        result[key] = number(
            library, "nvmlDeviceGetTotalEccErrors", device, UINT(1), UINT(counter), kind=ULONG
        )
    for name in ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"):
        result["reasons"] = result.get("reasons") or number(library, name, device, kind=ULONG)
    for key, kind in (("clock_graphics", 0), ("clock_memory", 2)):
        result[key] = number(library, "nvmlDeviceGetApplicationsClock", device, UINT(kind))
        result[key + "_max"] = number(library, "nvmlDeviceGetMaxClockInfo", device, UINT(kind))
        result[key + "_default"] = number(
            library, "nvmlDeviceGetDefaultApplicationsClock", device, UINT(kind)
        )
    memory = Memory()
    if call(library, "nvmlDeviceGetMemoryInfo", device, ctypes.byref(memory)) == 0:
        result["memory"] = [memory.total >> 20]
    result["gsp"] = text(library, "nvmlDeviceGetGspFirmwareVersion", 80, device)
    result["sram_exceeded"] = sram(library, device)
    result["recovery"] = [one for one in fields(library, device, RECOVERY_ACTION, [0]) if one is not None]
    states = links(library, device)
    result["links"] = list(states.values())
    up = [link for link, state in states.items() if state]
    result["link_speeds"] = [one for one in fields(library, device, NVLINK_SPEED, up) if one]
    result["fabric"] = fabric(library, device)
    return {key: value for key, value in result.items() if value not in (None, [])}


def everything(path: str) -> dict[str, Any]:
    """Return what NVML says about this machine."""
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        return {"error": str(error)}
    status = call(library, "nvmlInit_v2")
    if status != 0:
        return {"error": f"nvmlInit_v2 returned {status}", "status": status}
    result: dict[str, Any] = {"driver": text(library, "nvmlSystemGetDriverVersion", 80), "gpus": []}
    result["nvml"] = text(library, "nvmlSystemGetNVMLVersion", 80)
    result["cuda"] = number(library, "nvmlSystemGetCudaDriverVersion_v2", kind=ctypes.c_int)
    state = ConfidentialComputing()
    if call(library, "nvmlSystemGetConfComputeState", ctypes.byref(state)) == 0:
        result["confidential_computing"] = state.feature
    count = number(library, "nvmlDeviceGetCount_v2")
    for index in range(count[0] if count else 0):
        device = ctypes.c_void_p()
        status = call(library, "nvmlDeviceGetHandleByIndex_v2", UINT(index), ctypes.byref(device))
        result["gpus"].append(gpu(library, device) if status == 0 else {"error": status})
    call(library, "nvmlShutdown")
    return result


if __name__ == "__main__":
    print(json.dumps(everything(sys.argv[1] if len(sys.argv) > 1 else "libnvidia-ml.so.1")))  # noqa: T201  a program
