"""What a person on call reads: which GPU it is, which versions, when, and a command to paste."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Call

NODES = Path(__file__).parents[1] / "nodes"
FINAL = "--fail-on", "never", "--format", "json"


def findings(call: Call, node: str) -> dict[str, dict[str, Any]]:
    """Return the findings of a broken node by id, those that are folded too."""
    told = call("probe", "--root", str(NODES / node), *FINAL).json["findings"]
    return {f["id"]: f for one in told for f in (one, *one.get("consequences", ()))}


def said(finding: dict[str, Any]) -> str:
    """Return title and evidence as text."""
    return json.dumps([finding["title"], [e["value"] for e in finding["evidence"]]])


@pytest.mark.parametrize(
    ("node", "finding", "words"),
    [
        ("p5.48xlarge+row-remap-pending", "health-ecc-uncorrected", "2 (GPU 3 00000000:86:00.0: 2, the other 7: 0)"),
        ("p5.48xlarge+row-remap-pending", "health-row-remap-pending", "GPU 3 00000000:86:00.0: 1"),
        ("p5.48xlarge+row-remap-pending", "xid-63-row-remap-recorded", "PCI:0000:86:00: 63, Row Remapper: New row marked for remapping (last 8123.220118 s after boot)"),
        ("p5.48xlarge+power-capped", "health-thermal-slowdown", "GPU 2 00000000:75:00.0: hw_slowdown hw_thermal_slowdown"),
        ("p5.48xlarge+power-capped", "health-power-capped", "all 8 GPUs: 500/700 W"),
        ("p6-b200.48xlarge+nvlink-down", "nvlink-links-down", "GPU 5 00000000:a8:00.0: 16 of 18 up"),
        ("p5.48xlarge+driver-reboot-pending", "driver-library-mismatch", "580.126.20"),
        ("p5.48xlarge+driver-reboot-pending", "driver-library-mismatch", "580.159.03"),
    ],
)  # fmt: skip
def test_the_evidence_says_which_one(call: Call, node: str, finding: str, words: str) -> None:
    assert words in said(findings(call, node)[finding])


def test_of_several_xids_a_finding_shows_its_own(call: Call) -> None:
    told = said(findings(call, "p5.48xlarge+row-remap-pending")["xid-94-contained-error"])
    assert "PCI:0000:86:00: 94, Contained: SM (0x1)" in told
    assert ": 63, " not in told


@pytest.mark.parametrize(
    ("node", "finding", "command"),
    [
        ("p5.48xlarge+power-capped", "health-power-capped", "nvidia-smi -pl 700"),
        ("p5.48xlarge+nccl-two-wheels", "nccl-two-wheels",
         "pip uninstall -y nvidia-nccl-cu12 nvidia-nccl-cu13 && pip install --no-deps nvidia-nccl-cu13==2.30.7"),
        ("p5.48xlarge+nccl-two-wheels", "nccl-package-of-other-cuda-major", "pip install --no-deps nvidia-nccl-cu13==2.30.7"),
        ("p5.48xlarge+nccl-overwritten", "libraries-not-of-their-package",
         "pip install --force-reinstall --no-deps nvidia-nccl-cu13==2.30.7"),
        ("p5.48xlarge+nccl-preloaded", "libraries-shadowed", "unset LD_PRELOAD"),
        ("p5.48xlarge+nccl-shadowed", "libraries-shadowed", "unset LD_LIBRARY_PATH"),
        ("p5.48xlarge+fabric-manager-mismatch", "fabric-manager-differs-from-driver",
         "apt-get install --allow-downgrades 'nvidia-fabricmanager-580=580.126.20*'"),
    ],
)  # fmt: skip
def test_the_first_remedy_can_be_pasted(call: Call, node: str, finding: str, command: str) -> None:
    assert findings(call, node)[finding]["remedy"][0]["run"] == command


def test_a_reset_names_the_gpu_and_not_all_of_them(call: Call) -> None:
    text = findings(call, "p5.48xlarge+row-remap-pending")["health-ecc-uncorrected"]["remedy"][0]["text"]
    assert "the GPU named above" in text
    assert "nvidia-smi -i INDEX -r" in text


def test_two_driver_versions_say_what_has_to_stop(call: Call) -> None:
    (remedy,) = findings(call, "p5.48xlarge+driver-reboot-pending")["driver-library-mismatch"]["remedy"]
    assert remedy["text"].startswith("Reboot, which is the sure way")
    for word in ("/dev/nvidia*", "nvidia-persistenced", "nvidia-fabricmanager", "DCGM", "nvidia-imex"):
        assert word in remedy["text"]


def test_the_symptom_stands_in_the_text(call: Call) -> None:
    node = str(NODES / "p5.48xlarge+fabric-manager-mismatch")
    assert "  symptom cudaErrorSystemNotReady (802)\n" in call("probe", "--root", node).out


def test_kills_for_memory_are_worth_knowing_and_no_more(call: Call, tmp_path: Path) -> None:
    written = tmp_path / "node.json"
    node = str(NODES / "p5.48xlarge")
    assert call("probe", "--root", node, "--inventory", "-o", str(written)).code == 0
    body = json.loads(written.read_text())
    body["facts"] |= {
        "oom_kills": 2,
        "oom_killed": ["python3"],
        "limit:memory": "unlimited",
        "mig": "enabled",
    }
    body["evidence"]["fact:oom_kills"] = {"method": "kernel-log", "where": "/dev/kmsg", "raw": "last 11.2 s after boot"}  # fmt: skip
    written.write_text(json.dumps(body))
    *others, last = call("check", str(written), *FINAL).json["findings"]
    assert [last["id"], last["severity"]] == ["oom-kills", "info"]
    assert others
    assert said(last) == json.dumps([last["title"], ["2 (last 11.2 s after boot)", "python3"]])
    assert [(r["set"], r.get("proved")) for r in last["remedy"]] == [({}, None)]
    assert "unlimited" not in json.dumps(last)
