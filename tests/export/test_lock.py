from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from stackcheck.export.lock import render
from stackcheck.model.stack_json import stack_from_json
from tests.samples import bare_stack, empty_stack, hard_stack

SCHEMA = json.loads((Path(__file__).parents[2] / "matrices/schema/stack.schema.json").read_text())


@pytest.mark.parametrize("make", [hard_stack, bare_stack])
def test_lock_keeps_to_its_schema(make) -> None:  # type: ignore[no-untyped-def]
    jsonschema.validate(json.loads(render(make())), SCHEMA)


@pytest.mark.parametrize("make", [hard_stack, bare_stack, empty_stack])
def test_a_lock_read_again_writes_the_same_lock(make) -> None:  # type: ignore[no-untyped-def]
    text = render(make())
    assert render(stack_from_json(json.loads(text), where="lock")) == text


def test_keys_are_sorted_and_only_ascii_is_written() -> None:
    text = render(hard_stack())
    body = json.loads(text)
    assert list(body) == sorted(body)
    assert list(body["components"]) == sorted(body["components"])
    assert text.isascii()
