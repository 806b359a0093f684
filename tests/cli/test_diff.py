"""`stackcheck diff`: what differs between two sides, whatever they are made of, and which findings come and go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stackcheck.catalog import Catalog
from stackcheck.catalog.queries import matching_images
from tests.cli.conftest import ROOT, Call


def inventory(path: Path, components: dict[str, Any], **more: Any) -> str:
    body = {
        "schema": "stackcheck.inventory/1",
        "subject": path.stem,
        "gpu": {"model": "b200", "count": 8},
        "components": components,
        "environment": {},
        "facts": {},
        **more,
    }
    path.write_text(json.dumps(body))
    return str(path)


def diff(call: Call, *arguments: str) -> Any:
    outcome = call("diff", *arguments, "--format", "json")
    assert outcome.code in (0, 1), outcome.err
    assert outcome.code == (0 if outcome.json["same"] else 1)
    return outcome.json


def test_a_thing_is_the_same_as_itself(call: Call, lock: Path, tmp_path: Path, catalog: Catalog) -> None:
    node = inventory(tmp_path / "a.json", {"torch": "2.9.0+cu130", "nccl": ["2.27.5", "2.28.9"]})
    image = next(i for i in catalog.images if i.verified and len(i.contents) > 5)
    for side in (str(lock), node, image.name):
        outcome = call("diff", side, side)
        assert outcome.code == 0
        assert "the same" in outcome.out
        assert diff(call, side, side)["components"] == []


def test_a_report_and_a_captured_node_are_sides_too(call: Call, tmp_path: Path) -> None:
    tree = str(ROOT / "tests/nodes/p5.48xlarge")
    kept = {name: tmp_path / f"{name}.json" for name in ("inventory", "report")}
    call("probe", "--root", tree, "--inventory", "-o", str(kept["inventory"]))
    call("probe", "--root", tree, "--format", "json", "-o", str(kept["report"]))
    for other in (tree, str(kept["inventory"])):
        assert diff(call, str(kept["report"]), other)["same"], other


def test_another_directory_says_how_to_read_it(call: Call, tmp_path: Path) -> None:
    outcome = call("diff", str(tmp_path), str(tmp_path))
    assert outcome.code == 2
    assert f"stackcheck probe --root {tmp_path} --inventory -o FILE" in outcome.message


def test_two_locks_layer_by_layer(call: Call, tmp_path: Path, catalog: Catalog) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    call("resolve", "--gpu", "b200", "--images", "none", "-o", str(a))
    call("resolve", "--gpu", "b200", "--images", "none", "--with", "torch<2.14", "-o", str(b))
    before, after = (json.loads(p.read_text())["components"] for p in (a, b))
    changes = {c["component"]: c for c in diff(call, str(a), str(b))["components"]}
    differing = {
        n
        for n in before.keys() | after.keys()
        if before.get(n, {}).get("version") != after.get(n, {}).get("version")
    }
    assert set(changes) == differing
    assert changes["torch"]["before"] == [before["torch"]["version"]]
    assert changes["torch"]["after"] == [after["torch"]["version"]]
    assert changes["torch"]["direction"] == "older"
    layers = [c["layer"] for c in changes.values()]
    order = catalog.policy["lock_export_layers"]
    assert layers == sorted(layers, key=order.index)
    heads = [line for line in call("diff", str(a), str(b)).out.splitlines() if line in order]
    assert heads == list(dict.fromkeys(layers))


def test_directions_are_of_versions_and_not_of_texts(call: Call, tmp_path: Path) -> None:
    before = inventory(
        tmp_path / "a.json",
        {"nccl": "2.9.9", "driver": "580.95.05", "torch": "2.10.0", "os": "ubuntu-22.04", "cuda": "13.0"},
    )
    after = inventory(
        tmp_path / "b.json",
        {
            "nccl": "2.27.5",
            "driver": "580.126.20",
            "torch": "2.9.0",
            "os": "amazonlinux-2023",
            "cuda": "13.0.0",
        },
    )
    found = {c["component"]: c["direction"] for c in diff(call, before, after)["components"]}
    assert found == {"nccl": "newer", "driver": "newer", "torch": "older", "os": "changed"}


def test_a_build_is_a_difference_and_another_spelling_is_none(call: Call, tmp_path: Path) -> None:
    before = inventory(tmp_path / "a.json", {"torch": "2.9.0+cu128", "flash_attn": "2.8.3"})
    after = inventory(tmp_path / "b.json", {"torch": "2.9.0+cu130", "flash-attn": "2.8.3"})
    found = {c["component"]: c["direction"] for c in diff(call, before, after)["components"]}
    assert found == {"torch": "changed"}


def test_not_there_and_not_stated_are_two_things(call: Call, tmp_path: Path) -> None:
    before = inventory(tmp_path / "a.json", {"nccl": "2.27.5", "gdrcopy": "2.5", "cudnn": []})
    after = inventory(tmp_path / "b.json", {"nccl": [], "cudnn": "9.10.2"})
    found = {
        c["component"]: (c["before"], c["after"], c["direction"])
        for c in diff(call, before, after)["components"]
    }
    assert found == {
        "nccl": (["2.27.5"], [], "removed"),
        "cudnn": ([], ["9.10.2"], "added"),
        "gdrcopy": (["2.5"], None, "unstated"),
    }
    text = call("diff", before, after).out
    assert "not there" in text
    assert "not named" in text
    assert "? only one side names it" in text


def test_several_copies_are_all_told(call: Call, tmp_path: Path) -> None:
    before = inventory(tmp_path / "a.json", {"nccl": "2.27.5"})
    after = inventory(tmp_path / "b.json", {"nccl": ["2.27.5", "2.28.9"]})
    change = diff(call, before, after)["components"][0]
    assert change["after"] == ["2.27.5", "2.28.9"]
    assert change["direction"] == "changed"


def test_settings_that_differ(call: Call, tmp_path: Path) -> None:
    before = inventory(
        tmp_path / "a.json", {}, environment={"NCCL_PROTO": "simple", "SAME": "1"}, facts={"memlock_kb": 64}
    )
    after = inventory(
        tmp_path / "b.json",
        {},
        environment={"SAME": "1", "NCCL_DEBUG": ""},
        facts={"memlock_kb": 65536},
        instance="p6-b200.48xlarge",
    )
    found = {s["subject"]: (s["before"], s["after"]) for s in diff(call, before, after)["settings"]}
    assert found == {
        "env:NCCL_PROTO": ("simple", None),
        "env:NCCL_DEBUG": (None, ""),
        "fact:memlock_kb": ("64", "65536"),
        "instance": (None, "p6-b200.48xlarge"),
    }


def test_findings_that_come_and_go(call: Call, tmp_path: Path) -> None:
    good = inventory(tmp_path / "good.json", {"torch": "2.9.0+cu130", "driver": "580.95.05", "cuda": "13.0"})
    bad = inventory(tmp_path / "bad.json", {"torch": "2.4.1+cu121", "driver": "580.95.05", "cuda": "12.1"})
    fell = diff(call, good, bad)["findings"]
    rose = diff(call, bad, good)["findings"]
    assert [f["severity"] for f in fell["appeared"]].count("error") >= 1
    assert {f["id"] for f in fell["appeared"]} == {f["id"] for f in rose["gone"]}
    assert {f["id"] for f in fell["gone"]} == {f["id"] for f in rose["appeared"]}
    text = call("diff", good, bad).out
    assert "findings that are new" in text
    assert fell["appeared"][0]["id"] in text
    assert diff(call, good, bad, "--no-check")["findings"] is None


def test_an_image_against_a_lock_and_a_paste(
    call: Call, lock: Path, tmp_path: Path, catalog: Catalog
) -> None:
    gpu = catalog.gpu("b200")
    assert gpu is not None
    locked = json.loads(lock.read_text())["components"]["torch"]["version"]
    fitting = matching_images(catalog, gpu=gpu)
    image = next(i for i in fitting if i.contents.get("torch", locked) != locked and "nccl" in i.contents)
    freeze = tmp_path / "freeze.txt"
    freeze.write_text("torch==2.4.1\nnvidia-nccl-cu12==2.20.5\n")
    for other in (str(lock), str(freeze)):
        changes = {c["component"]: c for c in diff(call, image.name, other)["components"]}
        assert changes["torch"]["before"] == [image.contents["torch"]]
    body = diff(call, image.name, str(freeze), "--gpu", "b200")
    assert any(f["severity"] == "error" for f in body["findings"]["appeared"]), "torch 2.4.1 on B200"


def test_one_side_can_be_standard_input(spawn: Call, tmp_path: Path) -> None:
    node = inventory(tmp_path / "a.json", {"torch": "2.4.1"})
    outcome = spawn("diff", node, "-", "--format", "json", stdin="torch==2.9.0\n")
    assert outcome.code == 1
    assert {c["component"]: c["direction"] for c in outcome.json["components"]}["torch"] == "newer"


@pytest.mark.parametrize(
    "content", ["", "good morning\n", "\x00\x01\x02\x03" * 500], ids=["empty", "prose", "binary"]
)
def test_a_side_that_says_nothing_is_an_error_and_not_a_difference(
    call: Call, tmp_path: Path, content: str
) -> None:
    (tmp_path / "side.txt").write_text(content)
    node = inventory(tmp_path / "a.json", {"torch": "2.4.1"})
    outcome = call("diff", node, str(tmp_path / "side.txt"))
    assert outcome.code == 2
    assert "side.txt" in outcome.message


def test_observed_texts_cannot_drive_the_terminal(call: Call, tmp_path: Path) -> None:
    before = inventory(tmp_path / "a.json", {"torch": "\x1b[2J2.0"}, environment={"NCCL_X": "\x1b[31m\u202e"})
    after = inventory(tmp_path / "b.json", {"torch": "2.1"}, environment={})
    text = call("diff", before, after).out
    assert all(c.isprintable() or c == "\n" for c in text)


def test_the_new_findings_come_first_the_worst_before_the_others(call: Call, tmp_path: Path) -> None:
    facts = {"memlock_kb": 64, "xid": []}
    before = inventory(tmp_path / "a.json", {"torch": "2.9.0+cu130", "gdrcopy": "2.5.1"}, facts=facts)
    after = inventory(
        tmp_path / "b.json",
        {"torch": "2.9.0+cu126", "gdrcopy": "2.5.1"},
        facts={"memlock_kb": 64, "xid": [79], "device:/dev/gdrdrv": False, "module:gdrdrv": False},
    )
    appeared = diff(call, before, after)["findings"]["appeared"]
    ranks = [f["severity"] for f in appeared]
    assert len(set(ranks)) > 1
    lines = call("diff", before, after).out.splitlines()
    assert lines[3] == "findings that are new"
    assert lines[4].startswith("  error ")
    told = [line.split()[0] for line in lines[4 : lines.index("", 4)] if not line.startswith("    ")]
    assert told == sorted(ranks, key=["error", "warning", "info"].index)
    assert lines.index("settings") > lines.index("findings that are new")


def test_facts_that_vanish_or_come_in_masses_are_one_line(call: Call, tmp_path: Path) -> None:
    many: dict[str, Any] = {f"fact_{n}": n for n in range(40)}
    before = inventory(tmp_path / "a.json", {"nccl": "2.27.5"}, facts={**many, "memlock_kb": 64})
    after = inventory(tmp_path / "b.json", {"nccl": "2.27.5"}, facts={"memlock_kb": 128, "few": 1})
    for first, second, change in ((before, after, "there → not there"), (after, before, "not there → there")):
        out = call("diff", first, second, "--no-check").out
        assert len([line for line in out.splitlines() if "fact_" in line]) == 1
        assert f"40 facts: {change} (fact_0, fact_1, fact_10 ..., all with --verbose)" in out
        assert "fact:memlock_kb" in out
        assert "fact:few" in out
        whole = call("diff", first, second, "--no-check", "-v").out
        assert len([line for line in whole.splitlines() if "fact:fact_" in line]) == 40
    assert len(diff(call, before, after, "--no-check")["settings"]) == 42
