"""NVML is asked in a child process: the answers of a library with nvml.h's structures come back, a hang or crash does not."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from stackcheck_probes import collect, commands, nvidia_smi
from stackcheck_probes.gpu_summary import fabric_health, numbered, summary
from stackcheck_probes.interface import RefusedError
from tests.nodes.healthy import smi_xml

# Prototypes and structures as in nvml.h; the values are those of a B200 with one link down.
SOURCE = r"""
#include <string.h>
#include <stdio.h>
typedef struct { char legacy[16]; unsigned domain, bus, device, pciDeviceId, pciSubSystemId; char busId[32]; } nvmlPciInfo_t;
typedef struct { unsigned version; unsigned char clusterUuid[16]; unsigned status; unsigned cliqueId; unsigned char state; unsigned healthMask; } fabric_t;
typedef struct { unsigned environment, ccFeature, devToolsMode; } conf_t;
typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned version; unsigned long long counts[11]; unsigned bThresholdExceeded; } sram_t;
typedef struct { unsigned fieldId, scopeId; long long timestamp, latencyUsec; unsigned valueType, nvmlReturn;
  union { double d; unsigned u; unsigned long long l; } value; } field_t;
typedef struct device *nvmlDevice_t;
int nvmlInit_v2(void) { INIT }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char *v, unsigned n) { snprintf(v, n, "580.126.20"); return 0; }
int nvmlSystemGetNVMLVersion(char *v, unsigned n) { snprintf(v, n, "13.580.126.20"); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *v) { *v = 13000; return 0; }
int nvmlSystemGetConfComputeState(conf_t *c) { c->ccFeature = 1; return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, nvmlDevice_t *d) { if (i == 1) return 15; *d = (nvmlDevice_t)0x1234; return 0; }
int nvmlDeviceGetName(nvmlDevice_t d, char *v, unsigned n) { if (d != (nvmlDevice_t)0x1234) return 2; snprintf(v, n, "NVIDIA B200"); return 0; }
int nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *p) { p->pciDeviceId = 0x290110DE; strcpy(p->busId, "00000000:9A:00.0"); return 0; }
int nvmlDeviceGetPersistenceMode(nvmlDevice_t d, unsigned *v) { *v = 1; return 0; }
int nvmlDeviceGetEccMode(nvmlDevice_t d, unsigned *c, unsigned *p) { *c = 1; *p = 0; return 0; }
int nvmlDeviceGetRemappedRows(nvmlDevice_t d, unsigned *c, unsigned *u, unsigned *p, unsigned *f) { *c = 1; *u = 2; *p = 1; *f = 0; return 0; }
int nvmlDeviceGetTotalEccErrors(nvmlDevice_t d, unsigned t, unsigned k, unsigned long long *v) { if (t != 1) return 2; *v = k ? 7 : 3; return 0; }
int nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t d, unsigned long long *v) { *v = 0x48; return 0; }
int nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t d, unsigned *v) { *v = 800000; return 0; }
int nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t d, unsigned *v) { *v = 1000000; return 0; }
int nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t d, unsigned *v) { *v = 3; return 0; }
int nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t d, unsigned *v) { *v = 5; return 0; }
int nvmlDeviceGetCudaComputeCapability(nvmlDevice_t d, int *a, int *b) { *a = 10; *b = 0; return 0; }
int nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned *a, unsigned *b) { *a = 0; *b = 1; return 0; }
int nvmlDeviceGetMemoryInfo(nvmlDevice_t d, memory_t *m) { m->total = 192265846784ull; return 0; }
int nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t d, char *v) { strcpy(v, "580.126.20"); return 0; }
int nvmlDeviceGetNvLinkState(nvmlDevice_t d, unsigned l, unsigned *s) { if (l >= 18) return 2; if (l == 9) return 999; *s = l != 4; return 0; }
int nvmlDeviceGetApplicationsClock(nvmlDevice_t d, unsigned k, unsigned *v) { *v = k ? 3996 : 1500; return 0; }
int nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t d, unsigned k, unsigned *v) { *v = k ? 3996 : 1965; return 0; }
int nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t d, sram_t *s) {
  if (s->version != (sizeof(sram_t) | 1u << 24)) return 25;
  s->counts[0] = 9; s->bThresholdExceeded = 1; return 0; }
int nvmlDeviceGetFieldValues(nvmlDevice_t d, int n, field_t *v) {
  for (int i = 0; i < n; i++) {
    v[i].valueType = 1; v[i].nvmlReturn = 0; v[i].value.l = ~0ull;
    if (v[i].fieldId == 230) v[i].value.u = 4;
    else if (v[i].fieldId != 164 || v[i].scopeId == 7) v[i].nvmlReturn = 3;
    else if (v[i].scopeId == 8) { v[i].valueType = 0; v[i].value.d = 1.0; }
    else v[i].value.u = v[i].scopeId == 2 ? 26562 : 53125;
  }
  return 0; }
int nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t d, fabric_t *f) {
  if (f->version != 0x02000024) return 25;
  memset(&f->state, 0xee, 4); /* a structure that is copied whole brings what lay in its padding */
  f->clusterUuid[0] = 0xab; f->status = 0; f->cliqueId = 32; f->state = 3; f->healthMask = 0x101; return 0; }
"""


def library(folder: Path, init: str = "return 0;") -> None:
    """Compile a libnvidia-ml.so.1."""
    source = folder / "nvml.c"
    source.write_text(SOURCE.replace("INIT", init))
    target = folder / "libnvidia-ml.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-o", str(target), str(source)], check=True)


def ask(folder: Path, timeout: float = 10.0) -> dict[str, Any]:
    """Return the child's answer."""
    output = commands.run("nvml", {"LD_LIBRARY_PATH": str(folder)}, timeout)
    loaded: dict[str, Any] = json.loads(output.out)
    return loaded


def test_every_answer_comes_back(tmp_path: Path) -> None:
    library(tmp_path)
    answer = ask(tmp_path)
    assert (answer["driver"], answer["cuda"], answer["confidential_computing"]) == ("580.126.20", [13000], 1)
    gpu, lost = answer["gpus"]
    assert lost == {"error": 15}
    assert gpu == {
        "name": "NVIDIA B200", "bus_id": "00000000:9a:00.0", "device_id": "2901", "persistence": [1], "ecc": [1, 0],
        "remapped": [1, 2, 1, 0], "ecc_volatile": [3], "ecc_aggregate": [7], "reasons": [72], "power_limit": [800000],
        "power_default": [1000000], "pcie_gen": [3], "pcie_gen_max": [5], "capability": [10, 0], "mig": [0, 1], "memory": [183359],
        "gsp": "580.126.20", "links": [1, 1, 1, 1, 0, *[1] * 12], "link_speeds": [53125, 53125, 26562, *[53125] * 11],
        "clock_graphics": [1500], "clock_graphics_default": [1965], "clock_memory": [3996], "clock_memory_default": [3996],
        "sram_exceeded": [1], "recovery": [4],
        "fabric": {"state": 3, "status": 0, "clique": 32, "health": 0x101, "cluster": "ab" + "00" * 15},
    }  # fmt: skip


def test_summary_takes_the_worst(tmp_path: Path) -> None:
    library(tmp_path)
    facts = {name: value for name, value, _raw in summary([ask(tmp_path)["gpus"][0]])}
    assert facts["ecc_change_pending"] is True
    assert facts["clocks_event_reasons"] == ["hw_slowdown", "hw_thermal_slowdown"]
    assert (facts["power_capped"], facts["power_limit_w"]) == (1, 800)
    assert (facts["nvlink_active"], facts["nvlink_inactive"]) == (16, 1), (
        "link 9, of which NVML knows nothing, is not down"
    )
    assert (facts["nvlink_mbs"], facts["nvlink_mbs_max"], facts["nvlink_partitions"]) == (26562, 53125, 1)
    assert (facts["clocks_lowered"], facts["ecc_sram_threshold_exceeded"]) == (1, 1)
    assert facts["gpu_recovery_action"] == "Drain and Reset"
    assert (facts["pcie_gen_current"], facts["pcie_gen_max"]) == (3, 5)
    assert facts["fabric_state"] == "completed"
    assert facts["fabric_health"] == ["degraded bandwidth"]
    assert facts["nvlink_clique_ids"] == [32]
    assert facts["gpu_recovery_action"] == "Drain and Reset"
    assert "pcie_width_current" not in facts, "what NVML does not say stays unknown"


@pytest.mark.parametrize(("number", "action"), [(0, None), (1, "Reset"), (2, "Reboot"), (77, None)])
def test_recovery_actions(number: int, action: str | None) -> None:
    facts = {name: value for name, value, _raw in summary([{"recovery": [0]}, {"recovery": [number]}])}
    assert facts.get("gpu_recovery_action") == action


def test_a_gpu_of_somebody_else_has_not_failed(tmp_path: Path) -> None:
    """NVML counts GPUs that the device control group of a job keeps away, and says NO_PERMISSION (4) for them."""
    (tmp_path / "cmd").mkdir()
    gpus = [{"name": "NVIDIA H100 80GB HBM3", "ecc": [1, 1]}, {"error": 4}, {"error": 15}]
    (tmp_path / "cmd" / "nvml").write_text(json.dumps({"driver": "580.126.20", "gpus": gpus}))
    facts = collect(str(tmp_path), only=["gpus"])["facts"]
    assert (facts["gpu_count_nvml"], facts["gpus_failed"]) == (1, 1)


def test_links_of_a_gpu_cut_into_instances_are_not_down() -> None:
    gpus = [{"links": [0] * 18, "mig": [1, 1]}, {"links": [1] * 18, "mig": [0, 0]}]
    facts = {name: value for name, value, _raw in summary(gpus)}
    assert (facts["nvlink_active"], facts["nvlink_inactive"], facts["mig"]) == (18, 0, "enabled")


def test_fabric_health_mask() -> None:
    assert fabric_health([0b10]) == []
    assert fabric_health([0xAA]) == [], "a tray of an NVL72: everything is supported, and false"
    assert fabric_health([0b01, 0b01 << 4]) == ["degraded bandwidth", "route unhealthy"]
    assert fabric_health([5 << 8]) == ["incorrect configuration"]
    assert fabric_health([1 << 8]) == []


def test_a_mismatch_is_told_by_its_status(tmp_path: Path) -> None:
    library(tmp_path, "return 18;")
    assert ask(tmp_path) == {"error": "nvmlInit_v2 returned 18", "status": 18}


def test_no_library_is_an_answer(tmp_path: Path) -> None:
    assert "libnvidia-ml.so.1" in ask(tmp_path)["error"]


def test_a_library_that_hangs_costs_its_time(tmp_path: Path) -> None:
    library(tmp_path, "for (;;) ; return 0;")
    start = time.monotonic()
    with pytest.raises(RefusedError, match="did not answer"):
        ask(tmp_path, 0.7)
    assert time.monotonic() - start < 2.5


def test_a_library_that_crashes_does_not_reach_us(tmp_path: Path) -> None:
    library(tmp_path, "*(volatile int *)0 = 1; return 0;")
    output = commands.run("nvml", {"LD_LIBRARY_PATH": str(tmp_path)}, 10.0)
    assert output.rc < 0
    assert output.out == ""


def test_nvidia_smi_says_the_same() -> None:
    answer = nvidia_smi.parse(smi_xml("550.163.01", "12.4", 2))
    facts = {name: value for name, value, _raw in summary(answer["gpus"])}
    assert answer["cuda"] == [12040]
    assert answer["gpus"][0]["device_id"] == "2330"
    assert (facts["persistence"], facts["mig"], facts["ecc"]) == ("enabled", "disabled", "enabled")
    assert (facts["power_limit_w"], facts["power_capped"], facts["gpu_memory_mib"]) == (700, 0, 81559)
    assert (facts["fabric_state"], facts["clocks_event_reasons"]) == ("completed", ["gpu_idle"])
    assert (facts["remapped_rows_pending"], facts["ecc_uncorrected"], facts["compute_mode"]) == (
        0,
        0,
        "default",
    )


@pytest.mark.parametrize(("word", "number"), [("None", 0), ("Pass-Through", 1), ("VGPU", 2), ("N/A", None)])
def test_nvidia_smi_tells_how_a_guest_got_the_gpu(word: str, number: int | None) -> None:
    gpu = f"<gpu><gpu_virtualization_mode><virtualization_mode>{word}</virtualization_mode></gpu_virtualization_mode></gpu>"
    found = nvidia_smi.parse(f"<nvidia_smi_log>{gpu}</nvidia_smi_log>")["gpus"][0]
    assert found.get("virtualization") == ([number] if number is not None else None)


def test_nvidia_smi_with_other_words() -> None:
    text = smi_xml("550.163.01", "12.4", 1).replace("<remapped_row_pending>No", "<remapped_row_pending>Yes")
    text = text.replace("clocks_event_reason", "clocks_throttle_reason").replace(
        "700.00 W</current", "N/A</current"
    )
    text = text.replace("reason_hw_slowdown>Not Active", "reason_hw_slowdown>Active")
    facts = {name: value for name, value, _raw in summary(nvidia_smi.parse(text)["gpus"])}
    assert facts["remapped_rows_pending"] == 1
    assert facts["clocks_event_reasons"] == ["gpu_idle", "hw_slowdown"]
    assert "power_capped" not in facts


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Failed to initialize NVML",
        "<a/>",
        "<nvidia_smi_log>",
        '<!DOCTYPE x [<!ENTITY a "b">]><nvidia_smi_log>&a;</nvidia_smi_log>',
    ],
)
def test_what_is_no_nvidia_smi_xml_is_refused(text: str) -> None:
    with pytest.raises(nvidia_smi.SmiError):
        nvidia_smi.parse(text)


def test_each_fact_names_the_gpus_it_is_about() -> None:
    gpus = numbered(
        [
            {
                "bus_id": f"00000000:{bus}:00.0", "ecc_volatile": [errors], "persistence": [0], "pcie_width": [width],
                "power_limit": [limit], "power_default": [700000], "reasons": [mask], "links": [1] * up + [0] * (18 - up),
                "recovery": [action],
            }
            for bus, errors, width, limit, mask, up, action in [
                ("53", 0, 16, 700000, 1, 18, 0), ("64", 2, 8, 500000, 0x48, 16, 1), ("75", 0, 16, 700000, 4, 18, 0),
            ]
        ]
    )  # fmt: skip
    raw = {name: text for name, _value, text in summary(gpus)}
    one = "GPU 1 00000000:64:00.0"
    assert raw["ecc_uncorrected"] == f"{one}: 2, the other 2: 0"
    assert raw["persistence"] == "all 3 GPUs"
    assert raw["pcie_width_current"] == f"{one}: 8, the other 2: 16"
    assert raw["power_capped"] == f"{one}: 500/700 W, the other 2: 700/700 W"
    assert raw["nvlink_inactive"] == f"{one}: 16 of 18 up, the other 2: 18 of 18 up"
    assert raw["gpu_recovery_action"] == f"{one}: Reset, the other 2: None"
    assert raw["clocks_event_reasons"].startswith(f"{one}: hw_slowdown hw_thermal_slowdown, ")


def test_a_gpu_keeps_its_number_where_an_earlier_one_does_not_answer() -> None:
    answers = [{"error": 15}, {"bus_id": "00000000:64:00.0", "retired_pending": [1]}]
    found = [gpu for gpu in numbered(answers) if "error" not in gpu]
    assert ("retired_pages_pending", 1, "GPU 1 00000000:64:00.0") in summary(found)


def test_of_many_gpus_that_are_wrong_in_their_own_way_some_are_named() -> None:
    gpus = numbered([{"replays": [number]} for number in range(16)])
    raw = {name: text for name, _value, text in summary(gpus)}["pcie_replays"]
    assert raw.startswith("GPU 1: 1, GPU 2: 2, ")
    assert raw.endswith("GPU 8: 8, 7 more, the other 1: 0")
