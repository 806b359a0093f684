from __future__ import annotations

import re
import textwrap

from stackcheck.model.finding import FindingEvidence, Severity
from stackcheck.model.inventory import Inventory, Observation, Text
from stackcheck.report.interface import Options
from stackcheck.report.text import render
from tests.samples import clean_report, hard_report


def shown(**options: object) -> str:
    return render(hard_report(), Options(**options))  # type: ignore[arg-type]


def block(text: str, finding: str) -> str:
    """Return the lines of one finding."""
    return next(part for part in text.split("\n\n") if f" {finding}: " in part.split("\n")[0])


def test_a_finding_says_what_where_why_and_fix() -> None:
    assert block(shown(), "SC-2026-0001") == textwrap.dedent(
        """\
        error SC-2026-0001: driver 550.54.15 is too old for CUDA 13.0
          where   driver 550.54.15  [collect_env.txt:14]
                  cuda 13.0  [collect_env.txt:9]
                  gpu 8 x NVIDIA B200  [/proc/driver/nvidia/gpus]
          why     CUDA 13 needs driver 580.65.06 or newer; minor-version compatibility ends at the major
                  version.
          fix     install the driver of the stack (checked: the finding is gone then)
                  sudo apt-get install -y nvidia-open-580
                  sudo reboot
                  1 other way with --verbose
          causes  SC-2026-0007 CUDA reports error 802 | system not yet initialised
          source  https://example.com/cuda
          source  pkg:pypi/torch@2.9.0"""
    )


def test_a_symptom_is_shown_where_a_rule_has_one_and_once() -> None:
    report = hard_report()
    seen = report.findings[0]._replace(symptom="error (802)", impact="error (802)")
    text = render(report._replace(findings=(seen,)), Options(verbose=True))
    assert "  symptom error (802)\n" in text
    assert "impact" not in text
    assert "  symptom error (802)\n" in render(report._replace(findings=(seen,)), Options())


def test_many_consequences_are_one_line_of_ids() -> None:
    finding = hard_report().findings[0]
    many = tuple(finding.consequences[0]._replace(id=f"SC-2026-01{i:02}") for i in range(4))
    report = hard_report()._replace(findings=(finding._replace(consequences=many),))
    assert "  causes  SC-2026-0100, SC-2026-0101, SC-2026-0102, SC-2026-0103\n" in render(report, Options())


def test_what_is_to_be_unset_is_said() -> None:
    assert "unset NCCL_NET_PLUGIN" in block(shown(), "SC-2026-0042")


def test_the_last_line_counts() -> None:
    assert shown().split("\n")[-2] == (
        "node-17 <&|>: 1 error, 1 warning, 1 info, 1 accepted; 1 thing could not be read, see --verbose"
    )
    assert render(clean_report(), Options()) == "node-1: no findings\n"


def test_silence_says_what_it_is_about() -> None:
    clean = clean_report()
    held = Inventory(
        subject="node-1", gpu_model="NVIDIA B200", gpu_count=8,
        components={"driver": (Observation("580.1"),), "nccl": (Observation("2.1"), Observation("2.2")), "imex": ()},
    )  # fmt: skip
    assert render(clean._replace(inventory=held), Options()) == (
        "node-1: no findings; seen: 8 x NVIDIA B200, 2 components (--verbose lists it)\n"
    )


def test_nothing_that_is_fine_is_shown_unless_asked() -> None:
    assert "2.27.3" not in shown()
    verbose = shown(verbose=True)
    assert "nccl 2.99.1, 2.27.3" in verbose
    assert "imex not there" in verbose
    assert "notes.txt: not understood" in verbose
    assert "accepted SC-2026-0005" in verbose
    assert "or take a CUDA 12 build of torch" in verbose
    assert "SC-2026-0007 CUDA reports error 802" in verbose


def test_colour_only_if_asked_and_never_an_observed_escape() -> None:
    assert "\x1b" not in shown()
    coloured = shown(colour=True)
    assert "\x1b[1;31merror\x1b[0m" in coloured
    codes = set(re.findall(r"\x1b\[([0-9;]*)m", coloured))
    assert codes <= {"0", "1", "2", "1;31", "1;33", "1;36"}
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == shown()


def test_an_observed_escape_sequence_is_shown_as_text() -> None:
    assert r"\x1b[31mred\x1b[0m \u202egnp next\x00\x9b2J\ud800" in shown()


def test_ascii_is_ascii() -> None:
    assert shown(ascii_only=True).isascii()


def test_running_text_keeps_to_the_width() -> None:
    report = hard_report()
    narrow = render(report._replace(findings=report.findings[:1]), Options(width=60))
    prose = [line for line in narrow.split("\n") if "could not be read" not in line]
    assert max(map(len, prose)) <= 60


def test_a_very_long_value_is_cut() -> None:
    assert "9" * 200 in shown()
    assert "9" * 301 not in shown()


def test_worst_first_is_the_caller_s_order_and_kept() -> None:
    heads = re.findall(r"^(error|warning|info) SC", shown(), re.MULTILINE)
    assert heads == [str(s) for s in Severity]


def test_a_long_path_is_said_once_and_no_line_is_cut_by_the_terminal() -> None:
    path = "/home/somebody/cases/2026-11/node-17/collect_env.txt"
    finding = (
        hard_report()
        .findings[0]
        ._replace(
            evidence=tuple(
                FindingEvidence("driver", "550.54.15 " + "word " * 20, "text", f"{path}:{n}")
                for n in (14, 15)
            ),
        )
    )
    lines = render(clean_report()._replace(findings=(finding,)), Options(width=80)).split("\n")
    assert sum(path in line for line in lines) == 1
    assert any(line.endswith("[line 15]") for line in lines)
    assert all(len(line) <= 80 for line in lines[:10])


def test_several_texts_are_not_titled_by_the_first_alone() -> None:
    report = clean_report()._replace(
        subject="a.txt",
        inventory=clean_report().inventory._replace(texts=(Text("a.txt", "", ""), Text("b.txt", "", ""))),
    )
    assert render(report, Options()).startswith("a.txt and 1 more: ")
