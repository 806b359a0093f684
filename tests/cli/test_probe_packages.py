"""Which packages count, what they say of themselves, and code for GPUs that no driver named."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Call

NODES = Path(__file__).parents[1] / "nodes"
SITE = "/opt/pytorch/lib/python3.12/site-packages"


def overlay(folder: Path, base: str, **changes: Any) -> str:
    """Lay changes over a node; return the root."""
    folder.mkdir()
    (folder / "overlay.json").write_text(
        json.dumps({"base": os.path.relpath(NODES / base, folder), **changes})
    )
    return str(folder)


def wheel(site: str, name: str, version: str) -> dict[str, str]:
    """Return the files of an installed wheel."""
    return {f"{site}/{name}-{version}.dist-info/METADATA": f"Name: {name}\nVersion: {version}\n"}


def report(call: Call, root: str, *more: str) -> dict[str, Any]:
    loaded: dict[str, Any] = call("probe", "--root", root, "--format", "json", *more).json
    return loaded


def found(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {f["id"]: f for f in body["findings"]}


def versions(body: dict[str, Any], component: str) -> list[str]:
    return [one["version"] for one in body["inventory"]["components"].get(component, ())]


def test_only_the_active_environment_counts_and_the_others_are_told(call: Call, tmp_path: Path) -> None:
    other = "/opt/old/lib/python3.10/site-packages"
    root = overlay(tmp_path / "node", "p5.48xlarge", files={
        "/opt/old/pyvenv.cfg": "version = 3.10.12\n",
        **wheel(other, "torch", "1.13.1+cu117"), **wheel(other, "vllm", "0.2.0"), **wheel(other, "flash_attn", "0.2.8"),
    })  # fmt: skip
    body = report(call, root)
    assert versions(body, "torch") == ["2.14.1+cu130"]
    assert versions(body, "vllm") == versions(body, "flash-attn") == []
    told = found(body)["other-environments-not-judged"]
    assert told["severity"] == "info"
    assert told["title"].endswith("/opt/old (torch 1.13.1+cu117, vllm 0.2.0)")
    assert body["summary"]["error"] == body["summary"]["warning"] == 0


def test_the_environment_of_the_job_is_the_one_that_counts(call: Call, tmp_path: Path) -> None:
    other = "/opt/old/lib/python3.10/site-packages"
    root = overlay(
        tmp_path / "node",
        "p5.48xlarge",
        files={"/opt/old/pyvenv.cfg": "version = 3.10.12\n", **wheel(other, "torch", "1.13.1+cu117")},
    )
    (tmp_path / "job.env").write_text("VIRTUAL_ENV=/opt/old\nPATH=/opt/old/bin:/usr/bin\n")
    body = report(call, root, "--env-file", str(tmp_path / "job.env"), "--fail-on", "never")
    assert versions(body, "torch") == ["1.13.1+cu117"]
    assert "/opt/pytorch (torch 2.14.1+cu130)" in found(body)["other-environments-not-judged"]["title"]


def test_a_package_that_another_hides_does_not_count(call: Call, tmp_path: Path) -> None:
    root = overlay(tmp_path / "node", "p5.48xlarge", files=wheel("/shared/site", "transformers", "4.30.0"))
    (tmp_path / "job.env").write_text(
        "VIRTUAL_ENV=/opt/pytorch\nPATH=/opt/pytorch/bin:/usr/bin\nPYTHONPATH=/shared/site\n"
    )
    body = report(call, root, "--env-file", str(tmp_path / "job.env"))
    assert versions(body, "transformers") == ["4.30.0"], "PYTHONPATH comes first"


def test_what_a_library_says_of_itself_wins_over_its_release(call: Call, tmp_path: Path) -> None:
    """The release has code for every GPU; this build of it, by its own libraries, has none for Blackwell."""
    written = tmp_path / "node.json"
    call("probe", "--root", str(NODES / "p6-b200.48xlarge"), "--inventory", "-o", str(written))
    body = json.loads(written.read_text())
    (torch,) = [p for p in body["packages"] if p["name"] == "torch" and p["active"]]
    assert "sm_100" in torch["attributes"]["targets"]
    torch["attributes"]["targets"] = ["sm_80", "sm_90"]
    written.write_text(json.dumps(body))
    judged = call("check", str(written), "--format", "json").json
    errors = [f for f in judged["findings"] if f["severity"] == "error"]
    assert errors
    assert errors[0]["subjects"][0] == "torch"
    assert errors[0]["kind"] == "arch-not-compiled"


@pytest.fixture
def driverless(tmp_path: Path) -> str:
    """A machine of which nobody says the type, with B200s on the bus, no driver, and a package for Hopper only."""
    return overlay(
        tmp_path / "bare",
        "p6-b200.48xlarge+no-code-for-gpu",
        absent=["/cmd", "/proc/driver", "/sys/module/nvidia", "/sys/class/dmi", "/sys/devices/virtual/dmi"],
    )


def test_gpus_are_known_by_their_pci_ids_where_no_driver_names_them(call: Call, driverless: str) -> None:
    body = report(call, driverless, "--fail-on", "never")
    assert body["inventory"]["gpu"] == {"model": "NVIDIA B200", "count": 8}
    assert body["inventory"]["evidence"]["gpu"]["raw"] == "PCI device 2901"
    missing = found(body)["packages-without-code-for-gpu"]
    assert missing["title"] == "packages have no code for this GPU: my_kernels (sm_80, sm_90)"
    assert any(e["subject"] == "gpu" and e["where"] == "/sys/bus/pci/devices" for e in missing["evidence"])


def test_the_code_is_judged_wherever_the_inventory_is_read(
    call: Call, driverless: str, tmp_path: Path
) -> None:
    written = tmp_path / "node.json"
    call("probe", "--root", driverless, "--inventory", "-o", str(written))
    assert "code_missing" not in json.loads(written.read_text())["facts"], "the probe alone cannot know"
    there = call("check", str(written), "--format", "json", "--fail-on", "never").json
    assert "packages-without-code-for-gpu" in found(there)
    (tmp_path / "again.json").write_text(json.dumps(there["inventory"]))
    again = call("check", str(tmp_path / "again.json"), "--format", "json", "--fail-on", "never").json
    assert "packages-without-code-for-gpu" in found(again), "the inventory of a report says it too"


@pytest.mark.parametrize(
    ("gpu", "verdict"),
    [
        ("h100", None),
        ("l40s", None),
        ("a100", None),
        ("b200", "packages-without-code-for-gpu"),
        ("b300", "packages-without-code-for-gpu"),
    ],
)
def test_an_image_is_judged_for_the_gpu_it_shall_run_on(
    call: Call, tmp_path: Path, gpu: str, verdict: str | None
) -> None:
    """sm_80 code runs on an L40S (8.9), sm_90 code on nothing but Hopper."""
    root = overlay(
        tmp_path / "image", "p6-b200.48xlarge+no-code-for-gpu", absent=["/cmd", "/proc", "/sys", "/dev"]
    )
    ids = {
        i for i in found(report(call, root, "--gpu", gpu, "--fail-on", "never")) if i.startswith("packages-")
    }
    assert ids == ({verdict} if verdict else set())


def test_a_gpu_nobody_knows_is_wrong_usage(call: Call) -> None:
    outcome = call("probe", "--root", str(NODES / "p5.48xlarge"), "--gpu", "b2000")
    assert outcome.code == 2
    assert "b2000" in outcome.message


def test_packages_with_a_rule_of_their_own_are_left_to_it(call: Call, tmp_path: Path) -> None:
    """One sentence about torch without code, not two."""
    written = tmp_path / "node.json"
    call("probe", "--root", str(NODES / "p6-b200.48xlarge"), "--inventory", "-o", str(written))
    body = json.loads(written.read_text())
    for package in body["packages"]:
        if package["name"] in ("torch", "nvidia-nccl-cu13") and package.get("attributes", {}).get("targets"):
            package["attributes"]["targets"] = ["sm_80"]
    written.write_text(json.dumps(body))
    judged = call("check", str(written), "--format", "json", "--fail-on", "never").json
    assert "packages-without-code-for-gpu" not in found(judged)


@pytest.mark.parametrize("packages", ["x", [1, None, {"name": 3}], [{"name": "torch"}], [{"name": "torch", "version": "2", "attributes": [1]}],
                                      [{"name": "a", "version": "1", "active": True, "attributes": {"targets": ["sm_1", {}, "sm_90" * 50]}}], {"a": 1}])  # fmt: skip
def test_a_strange_list_of_packages_is_survived(call: Call, tmp_path: Path, packages: Any) -> None:
    written = tmp_path / "node.json"
    written.write_text(json.dumps({"schema": "stackcheck.inventory/1", "subject": "x", "gpu": {"model": "B200", "pci_ids": 7},
                                   "components": {}, "environments": packages, "packages": packages}))  # fmt: skip
    outcome = call("check", str(written), "--format", "json", "--fail-on", "never")
    assert (outcome.code, outcome.err) == (0, "")


def test_an_endless_list_of_packages_costs_no_endless_time(call: Call, tmp_path: Path) -> None:
    many = [{"name": "torch", "version": f"2.{i}", "environment": f"/e{i}"} for i in range(60_000)]
    body = {"schema": "stackcheck.inventory/1", "subject": "x", "components": {}, "packages": many}
    body["environments"] = [{"prefix": f"/e{i}"} for i in range(60_000)]
    written = tmp_path / "node.json"
    written.write_text(json.dumps(body))
    start = time.monotonic()
    outcome = call("check", str(written), "--format", "oneline", "--fail-on", "never")
    assert outcome.code in (0, 2)
    assert time.monotonic() - start < 20


def judged_code(call: Call, tmp_path: Path, size: int | None) -> dict[str, dict[str, Any]]:
    """Return the findings on a node with a package of PTX alone, of which there are ``size`` bytes."""
    written = tmp_path / "node.json"
    root = str(NODES / "p6-b200.48xlarge+compiled-at-first-use")
    call("probe", "--root", root, "--inventory", "-o", str(written))
    body = json.loads(written.read_text())
    told = body["facts"]["ptx_bytes"]
    assert any(entry.startswith("my_kernels: ") for entry in told)
    body["facts"]["ptx_bytes"] = [] if size is None else [f"my_kernels: {size}"]
    written.write_text(json.dumps(body))
    return found(call("check", str(written), "--format", "json", "--fail-on", "never").json)


@pytest.mark.parametrize("size", [None, 30_000_000])
def test_ptx_that_takes_long_to_compile_is_a_warning(call: Call, tmp_path: Path, size: int | None) -> None:
    findings = judged_code(call, tmp_path, size)
    assert findings["packages-compiled-at-first-use"]["severity"] == "warning"
    assert "packages-with-little-to-compile" not in findings


def test_a_little_ptx_is_no_warning(call: Call, tmp_path: Path) -> None:
    findings = judged_code(call, tmp_path, 224_038)
    assert findings["packages-with-little-to-compile"]["severity"] == "info"
    assert "packages-compiled-at-first-use" not in findings


@pytest.mark.parametrize(
    ("packages", "expected"),
    [
        (["xformers"], {"extensions-left-out-for-other-torch": "warning"}),
        (["torchao"], {}),
        (["mine"], {"other-extensions-for-other-torch": "warning"}),
        (["lmcache"], {"extensions-for-other-torch": "error"}),
        (["lmcache", "xformers"], {"extensions-for-other-torch": "error"}),
        (
            ["flash_attn", "st-attn"],
            {"extensions-for-other-torch": "error", "other-extensions-for-other-torch": "warning"},
        ),
    ],
)
def test_only_packages_that_are_needed_and_cannot_do_without_are_an_error(
    call: Call, tmp_path: Path, packages: list[str], expected: dict[str, str]
) -> None:
    written = tmp_path / "node.json"
    call("probe", "--root", str(NODES / "p5.48xlarge"), "--inventory", "-o", str(written))
    body = json.loads(written.read_text())
    body["facts"]["extensions_for_other_torch"] = packages
    written.write_text(json.dumps(body))
    findings = found(call("check", str(written), "--format", "json", "--fail-on", "never").json)
    assert {n: f["severity"] for n, f in findings.items() if "extensions-" in n} == expected


def test_a_kernel_newer_than_any_known_is_not_worth_a_word(call: Call, tmp_path: Path) -> None:
    written = tmp_path / "node.json"
    call("probe", "--root", str(NODES / "p5.48xlarge"), "--inventory", "-o", str(written))
    body = json.loads(written.read_text())
    body["components"]["kernel"][0]["version"] = "9.1.0-1001-aws"
    written.write_text(json.dumps(body))
    findings = found(call("check", str(written), "--format", "json", "--fail-on", "never").json)
    assert "unknown-release" not in findings
