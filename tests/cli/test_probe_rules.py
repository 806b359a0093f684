"""When the rules of matrices/rules/probe-*.json speak, and when they must not: each case is a healthy node with a few facts changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Call

ROOT = Path(__file__).parents[2]
NODES = ROOT / "tests/nodes"
FILES = sorted((ROOT / "matrices/rules").glob("probe-*.json"))
RULES = {rule["id"] for file in FILES for rule in json.loads(file.read_text())["rules"]}
PLUGIN = "/opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so"
MISSING = {"nccl_net_plugin_missing": ["libfabric.so.1"]}
SHARP = {
    "nccl_net_plugin_kind": "sharp",
    "nccl_net_plugin": "/opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so",
}

CASES: list[tuple[str, str, dict[str, Any], dict[str, str], set[str]]] = [
    ("healthy", "p5.48xlarge", {}, {}, set()),
    ("not found", "p5.48xlarge", {"nccl_net_plugin": "none"}, {}, {"net-plugin-not-opened"}),
    ("no EFA wanted", "p5.48xlarge", {"nccl_net_plugin": "none", "efa_devices": 0}, {}, set()),
    ("not known whether EFA is there", "p5.48xlarge", {"nccl_net_plugin": "none", "efa_devices": None}, {}, set()),
    ("no EFA at all", "ib-h100", {"nccl_net_plugin": "none"}, {}, set()),
    ("switched off by a variable, which has its own rule", "p5.48xlarge", {"nccl_net_plugin": "none"}, {"NCCL_NET_PLUGIN": "none"}, set()),
    ("another one asked for, which has its own rule", "p5.48xlarge", {"nccl_net_plugin": "none"}, {"NCCL_NET_PLUGIN": "spcx"}, set()),
    ("asked for by name and not found", "p5.48xlarge", {"nccl_net_plugin": "none"}, {"NCCL_NET_PLUGIN": "ofi"}, {"net-plugin-not-opened"}),
    ("sockets asked for, which has its own rule", "p5.48xlarge", {"nccl_net_plugin": "none"}, {"NCCL_NET": "Socket"}, set()),
    ("cannot be loaded", "p5.48xlarge", MISSING, {}, {"net-plugin-lacks-libraries"}),
    ("cannot be loaded, and no network needs it", "p5.48xlarge", {**MISSING, "efa_devices": 0, "ib_devices": 0}, {}, set()),
    ("InfiniBand's plug-in on InfiniBand", "ib-h100", SHARP, {}, set()),
    ("InfiniBand's plug-in on EFA", "p5.48xlarge", SHARP, {}, {"net-plugin-of-another-fabric"}),
    ("a plug-in nobody knows", "p5.48xlarge", {"nccl_net_plugin_kind": "other"}, {}, set()),
    ("NVML fails", "p5.48xlarge", {"nvml_error": "nvmlInit_v2 returned 999"}, {}, {"nvml-does-not-answer"}),
    ("NVML fails on a machine without GPUs", "p5.48xlarge", {"nvml_error": "nvmlInit_v2 returned 9", "gpu_count_pci": 0}, {}, set()),
    ("two driver versions, which have their own rule", "p5.48xlarge", {"nvml_error": "18", "driver_library_mismatch": True}, {}, set()),
    ("a newer driver on disk", "p5.48xlarge", {"driver_reboot_pending": True, "driver_installed": "580.159.03"}, {}, {"driver-module-newer-on-disk"}),
    ("a dead mount", "p5.48xlarge", {"mounts_silent": ["/fsx"]}, {}, {"mounts-do-not-answer"}),
    ("mounts that answer", "p5.48xlarge", {"mounts_silent": []}, {}, set()),
    ("a replaced library", "p5.48xlarge", {"libraries_not_of_their_package": ["/x/libnccl.so.2: 2.21.5, nvidia-nccl-cu13 2.30.7"]}, {}, {"libraries-not-of-their-package"}),
    ("code for another GPU", "p5.48xlarge", {"gpu_code": ["ext: sm_100a compute_100"]}, {}, {"packages-without-code-for-gpu"}),
    ("PTX alone", "p5.48xlarge", {"gpu_code": ["ext: sm_80 compute_80"]}, {}, {"packages-compiled-at-first-use"}),
    ("code of an older minor", "g6e.48xlarge", {"gpu_code": ["ext: sm_86"]}, {}, set()),
    ("words that are no targets", "p5.48xlarge", {"gpu_code": ["ext: fast", "", "ext"]}, {}, set()),
]  # fmt: skip


@pytest.fixture
def judged(call: Call, tmp_path: Path) -> Any:
    def judge(node: str, facts: dict[str, Any], variables: dict[str, str]) -> set[str]:
        written = tmp_path / "node.json"
        assert call("probe", "--root", str(NODES / node), "--inventory", "-o", str(written)).code == 0
        body = json.loads(written.read_text())
        for name, value in facts.items():
            if value is None:
                body["facts"].pop(name, None)
            else:
                body["facts"][name] = value
        body["environment"].update(variables)
        written.write_text(json.dumps(body))
        found = call("check", str(written), "--format", "json", "--fail-on", "never").json["findings"]
        return {f["id"] for f in found} & RULES

    return judge


@pytest.mark.parametrize(
    ("node", "facts", "variables", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_what_the_rules_say(
    judged: Any, node: str, facts: dict[str, Any], variables: dict[str, str], expected: set[str]
) -> None:
    assert judged(node, facts, variables) == expected


def test_every_rule_speaks_in_some_case_or_test() -> None:
    told = {name for case in CASES for name in case[4]}
    others = (Path(__file__).with_name("test_probe_packages.py")).read_text()
    assert {rule for rule in RULES - told if rule not in others} == set()


def test_a_plugin_that_is_not_there_at_all_is_told_once(call: Call, tmp_path: Path) -> None:
    written = tmp_path / "node.json"
    call("probe", "--root", str(NODES / "p5.48xlarge"), "--inventory", "-o", str(written))
    body = json.loads(written.read_text())
    body["components"]["aws-ofi-nccl"] = []
    body["facts"]["nccl_net_plugin"] = "none"
    written.write_text(json.dumps(body))
    found = [f["id"] for f in call("check", str(written), "--format", "json").json["findings"]]
    assert "plugin-missing-on-efa" in found
    assert "net-plugin-not-opened" not in found
