"""An inventory survives its JSON, and bad JSON says where it is bad."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackcheck.model.errors import InputError
from stackcheck.model.inventory import Evidence, Inventory, Observation
from stackcheck.model.inventory_json import (
    MOST_MEMBERS,
    MOST_NAMES,
    inventory_from_json,
    inventory_to_json,
)


def test_round_trip() -> None:
    inventory = Inventory(
        subject="node-1",
        gpu_model="b200",
        gpu_count=8,
        instance="p6-b200.48xlarge",
        arch="x86_64",
        components={
            "nccl": (
                Observation(
                    version="2.27.3",
                    scope="container",
                    path="/x",
                    loaded=True,
                    evidence=Evidence("elf", "/x", "r"),
                ),
                Observation(
                    version="2.23.4", evidence=Evidence("elf", "/y", ""), attributes={"targets": ["sm_90"]}
                ),
            ),
            "gdrdrv": (),
        },
        environment={"NCCL_PROTO": "simple"},
        facts={"memlock_kb": 64, "xid": (79, 94), "module:gdrdrv": False},
        evidence={"env:NCCL_PROTO": Evidence("paste", "log:4", "")},
    )
    again = inventory_from_json(json.loads(json.dumps(inventory_to_json(inventory))), where="x")
    assert again == inventory


def test_a_component_may_be_a_plain_string() -> None:
    inventory = inventory_from_json({"components": {"torch": "2.9.1+cu130", "gdrdrv": None}}, where="x")
    assert inventory.components["torch"][0].version == "2.9.1+cu130"
    assert inventory.components["gdrdrv"] == ()  # looked for, and not there


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ([], "object"),
        ({"schema": "something/1"}, "schema"),
        ({"schema": "stackcheck.inventory/2"}, "newer"),
        ({"components": []}, "/components"),
        ({"components": {"nccl": [{"version": 2}]}}, "/components/nccl/0"),
        ({"components": {"nccl": True}}, "/components/nccl"),
        ({"facts": "none"}, "/facts"),
        ({"notes": 7}, "/notes"),
        ({"notes": True}, "/notes"),
        ({"notes": {}}, "/notes"),
    ],
)
def test_faults_name_the_place(body: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        inventory_from_json(body, where="file.json")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


@given(
    st.dictionaries(
        st.sampled_from(["schema", "gpu", "components", "facts", "environment", "evidence", "notes"]),
        json_values,
    )
)
def test_any_json_is_read_or_refused_in_one_line(body: dict[str, Any]) -> None:
    try:
        inventory_from_json(body, where="x")
    except InputError as fault:
        assert "\n" not in str(fault)


def test_what_no_json_can_hold_is_not_kept() -> None:
    body = json.loads(
        '{"subject": "\\ud800", "facts": {"a": 1e999, "b": NaN, "c": [-Infinity]}, "evidence": {"\\ud800": "\\udfff"},'
        ' "components": {"torch": [{"version": "2.8.0\\ud800", "attributes": {"x": NaN, "y": ["\\ud800"]}}]}}'
    )
    text = json.dumps(
        inventory_to_json(inventory_from_json(body, where="x")), allow_nan=False, ensure_ascii=False
    )
    assert text.encode("utf-8")


def test_what_no_probe_writes_is_cut_off_and_said() -> None:
    body = {
        "components": {"torch": [f"2.{i}" for i in range(MOST_MEMBERS + 1)]},
        "facts": {"xid": list(range(MOST_MEMBERS + 1))},
        "environment": {f"V{i}": "1" for i in range(MOST_NAMES + 1)},
    }
    inventory = inventory_from_json(body, where="x")
    assert len(inventory.components["torch"]) == MOST_MEMBERS
    assert inventory.facts["xid"] == tuple(range(MOST_MEMBERS))
    assert len(inventory.environment) == MOST_NAMES
    told = " ".join(n.text for n in inventory.notes)
    assert all(word in told for word in ("torch", "xid", "environment"))
    assert len(inventory.notes) == 3
