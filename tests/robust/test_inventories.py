"""Inventories by hand: every part of the wrong type, numbers JSON does not have, and names that are no names."""

from __future__ import annotations

from typing import Any

import pytest

from tests.robust.conftest import ESCAPES, Call, Inventory, ended_well, strict_json

_ODD: tuple[Any, ...] = (None, 7, True, "x" + ESCAPES, [], {}, [{}], {"a": [1]}, [[["2.0"]]], 1e300, [None])
_PARTS = (
    "subject", "gpu", "instance", "arch", "image", "components", "environment", "facts", "evidence", "notes", "packages",
)  # fmt: skip


@pytest.mark.parametrize("part", _PARTS)
def test_a_part_of_the_wrong_type_ends_with_an_answer_or_a_line(
    call: Call, inventory: Inventory, part: str
) -> None:
    for value in _ODD:
        outcome = call("check", inventory(**{part: value}), "--format", "json", "-v")
        ended_well(outcome)
        if outcome.code != 2:
            strict_json(outcome.out)


@pytest.mark.parametrize(
    "entry",
    [
        None,
        True,
        7,
        "",
        [[["2.0"]]],
        {"version": []},
        {"version": 2},
        {
            "version": "2.9.1",
            "attributes": {"package": [1], "cuda": {}, "sass": [{}], "targets": 5, "cxx11abi": []},
        },
        {"version": "2.9.1", "path": [], "scope": {}, "loaded": "yes", "where": 7, "raw": None, "method": []},
    ],
    ids=repr,
)
def test_a_component_of_the_wrong_type_ends_with_an_answer_or_a_line(
    call: Call, inventory: Inventory, entry: Any
) -> None:
    for name in ("torch", "driver", "nccl", "", "no-such-component"):
        ended_well(call("check", inventory(components={name: entry}), "-v"))


@pytest.mark.parametrize(
    "version", ["9" * 199, "9" * 4000, "\ud800", " ", "1.2.3" + ESCAPES, "v", "-", "1" + ".1" * 99]
)
@pytest.mark.parametrize("component", ["torch", "driver", "os", "cudnn", "nccl", "kernel"])
def test_a_version_that_is_none_is_no_fault(
    call: Call, inventory: Inventory, component: str, version: str
) -> None:
    for fmt in ("text", "json"):
        ended_well(call("check", inventory(components={component: version}), "--format", fmt, "-v"))


def test_numbers_that_json_does_not_have_do_not_come_out_again(call: Call, inventory: Inventory) -> None:
    for number in ("NaN", "Infinity", "-Infinity", "1e999"):
        path = inventory.raw(
            f'{{"schema": "stackcheck.inventory/1", "gpu": "b200", "facts": {{"memlock_kb": {number}, "xid": [{number}]}}}}'
        )
        outcome = call("check", path, "--format", "json")
        ended_well(outcome)
        if outcome.code != 2:
            strict_json(outcome.out)


def test_numbers_of_thousands_of_digits_are_no_fault(call: Call, inventory: Inventory) -> None:
    for digits in (4000, 5000):
        number = "9" * digits
        path = inventory.raw(
            f'{{"schema": "stackcheck.inventory/1", "gpu": {{"model": "h100", "count": {number}}}, "facts": {{"memlock_kb": {number}}}}}'
        )
        ended_well(call("check", path, "--format", "json"))


@pytest.mark.parametrize(
    "name", ["stackcheck.inventory/2", "stackcheck.inventory/99", "stackcheck.inventory/\\u001b[31m"]
)
def test_another_schema_is_refused_by_name(call: Call, inventory: Inventory, name: str) -> None:
    outcome = call("check", inventory.raw(f'{{"schema": "{name}", "gpu": "b200"}}'))
    ended_well(outcome)
    assert outcome.code == 2
    assert "schema" in outcome.message


@pytest.mark.parametrize(
    "text",
    [
        '{"schema": "stackcheck.inventory/1", "gpu": "b200", "components": {"torch": "2.4.1"},\n "facts": {',
        '{"schema": "stackcheck.inventory/1", "gpu": "b2',
        '{"schema": "stackcheck.inventory/1", "facts": {"a": ' + "[" * 100_000 + "]" * 100_000 + "}}",
    ],
    ids=["cut in a table", "cut in a text", "deep"],
)
def test_a_broken_inventory_is_never_healthy(call: Call, inventory: Inventory, text: str) -> None:
    outcome = call("check", inventory.raw(text))
    ended_well(outcome)
    assert outcome.code == 2


def test_a_key_given_twice_is_no_fault(call: Call, inventory: Inventory) -> None:
    path = inventory.raw(
        '{"schema": "stackcheck.inventory/1", "gpu": "b200", "gpu": "h100", "components": {"torch": "2.4.1", "torch": "2.9.1"}}'
    )
    ended_well(call("check", path))
