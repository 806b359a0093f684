"""Silence is good news only where something was seen: a report that saw nothing, or was cut short, never looks like a healthy node."""

from __future__ import annotations

import json

import pytest

from stackcheck.model.finding import Report
from stackcheck.model.inventory import CUT_OFF, Inventory, Note, Observation
from stackcheck.report.interface import Options
from stackcheck.report.registry import FORMATS, renderer
from tests.samples import clean_report, hard_report

BLIND = Report(subject="log", inventory=Inventory(subject="log", gpu_model="b200"), findings=())
LATE = Report(
    subject="node",
    inventory=Inventory(
        subject="node",
        components={"driver": (Observation(version="580.95.05"),)},
        notes=(Note("nvml", f"{CUT_OFF[0]}5 s; what it had seen is kept"), Note("dmi", "no permission")),
    ),
    findings=(),
)

SOME = clean_report()._replace(
    inventory=clean_report().inventory._replace(
        notes=(Note("probes", "only some probes ran: identity, kernel"),)
    )
)
UNREAD_LOG = clean_report()._replace(
    inventory=Inventory(
        subject="node",
        gpu_model="h100",
        gpu_count=8,
        facts={"container": "none", "gpu_count_pci": 8},
        components={"driver": (Observation(version="580.95.05"),)},
        notes=(
            Note(
                "kernel-log",
                "kernel messages could not be read, Xid errors are unknown (/dev/kmsg: permission denied)",
            ),
        ),
    )
)


def shown(report: Report, name: str) -> str:
    return renderer(name).render(report, Options())


@pytest.mark.parametrize(
    ("report_", "told"),
    [
        (BLIND, "nothing in it could be judged"),
        (LATE, "1 probe did not finish: nvml"),
        (SOME, "only some probes ran: identity, kernel"),
        (UNREAD_LOG, "the kernel log could not be read, Xid errors are unknown"),
    ],
    ids=["blind", "late", "some", "log"],
)
@pytest.mark.parametrize("name", [f.name for f in FORMATS if f.name != "prometheus"])
def test_every_format_says_that_little_was_seen(report_: Report, told: str, name: str) -> None:
    assert told in shown(report_, name)


@pytest.mark.parametrize("name", [f.name for f in FORMATS])
def test_no_format_doubts_what_was_seen(name: str) -> None:
    for report in (clean_report(), hard_report()):
        text = shown(report, name)
        assert "could be judged" not in text
        assert "did not finish" not in text


def test_one_line_is_never_ok() -> None:
    assert shown(BLIND, "oneline") == "stackcheck: UNKNOWN: nothing in it could be judged\n"
    assert shown(LATE, "oneline") == "stackcheck: UNKNOWN: 1 probe did not finish: nvml\n"


def test_an_unread_kernel_log_is_a_doubt_on_a_node_with_gpus_only() -> None:
    assert "stackcheck_doubt 1\n" in shown(UNREAD_LOG, "prometheus")
    without = UNREAD_LOG.inventory._replace(gpu_model=None, gpu_count=None, facts={"container": "none"})
    inside = UNREAD_LOG.inventory._replace(facts={"container": "docker", "gpu_count_pci": 8})
    for inventory in (without, inside):
        assert (
            shown(UNREAD_LOG._replace(inventory=inventory), "oneline") == "stackcheck: OK (1 not readable)\n"
        )


def test_a_choice_of_probes_is_nothing_that_could_not_be_read() -> None:
    assert "could not be read" not in shown(SOME, "text")


def test_a_pipeline_sees_a_skipped_case_and_no_passed_one() -> None:
    assert 'failures="0" errors="0" skipped="1"' in shown(BLIND, "junit")
    summary = json.loads(shown(BLIND, "ctrf"))["results"]["summary"]
    assert (summary["passed"], summary["skipped"]) == (0, 1)
    (run,) = json.loads(shown(BLIND, "sarif"))["runs"]
    assert run["invocations"][0]["toolExecutionNotifications"][0]["level"] == "warning"
    assert "stackcheck_doubt 1\n" in shown(BLIND, "prometheus")


def test_findings_do_not_hide_that_probes_were_late() -> None:
    late = Report(subject="node", inventory=LATE.inventory, findings=hard_report().findings)
    assert "(1 probe did not finish: nvml)" in shown(late, "oneline")
    assert "1 probe did not finish: nvml" in shown(late, "text").splitlines()[-1]
