from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings

from stackcheck.model.finding import FindingEvidence, Report
from stackcheck.report.interface import Options
from stackcheck.report.sarif import fingerprint, render
from tests.report.test_formats import reports
from tests.samples import clean_report, hard_report

SCHEMA = json.loads((Path(__file__).parent / "schema/sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))


def run(report: Any = None) -> Any:
    return json.loads(render(report or hard_report(), Options(tool_version="0.1.0")))["runs"][0]


@pytest.mark.parametrize("make", [hard_report, clean_report])
def test_it_keeps_to_the_standard_s_schema(make) -> None:  # type: ignore[no-untyped-def]
    body = json.loads(render(make(), Options()))
    jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(body)


def test_levels_and_rules() -> None:
    results, rules = run()["results"], run()["tool"]["driver"]["rules"]
    assert [r["level"] for r in results] == ["error", "warning", "note", "warning"]
    assert all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in results)
    assert rules[0]["helpUri"] == "https://example.com/cuda"
    assert "sudo reboot" in rules[0]["help"]["text"]


def test_evidence_becomes_locations() -> None:
    first = [loc["physicalLocation"] for loc in run()["results"][0]["locations"]]
    assert [(p["artifactLocation"]["uri"], p["region"]["startLine"]) for p in first] == [
        ("collect_env.txt", 14),
        ("collect_env.txt", 9),
        ("file:///proc/driver/nvidia/gpus", 1),
    ]
    spaced = run()["results"][1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert spaced == "file:///var/log/my%20job.log"


def test_files_below_the_base_are_told_relative_to_it_and_no_other() -> None:
    options = Options(base="/var/log/")
    results = json.loads(render(hard_report(), options))["runs"][0]["results"]
    assert results[1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "my%20job.log"
    assert uris(results[0])[-1] == "file:///proc/driver/nvidia/gpus"
    sibling = json.loads(render(hard_report(), Options(base="/var/lo")))["runs"][0]["results"][1]
    assert uris(sibling)[0] == "file:///var/log/my%20job.log"


def uris(result: Any) -> list[str]:
    return [p["physicalLocation"]["artifactLocation"]["uri"] for p in result["locations"]]


def test_every_result_has_a_place_even_without_a_file() -> None:
    accepted = run()["results"][3]
    assert accepted["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "node-17%20%3C%26%7C%3E"


def test_an_accepted_finding_is_suppressed_with_its_reason() -> None:
    (suppression,) = run()["results"][3]["suppressions"]
    assert suppression["status"] == "accepted"
    assert suppression["justification"] == "own build, tested on 2026-11-01"
    assert "suppressions" not in run()["results"][0]


def test_the_fingerprint_stays_when_lines_move_and_changes_with_the_value() -> None:
    finding = hard_report().findings[0]
    moved = finding._replace(evidence=tuple(e._replace(where="other.txt:1") for e in finding.evidence))
    other = finding._replace(evidence=(FindingEvidence("driver", "560.28.03"),))
    assert fingerprint(moved) == fingerprint(finding)
    assert fingerprint(other) != fingerprint(finding)


def test_a_healthy_node_has_an_empty_list_of_results() -> None:
    assert run(clean_report())["results"] == []


@settings(deadline=None, max_examples=50)
@given(report=reports())
def test_any_report_keeps_to_the_schema_and_every_place_is_a_uri(report: Report) -> None:
    body = json.loads(render(report, Options()))
    jsonschema.Draft4Validator(SCHEMA).validate(body)
    for result in body["runs"][0]["results"]:
        for location in result["locations"]:
            uri = location["physicalLocation"]["artifactLocation"]["uri"]
            assert re.fullmatch(r"(file://)?[A-Za-z0-9._~%/-]+", uri)
