"""Whatever is typed: a known exit code, one line where it is refused, and never a fault of our own."""

from __future__ import annotations

import contextlib
import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackcheck.cli import main

COMMANDS = ("resolve", "why", "explain", "show", "diff", "graph", "check", "completion")
WORDS = (
    "gpu", "instance", "component", "image", "advisory", "torch", "nccl", "torch==2.4.1", "torch>=2.9,<2.11", "vllm[x]", "b200", "h100",
    "p5en.48xlarge", "slurm", "driver==550.54.15", "cuda>=13", "pytorch:25.10-py3", "requires-vllm", "bash", "json", "text", "dot", "ngc",
    "none", "3.12", "aarch64", "tested", ".", "/", "/dev/null", "", " ", "=", "==", "~=1", ">=", "--", "\x1b[31m", "é", "9" * 300,
)  # fmt: skip
FLAGS = (
    "--gpu", "--instance", "--framework", "--with", "--without", "--images", "--image", "--python", "--arch", "--policy", "--format",
    "--all", "--component", "--holds", "--family", "--layer", "--accept", "--fail-on", "--no-check", "--lock", "--host", "--verbose", "-v",
)  # fmt: skip
junk = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12).filter(
    lambda t: t not in ("-", "-o", "-h")
)
argument = st.one_of(st.sampled_from(WORDS), st.sampled_from(FLAGS), st.sampled_from(WORDS), junk)


TARGET_FLAGS = (
    "--framework",
    "--with",
    "--without",
    "--images",
    "--image",
    "--python",
    "--arch",
    "--policy",
    "--gpu",
    "--instance",
    "--lock",
)
pairs = st.lists(
    st.tuples(st.sampled_from(TARGET_FLAGS), st.one_of(st.sampled_from(WORDS), junk)), max_size=3
)
QUESTIONS = (
    ["resolve", "--gpu", "h100"],
    ["why", "torch", "--gpu", "b200"],
    ["graph", "--gpu", "l4"],
    ["resolve", "--instance", "g5.xlarge"],
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(COMMANDS), st.lists(argument, max_size=6))
def test_any_arguments(command: str, arguments: list[str]) -> None:
    ends_well([command, *arguments])


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(QUESTIONS), pairs)
def test_any_question(question: list[str], flags: list[tuple[str, str]]) -> None:
    ends_well([*question, *(f"{flag}={value}" for flag, value in flags)])


def ends_well(arguments: list[str]) -> None:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    assert code in (0, 1, 2), err.getvalue()
    said = err.getvalue()
    assert "Traceback" not in said
    if code == 2:
        assert out.getvalue() == ""
        assert said.startswith("stackcheck: ")
        assert said.count("\n") == 1
        assert all(c.isprintable() for c in said[:-1])
    else:
        assert said == ""


@pytest.mark.parametrize("flag", ["--framework", "--with", "--image", "--gpu"])
def test_two_dashes_as_a_value(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before Python 3.13 argparse made an empty list of `--flag=--`."""
    assert main(["resolve", f"{flag}=--"]) == 2
    assert capsys.readouterr().err.startswith(f"stackcheck: argument {flag}: expected one argument")
