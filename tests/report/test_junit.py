from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from stackcheck.model.finding import Report, Severity
from stackcheck.report.interface import Options
from stackcheck.report.junit import render
from tests.samples import clean_report, hard_report


def suite(report: Report, fail_on: Severity | None = Severity.ERROR) -> ET.Element:
    root = ET.fromstring(render(report, Options(fail_on=fail_on)).encode())
    assert root.tag == "testsuites"
    (only,) = root
    assert only.tag == "testsuite"
    assert root.attrib == {"name": "stackcheck", **{k: v for k, v in only.attrib.items() if k != "name"}}
    return only


@pytest.mark.parametrize("fail_on", [*Severity, None])
@pytest.mark.parametrize("make", [hard_report, clean_report])
def test_the_counts_are_those_of_the_cases(make, fail_on: Severity | None) -> None:  # type: ignore[no-untyped-def]
    found = suite(make(), fail_on)
    assert all(case.tag == "testcase" and set(case.attrib) == {"classname", "name", "time"} for case in found)
    assert int(found.attrib["tests"]) == len(found)
    assert int(found.attrib["failures"]) == len(found.findall("testcase/failure"))
    assert int(found.attrib["skipped"]) == len(found.findall("testcase/skipped"))


@pytest.mark.parametrize(
    ("fail_on", "failures"), [(Severity.ERROR, 1), (Severity.WARNING, 2), (Severity.INFO, 3), (None, 0)]
)
def test_fail_on_decides_what_fails(fail_on: Severity | None, failures: int) -> None:
    assert len(suite(hard_report(), fail_on).findall("testcase/failure")) == failures


def test_a_failure_tells_the_whole_finding() -> None:
    failure = suite(hard_report()).find("testcase/failure")
    assert failure is not None
    assert failure.attrib == {"type": "error", "message": "driver 550.54.15 is too old for CUDA 13.0"}
    assert failure.text is not None
    assert "seen: driver 550.54.15 (collect_env.txt:14)" in failure.text
    assert "  sudo reboot" in failure.text


def test_markup_in_a_title_is_text() -> None:
    names = [c.attrib["name"] for c in suite(hard_report())]
    assert any("<script>alert('x')</script> \"q\"" in n for n in names)


def test_an_accepted_finding_is_skipped_with_its_reason() -> None:
    report = hard_report()._replace(findings=())
    (case,) = suite(report)
    assert case[0].tag == "skipped"
    assert case[0].attrib["message"] == "accepted: own build, tested on 2026-11-01"


def test_a_healthy_node_is_one_passed_case() -> None:
    (case,) = suite(clean_report())
    assert len(case) == 0
