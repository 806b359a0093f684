from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from hypothesis import given, settings

from stackcheck.model.finding import Report
from stackcheck.report.interface import Options
from stackcheck.report.prometheus import render
from tests.report.test_formats import reports
from tests.samples import clean_report, hard_report

SAMPLE = re.compile(r'([a-z_]+)(\{(?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+\})? (\d+)')


def samples(report: Report) -> list[str]:
    lines = render(report, Options()).split("\n")[:-1]
    return [line for line in lines if not line.startswith("#")]


@settings(deadline=None, max_examples=50)
@given(report=reports())
def test_every_line_is_a_comment_or_a_sample_that_occurs_once(report: Report) -> None:
    found = samples(report)
    assert all(SAMPLE.fullmatch(line) for line in found)
    series = [line.rpartition(" ")[0] for line in found]
    assert len(set(series)) == len(series)


def test_counts_by_severity_are_there_even_if_zero() -> None:
    assert samples(clean_report()) == [
        'stackcheck_findings{severity="error"} 0',
        'stackcheck_findings{severity="warning"} 0',
        'stackcheck_findings{severity="info"} 0',
        "stackcheck_findings_accepted 0",
        "stackcheck_doubt 0",
    ]


def test_findings_and_components_are_series() -> None:
    found = samples(hard_report())
    assert (
        'stackcheck_finding_info{id="SC-2026-0001",kind="driver-too-old",severity="error",subject="driver,cuda"} 1'
    ) in found
    assert 'stackcheck_component_info{component="nccl",version="2.27.3",scope="container"} 1' in found
    assert not any('component="imex"' in line for line in found)


def test_a_new_count_in_a_title_is_no_new_series() -> None:
    report = hard_report()
    later = report._replace(findings=tuple(f._replace(title=f"{f.title} 17") for f in report.findings))
    assert samples(later) == samples(report)


def test_tool_and_data_have_their_versions() -> None:
    text = render(clean_report(), Options(tool_version="1.2", data_version='2026.11.29 + overlay "x"'))
    assert 'stackcheck_build_info{version="1.2",data="2026.11.29 + overlay \\"x\\""} 1\n' in text


def test_the_same_finding_twice_is_one_series() -> None:
    report = hard_report()
    twice = report._replace(findings=report.findings[:1] * 2)
    assert len([s for s in samples(twice) if s.startswith("stackcheck_finding_info")]) == 1
    assert 'stackcheck_findings{severity="error"} 2' in samples(twice)


@pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not installed (Debian package prometheus)"
)
@pytest.mark.parametrize("make", [hard_report, clean_report])
def test_promtool_accepts_it(make) -> None:  # type: ignore[no-untyped-def]
    done = subprocess.run(
        ["promtool", "check", "metrics"],
        input=render(make(), Options()).encode(),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
