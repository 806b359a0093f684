from __future__ import annotations

from hypothesis import given, settings

from stackcheck.model.finding import Report
from stackcheck.model.inventory import Note
from stackcheck.report.interface import Options
from stackcheck.report.oneline import render
from tests.report.test_formats import reports
from tests.samples import clean_report, hard_report


def test_the_worst_comes_first() -> None:
    line = render(hard_report(), Options())
    assert line.startswith(
        "stackcheck: ERROR 1 warning 1 info 1 (1 accepted): SC-2026-0001 driver 550.54.15 is too old for CUDA 13.0; SC-2026-0042 "
    )


def test_a_healthy_node() -> None:
    assert render(clean_report(), Options()) == "stackcheck: OK\n"


def test_what_could_not_be_read_is_not_hidden() -> None:
    report = clean_report()
    unread = report._replace(inventory=report.inventory._replace(notes=(Note("a", "b"), Note("c", "d"))))
    assert render(unread, Options()) == "stackcheck: OK (2 not readable)\n"


def test_what_was_accepted_is_counted_whatever_else_is_said() -> None:
    report = clean_report()._replace(accepted=hard_report().findings[:2])
    assert render(report, Options()) == "stackcheck: OK (2 accepted)\n"
    unread = report._replace(inventory=report.inventory._replace(notes=(Note("a", "b"),)))
    assert render(unread, Options()) == "stackcheck: OK (2 accepted, 1 not readable)\n"
    late = report._replace(inventory=report.inventory._replace(notes=(Note("nvml", "stopped after 5 s"),)))
    assert render(late, Options()) == "stackcheck: UNKNOWN: 1 probe did not finish: nvml; 2 accepted\n"


@settings(deadline=None, max_examples=50)
@given(report=reports())
def test_it_is_one_short_line_that_fits_into_quotes(report: Report) -> None:
    line = render(report, Options())
    assert line.count("\n") == 1
    assert len(line) <= 241
    assert all(" " <= c <= "~" for c in line[:-1])
    assert not set(line) & set("\"'`$\\")


def test_the_s_of_an_owner_leaves_a_compound_and_no_other_word() -> None:
    finding = hard_report().findings[0]
    titled = finding._replace(title="Triton's ptxas, cuDNN\u2019s parts, 'quoted' and it isn't")
    line = render(hard_report()._replace(findings=(titled,)), Options())
    assert "Triton ptxas, cuDNN parts, quoted and it isnt" in line


def test_a_node_without_a_gpu_is_not_called_ok() -> None:
    report = clean_report()
    bare = report._replace(
        inventory=report.inventory._replace(gpu_model=None, gpu_count=None, facts={"gpu_count_pci": 0})
    )
    assert render(bare, Options()) == "stackcheck: UNKNOWN: no NVIDIA GPU was seen\n"
    judged = bare._replace(inventory=bare.inventory._replace(gpu_model="h100"))
    assert render(judged, Options()).startswith("stackcheck: OK"), (
        "an image judged for a GPU has none of its own"
    )
