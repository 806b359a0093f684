"""`stackcheck probe`: the probes' inventory, and the verdict of check on it; the same wherever it is judged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.conftest import Call, Schema

NODES = Path(__file__).parents[1] / "nodes"
HEALTHY = sorted(p.name for p in NODES.iterdir() if (p / "node.json").is_file())
BROKEN = sorted(p.name for p in NODES.iterdir() if (p / "overlay.json").is_file())


def node(name: str) -> str:
    return str(NODES / name)


def ids(outcome: Any) -> set[str]:
    return {f["id"] for f in outcome["findings"]} | {
        c["id"] for f in outcome["findings"] for c in f.get("consequences", ())
    }


@pytest.mark.parametrize("name", HEALTHY + BROKEN)
def test_a_node_has_an_inventory_and_a_report_that_keep_to_their_schemas(
    call: Call, name: str, schema: Schema
) -> None:
    outcome = call("probe", "--root", node(name), "--inventory")
    assert (outcome.code, outcome.err) == (0, "")
    jsonschema.validate(outcome.json, schema("inventory"))
    outcome = call("probe", "--root", node(name), "--format", "json")
    assert outcome.code in (0, 1)
    jsonschema.validate(outcome.json, schema("report"))
    errors = outcome.json["summary"]["error"]
    assert outcome.code == (1 if errors else 0)


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_node_is_not_called_broken(call: Call, name: str) -> None:
    outcome = call("probe", "--root", node(name), "--format", "json")
    assert outcome.code == 0, [f["title"] for f in outcome.json["findings"] if f["severity"] == "error"]


@pytest.mark.parametrize("name", HEALTHY + BROKEN)
def test_the_verdict_is_the_same_elsewhere(call: Call, name: str, tmp_path: Path) -> None:
    here = call("probe", "--root", node(name), "--format", "json")
    written = tmp_path / "node.json"
    assert call("probe", "--root", node(name), "--inventory", "-o", str(written)).code == 0
    there = call("check", str(written), "--format", "json")
    assert ids(there.json) == ids(here.json)
    assert there.code == here.code


def test_a_choice_of_probes_is_a_doubt_and_keeps_the_name_of_the_node(call: Call) -> None:
    tree = ("probe", "--root", node("p5.48xlarge"), "--fail-on", "never")
    whole = call(*tree, "--format", "json").json
    assert "doubt" not in whole
    chosen = call(*tree, "--only", "kernel", "--format", "json").json
    assert chosen["subject"] == whole["subject"]
    assert chosen["doubt"] == "only some probes ran: identity, kernel"
    spared = call(*tree, "--skip", "kernel", "--format", "oneline").out
    assert spared == "stackcheck: UNKNOWN: only some probes ran, without kernel\n"
    assert "stackcheck_doubt 1\n" in call(*tree, "--only", "kernel", "--format", "prometheus").out
    assert "only some probes ran" in call(*tree, "--only", "kernel").out.splitlines()[-1]
    nameless = call(*tree, "--only", "kernel", "--skip", "identity", "--inventory").json
    assert nameless["subject"] == "node"


def test_the_doubt_of_a_choice_goes_with_the_inventory(call: Call, tmp_path: Path) -> None:
    kept = tmp_path / "node.json"
    call("probe", "--root", node("p5.48xlarge"), "--only", "kernel", "--inventory", "-o", str(kept))
    assert call("check", str(kept), "--format", "json").json["doubt"].startswith("only some probes ran")


def test_too_little_time_is_said_to_be_too_little(call: Call) -> None:
    outcome = call("probe", "--root", node("p5.48xlarge"), "--timeout", "0.000001")
    assert outcome.code == 2
    assert "the time was too short" in outcome.message
    assert "nothing of a node" not in outcome.message


def test_only_and_skip_choose_probes(call: Call) -> None:
    only = call(
        "probe", "--root", node("p5.48xlarge"), "--inventory", "--only", "kernel,efa", "--only", "driver"
    ).json
    assert {"kernel", "driver", "efa-driver"} & set(only["components"])
    assert "torch" not in only["components"]
    assert not only.get("packages")
    skip = call("probe", "--root", node("p5.48xlarge"), "--inventory", "--skip", "driver").json
    assert "fabric-manager" in skip["components"]


def test_another_environment_is_judged(call: Call, tmp_path: Path) -> None:
    variables = tmp_path / "job.env"
    variables.write_text("NCCL_PROTO=simple\nFI_PROVIDER=tcp\n")
    body = call("probe", "--root", node("p5.48xlarge"), "--env-file", str(variables), "--inventory").json
    assert body["environment"]["NCCL_PROTO"] == "simple"
    assert body["environment"]["FI_PROVIDER"] == "tcp"


def test_a_capture_gives_the_same_verdict(call: Call, tmp_path: Path) -> None:
    name = "p5.48xlarge+gdrdrv-missing" if "p5.48xlarge+gdrdrv-missing" in BROKEN else BROKEN[0]
    target = tmp_path / "captured"
    outcome = call("probe", "--root", node(name), "--capture", str(target))
    assert outcome.code == 0, outcome.err
    assert "files written" in outcome.out
    again = call("probe", "--root", str(target), "--format", "json")
    assert ids(again.json) == ids(call("probe", "--root", node(name), "--format", "json").json)


def test_a_capture_does_not_overwrite(call: Call, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "kept").write_text("kept")
    outcome = call("probe", "--root", node("p5.48xlarge"), "--capture", str(tmp_path / "full"))
    assert outcome.code == 2
    assert "full" in outcome.message
    assert (tmp_path / "full" / "kept").read_text() == "kept"


def test_this_machine(spawn: Call, schema: Schema) -> None:
    outcome = spawn("probe", "--format", "json", "--fail-on", "never")
    assert (outcome.code, outcome.err) == (0, "")
    jsonschema.validate(outcome.json, schema("report"))
    assert "kernel" in outcome.json["inventory"]["components"]


def test_this_very_process(spawn: Call) -> None:
    import os

    outcome = spawn("probe", "--pid", str(os.getpid()), "--inventory", "--only", "environment,identity")
    assert outcome.code == 0, outcome.err
    assert outcome.json["schema"] == "stackcheck.inventory/1"


@pytest.mark.parametrize(
    "name", ["text", "oneline", "prometheus", "junit", "sarif", "ctrf", "markdown", "html"]
)
def test_every_format_of_check(call: Call, name: str, tmp_path: Path) -> None:
    target = tmp_path / "report"
    outcome = call(
        "probe", "--root", node(BROKEN[0]), "--format", name, "--fail-on", "never", "-o", str(target)
    )
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert target.read_text(encoding="utf-8").strip()


def test_the_host_of_a_question_can_be_a_probed_one(call: Call, tmp_path: Path) -> None:
    written = tmp_path / "node.json"
    assert call("probe", "--root", node("p5.48xlarge"), "--inventory", "-o", str(written)).code == 0
    driver = json.loads(written.read_text())["components"]["driver"][0]["version"]
    outcome = call("resolve", "--host", str(written), "--format", "json")
    assert outcome.code in (0, 1), outcome.err
    if outcome.code == 0:
        assert outcome.json["components"]["driver"]["version"] == driver
        assert outcome.json["target"]["instance"] == "p5.48xlarge"


def test_the_probe_needs_no_matrices_to_collect(call: Call, tmp_path: Path) -> None:
    shutil.copytree(NODES / "p5.48xlarge", tmp_path / "node")
    outcome = call(
        "probe", "--root", str(tmp_path / "node"), "--inventory", "--matrices", str(tmp_path / "missing")
    )
    assert outcome.code == 0


@pytest.mark.parametrize("what", [("--inventory",), ("--capture", "new")])
def test_no_verdict_has_no_format_of_a_report(call: Call, what: tuple[str, ...]) -> None:
    tree = ("probe", "--root", node("p5.48xlarge"))
    outcome = call(*tree, *what, "--format", "sarif")
    assert outcome.code == 2
    assert what[0] in outcome.message
    assert "--format sarif" in outcome.message
    assert not outcome.out


def test_an_inventory_is_json_for_whoever_asks_for_json(call: Call) -> None:
    tree = ("probe", "--root", node("p5.48xlarge"), "--inventory")
    assert call(*tree, "--format", "json").out == call(*tree).out


def test_a_capture_obeys_the_choice_of_probes_and_of_the_environment(call: Call, tmp_path: Path) -> None:
    job = tmp_path / "job.env"
    job.write_text("NCCL_PROTO=LL\nset -a\n")
    tree = ("probe", "--root", node("p5.48xlarge"), "--env-file", str(job), "--only", "environment")
    captured = call(*tree, "--capture", str(tmp_path / "node"))
    assert captured.code == 0
    assert "set nothing" in captured.message
    read = call("probe", "--root", str(tmp_path / "node"), "--format", "json").json
    assert read["inventory"]["environment"]["NCCL_PROTO"] == "LL"
    assert read["doubt"] == "only some probes ran: identity, environment"
    wrong = call("probe", "--capture", str(tmp_path / "other"), "--only", "kernl")
    assert wrong.code == 2
    assert "did you mean kernel" in wrong.message
