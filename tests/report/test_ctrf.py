from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from stackcheck.model.finding import Severity
from stackcheck.report.ctrf import render
from stackcheck.report.interface import Options
from tests.samples import clean_report, hard_report

SCHEMA = json.loads((Path(__file__).parent / "schema/ctrf-schema-0.0.json").read_text(encoding="utf-8"))


def results(report: Any, **options: Any) -> Any:
    body = json.loads(render(report, Options(time_ms=1000, **options)))
    jsonschema.Draft7Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(body)
    return body["results"]


@pytest.mark.parametrize("make", [hard_report, clean_report])
def test_the_summary_adds_up(make) -> None:  # type: ignore[no-untyped-def]
    found = results(make())
    summary = found["summary"]
    kinds = ("passed", "failed", "skipped", "pending", "other")
    assert summary["tests"] == sum(summary[k] for k in kinds) == len(found["tests"])
    assert all(summary[k] == sum(t["status"] == k for t in found["tests"]) for k in kinds)


def test_statuses_follow_fail_on_and_acceptance() -> None:
    assert [t["status"] for t in results(hard_report())["tests"]] == ["failed", "other", "other", "skipped"]
    assert [t["status"] for t in results(hard_report(), fail_on=Severity.WARNING)["tests"]] == [
        "failed",
        "failed",
        "other",
        "skipped",
    ]
    assert [t["status"] for t in results(clean_report())["tests"]] == ["passed"]


def test_a_test_points_at_its_evidence() -> None:
    first = results(hard_report(), tool_version="0.1.0")["tests"][0]
    assert (first["filePath"], first["line"]) == ("collect_env.txt", 14)


def test_the_time_is_the_caller_s() -> None:
    assert results(clean_report())["summary"]["start"] == 1000
