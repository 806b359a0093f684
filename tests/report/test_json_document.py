from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import referencing

from stackcheck.report.interface import Options
from stackcheck.report.json_document import render
from tests.samples import clean_report, hard_report

SCHEMAS = Path(__file__).parents[2] / "matrices/schema"
REGISTRY: referencing.Registry[Any] = referencing.Registry().with_resources(
    (schema["$id"], referencing.Resource.from_contents(schema))
    for schema in (json.loads(p.read_text(encoding="utf-8")) for p in sorted(SCHEMAS.glob("*.json")))
)


@pytest.mark.parametrize("make", [hard_report, clean_report])
def test_it_keeps_to_its_schema(make) -> None:  # type: ignore[no-untyped-def]
    schema = json.loads((SCHEMAS / "report.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema, registry=REGISTRY).validate(json.loads(render(make(), Options())))


def test_it_says_which_program_and_which_data_judged() -> None:
    body = json.loads(render(clean_report(), Options(tool_version="1.2", data_version="2026.11.29")))
    assert body["tool"] == {"name": "stackcheck", "version": "1.2", "data": "2026.11.29"}


def test_observed_values_come_back_as_they_were() -> None:
    body = json.loads(render(hard_report(), Options()))
    assert body["findings"][2]["evidence"][0]["value"] == hard_report().findings[2].evidence[0].value
    assert body["summary"] == {"error": 1, "warning": 1, "info": 1}
