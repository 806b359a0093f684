"""Situations in which healthy nodes are met, and what they show then: none of it may turn a node red.

Each is an overlay on a node of `tests/nodes`. The forms are those of real systems: the slices of the EKS AMI, the marks of enroot, a driver
in a container of the GPU operator, IMEX that comes with the job (Kubernetes, switch/nvidia_imex), MIG, two mlx5 ports on p6-b200.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Call

NODES = Path(__file__).parents[1] / "nodes"
CGROUPS, UNITS = "/sys/fs/cgroup", "/usr/lib/systemd/system"
DPKG = "/var/lib/dpkg/status"
CHANNELS = "/dev/nvidia-caps-imex-channels"
POD = {"/run/secrets/kubernetes.io/serviceaccount/token": "", "/proc/self/cgroup": "0::/\n"}
POD_ABSENT = ["/run/systemd/system", f"{CGROUPS}/system.slice", DPKG, "/dev/infiniband", "/dev/gdrdrv"]
KUBELET = {f"{CGROUPS}/runtime.slice/kubelet.service/cgroup.procs": "2001\n", f"{UNITS}/kubelet.service": "[Service]\nSlice=runtime.slice\n"}  # fmt: skip
ENROOT = {
    "/.lock": "",
    "/etc/rc": "# enroot-provenance: docker://example\n",
    "/etc/rc.local": "",
    "/proc/version": "Linux\n",
}


def nvml(base: str, **values: Any) -> str:
    """Return NVML's answer of a node with the same change on every GPU; a value None takes the key away."""
    whole = json.loads((NODES / base / "cmd" / "nvml").read_text())
    for gpu in whole["gpus"]:
        gpu.update(values)
        for key in [key for key, value in gpu.items() if value is None]:
            del gpu[key]
    return json.dumps(whole)


def devices(count: int) -> dict[str, str]:
    """Return the device nodes a plug-in gives a pod."""
    return {f"/dev/infiniband/uverbs{index}": "" for index in range(count)}


P5, B200, GB200, NGC = "p5.48xlarge", "p6-b200.48xlarge", "p6e-gb200.36xlarge", "ngc-pytorch-25.10"
HEALTHY: dict[str, tuple[str, dict[str, str], list[str], list[str]]] = {
    # name: base, files, absent, warnings that are right
    "eks-clocks-set-to-the-maximum": (P5, {"/cmd/nvml": nvml(P5, reasons=[2])}, [], []),
    "mig": (P5, {"/cmd/nvml": nvml(P5, mig=[1, 1], links=[0] * 18, remapped=None, fabric=None)}, [], []),
    "driver-in-a-container": (B200, {DPKG: "Package: libc6\nStatus: install ok installed\nVersion: 2.35\n", "/run/nvidia/driver/usr/bin/x": "", **KUBELET},
                              ["/cmd/nvml", *(f"{CGROUPS}/system.slice/nvidia-{n}.service" for n in ("fabricmanager", "persistenced"))], []),
    "pod-with-all-cards": (B200, {**POD, **devices(8)}, POD_ABSENT, ["gdrcopy-without-device"]),
    "pod-with-one-gpu": (P5, {**POD, "/cmd/nvml": json.dumps({**json.loads(nvml(P5)), "gpus": json.loads(nvml(P5))["gpus"][:1]})},
                         POD_ABSENT, ["gdrcopy-without-device"]),
    "pod-without-imex": (GB200, {**POD, **devices(4)}, [*POD_ABSENT, CHANNELS, "/cmd/nvidia-imex-ctl"],
                         ["imex-channels-missing-in-pod", "gdrcopy-without-device"]),
    "tray-under-kubernetes": (GB200, KUBELET, [CHANNELS, "/cmd/nvidia-imex-ctl", f"{CGROUPS}/system.slice/nvidia-imex.service"], []),
    "tray-under-slurm": (GB200, {"/run/slurm/conf/slurm.conf": "SwitchType=switch/nvidia_imex\n"}, [CHANNELS, "/cmd/nvidia-imex-ctl"], []),
    "tray-beside-one-that-is-down": (GB200, {"/cmd/nvidia-imex-ctl": "Domain State: DEGRADED\n"}, [], ["imex-domain-degraded"]),
    "enroot-without-fabric-state": (NGC, {**ENROOT, DPKG: "Package: libc6\nStatus: install ok installed\nVersion: 2.39\n",
                                          "/cmd/nvml": nvml(NGC, fabric=None)}, ["/.dockerenv"], []),
    "container-without-gpus": (NGC, {"/cmd/nvml": '{"error": "nvmlInit_v2 returned 9", "status": 9}'},
                               ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/gdrdrv", *(f"/dev/nvidia{i}" for i in range(8))], []),
    "link-events-that-are-not-fatal": (GB200, {"/cmd/kernel-log": (
        "[ 9.1] NVRM: Xid (PCI:0018:01:00): 145, pid=7, name=python3, RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (0x040988e2 0x00000008)\n")},
        [], ["xid-144-nvlink5-nonfatal"]),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(HEALTHY))
def test_a_healthy_node_stays_green(call: Call, tmp_path: Path, name: str) -> None:
    base, files, absent, right = HEALTHY[name]
    marker = {"base": str(NODES / base), "files": files, "absent": absent}
    (tmp_path / "overlay.json").write_text(json.dumps(marker))
    findings = call("probe", "--root", str(tmp_path), "--format", "json").json["findings"]
    assert [f["id"] for f in findings if f["severity"] == "error"] == []
    assert sorted(f["id"] for f in findings if f["severity"] == "warning") == sorted(right)


BROKEN: dict[str, tuple[str, dict[str, str], list[str], str]] = {
    "gpu-that-waits-for-a-reset": (P5, {"/cmd/nvml": nvml(P5, recovery=[1])}, [], "health-recovery-action"),
    "link-event-that-is-fatal": (GB200, {"/cmd/kernel-log": "[9.1] NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6)\n"},
                                 [], "xid-144-nvlink5"),
    "imex-domain-down": (GB200, {"/cmd/nvidia-imex-ctl": "Domain State: DOWN\n"}, [], "imex-domain-down"),
    "pod-with-the-hosts-infiniband": (B200, {**POD, **devices(10)}, POD_ABSENT[:-2], "nvlink-controllers-in-container"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_a_broken_node_is_named(call: Call, tmp_path: Path, name: str) -> None:
    base, files, absent, wanted = BROKEN[name]
    marker = {"base": str(NODES / base), "files": files, "absent": absent}
    (tmp_path / "overlay.json").write_text(json.dumps(marker))
    findings = call("probe", "--root", str(tmp_path), "--format", "json").json["findings"]
    assert wanted in [f["id"] for f in findings if f["severity"] in ("error", "warning")]
