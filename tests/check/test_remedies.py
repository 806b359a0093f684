"""Changes that remedies make, and their proof."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from stackcheck.catalog import Catalog
from stackcheck.check.node import Node
from stackcheck.check.remedies import NCCL_CONF, applied, in_its_file, proved
from stackcheck.check.rules import finding_of
from stackcheck.model.finding import Finding, Kind, Remedy, Severity
from stackcheck.model.inventory import Evidence, Inventory, Observation
from stackcheck.model.rule import Matches, RemedyTemplate, Term


def changed(catalog: Catalog, sets: dict[str, Any], **told: Any) -> Inventory | None:
    return applied(Inventory(**told), sets, catalog)


def version(inventory: Inventory | None, name: str) -> str:
    assert inventory is not None
    return inventory.components[name][0].version


def test_variables_and_facts_are_set_and_unset(catalog: Catalog) -> None:
    after = changed(
        catalog,
        {"env:NCCL_PROTO": None, "env:FI_PROVIDER": "efa", "fact:ecc": True, "limit:memlock": None},
        environment={"NCCL_PROTO": "simple"},
        facts={"ecc": False, "limit:memlock": 64},
    )
    assert after is not None
    assert (after.environment, after.facts) == ({"FI_PROVIDER": "efa"}, {"ecc": True})


def test_a_component_moves_to_the_nearest_release_upwards(catalog: Catalog) -> None:
    told = {"nccl": (Observation(version="2.21.5", scope="container"),)}
    assert version(changed(catalog, {"nccl": ">=2.26"}, components=told), "nccl").startswith("2.26")
    assert version(changed(catalog, {"nccl": "<2.21"}, components=told), "nccl").startswith("2.20")


def test_what_a_release_pins_moves_with_it(catalog: Catalog) -> None:
    told = {
        "torch": (Observation(version="2.7.1+cu126"),),
        "triton": (Observation(version="3.3.1"),),
        "nccl": (Observation(version="2.26.2"),),
    }
    after = changed(catalog, {"torch": "==2.8.0"}, components=told)
    assert (version(after, "triton"), version(after, "nccl")) == ("3.4.0", "2.27.3")
    assert after is not None
    assert "cudnn" not in after.components


def test_a_component_is_taken_away(catalog: Catalog) -> None:
    after = changed(
        catalog, {"cuda-compat": None}, components={"cuda-compat": (Observation(version="12.8"),)}
    )
    assert after is not None
    assert after.components["cuda-compat"] == ()


def test_what_cannot_be_made_is_not_made(catalog: Catalog) -> None:
    assert changed(catalog, {"no-such-thing": ">=1"}) is None
    assert changed(catalog, {"nccl": "no range at all"}) is None


def finding(*remedies: Remedy) -> Finding:
    return Finding(
        id="x", kind=Kind.CONFIG, severity=Severity.ERROR, subjects=("env:A",), title="x", remedy=remedies
    )


def test_what_is_proved_comes_first_and_what_is_not_loses_its_change(catalog: Catalog) -> None:
    good, bad = Remedy("good", {"env:A": None}), Remedy("bad", {"env:B": None})
    worse, words = Remedy("worse", {"env:A": "2"}), Remedy("words")

    def recheck(inventory: Inventory) -> list[Finding]:
        match inventory.environment.get("A"):
            case "1":
                return [finding()]
            case "2":
                return [Finding(id="y", kind=Kind.CONFIG, severity=Severity.ERROR, subjects=(), title="y")]
            case _:
                return []

    before = Inventory(environment={"A": "1", "B": "1"})
    told = finding(bad, words, worse, good)
    after = proved(told, before, catalog, recheck, [told])
    assert [(r.text, r.proved, dict(r.sets)) for r in after.remedy] == [
        ("good", True, {"env:A": None}),
        ("bad", False, {}),
        ("words", False, {}),
        ("worse", False, {}),
    ]


def told(catalog: Catalog, remedy: RemedyTemplate, facts: Mapping[str, Any]) -> list[str]:
    """Return the commands of a finding with this remedy."""
    rule = catalog.rules[0]._replace(remedies=(remedy,))
    return [r.run for r in finding_of(rule, Node(catalog, Inventory(facts=facts))).remedy]


def test_a_remedy_is_told_only_where_its_condition_holds(catalog: Catalog) -> None:
    remedy = RemedyTemplate("unset it", {}, "unset X", Term("fact:by", Matches("PRELOAD")))
    assert told(catalog, remedy, {"by": "LD_PRELOAD"}) == ["unset X"]
    assert told(catalog, remedy, {"by": "RPATH"}) == []
    assert told(catalog, remedy, {}) == []


@pytest.mark.parametrize("watts", ["700; reboot", "$(reboot)", "700\nreboot", "`id`", "", None])
def test_a_command_holds_nothing_unknown_and_nothing_a_shell_would_read(
    catalog: Catalog, watts: str | None
) -> None:
    remedy = RemedyTemplate("set it", {}, "nvidia-smi -pl {fact:watts}")
    assert told(catalog, remedy, {"watts": 700}) == ["nvidia-smi -pl 700"]
    assert told(catalog, remedy, {"watts": watts}) == [""]
    assert told(catalog, remedy, {}) == [""]


def test_a_range_that_holds_already_is_no_remedy(catalog: Catalog) -> None:
    told = {"torch": (Observation(version="2.12.1+cu126"),)}
    for range_ in (">=2.8", "==2.12.1"):
        after = changed(catalog, {"torch": range_}, components=told)
        assert version(after, "torch") == "2.12.1+cu126", "an installer would leave it alone"
    assert version(changed(catalog, {"torch": "==2.12.1+cu130"}, components=told), "torch") == "2.12.1+cu130"


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        ({"env:NCCL_NET": None}, "# ours\nNCCL_NET_PLUGIN = ofi\n"),
        ({"env:NCCL_NET": "AWS Libfabric"}, "# ours\nNCCL_NET=AWS Libfabric\nNCCL_NET_PLUGIN = ofi\n"),
        ({"env:NCCL_NET": "a/b&c\\d"}, "# ours\nNCCL_NET=a/b&c\\d\nNCCL_NET_PLUGIN = ofi\n"),
        ({"env:NCCL_NET": None, "env:NCCL_NET_PLUGIN": "x"}, "# ours\nNCCL_NET_PLUGIN=x\n"),
    ],
)
def test_a_variable_is_changed_where_it_stands(sets: dict[str, Any], expected: str, tmp_path: Path) -> None:
    """The command is run: what it leaves counts."""
    path = tmp_path / "it's nccl.conf"
    path.write_text("# ours\n NCCL_NET = Socket\nNCCL_NET_PLUGIN = ofi\n")
    read = Evidence(NCCL_CONF, str(path))
    inventory = Inventory(subject="n", evidence={"env:NCCL_NET": read, "env:NCCL_NET_PLUGIN": read})
    subprocess.run(["sh", "-c", in_its_file(sets, inventory)], check=True)
    assert path.read_text() == expected


@pytest.mark.parametrize(
    "evidence", [Evidence("environ", "environment of the probe"), Evidence("paste", "env.txt:3")]
)
def test_no_file_is_changed_that_was_only_pasted(evidence: Evidence) -> None:
    assert (
        in_its_file({"env:NCCL_NET": None}, Inventory(subject="n", evidence={"env:NCCL_NET": evidence})) == ""
    )
