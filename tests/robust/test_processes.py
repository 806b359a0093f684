"""The command as a process among others: terminals, signals, full disks, two at a time, and odd surroundings."""

from __future__ import annotations

import json
import os
import pty
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import clean_environment
from tests.robust.conftest import Call, ended_well

_STACKCHECK = [sys.executable, "-m", "stackcheck"]


@pytest.mark.parametrize(
    "environment",
    [
        {"HOME": ""},
        {
            "HOME": "/nonexistent",
            "XDG_DATA_HOME": "/dev/null",
            "XDG_CACHE_HOME": "/dev/null",
            "TMPDIR": "/nonexistent",
        },
        {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii:strict"},
        {"LANG": "xx_YY.none", "TERM": "dumb", "COLUMNS": "1"},
        {"COLUMNS": "x", "NO_COLOR": "1", "PATH": ""},
        {"TZ": "none/../..", "PYTHONOPTIMIZE": "2"},
        {"PYTHONWARNINGS": "error", "STACKCHECK_MATRICES": ""},
    ],
    ids=lambda e: " ".join(e),
)
def test_odd_surroundings_change_nothing(spawn: Call, tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "freeze.txt").write_text("torch==2.4.1\n")
    for arguments, code in ((("resolve", "--gpu", "b200"), 0), (("check", "freeze.txt", "--gpu", "b200"), 1)):
        outcome = spawn(*arguments, **environment)
        ended_well(outcome)
        assert outcome.code == code


@pytest.mark.parametrize("columns", [0, 1, 60, 5000])
def test_a_terminal_of_any_width_gets_whole_lines(tmp_path: Path, columns: int) -> None:
    ours, theirs = pty.openpty()
    try:
        size = (24).to_bytes(2, sys.byteorder) + columns.to_bytes(2, sys.byteorder) + bytes(4)
        import fcntl
        import termios

        fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
        process = subprocess.Popen(
            [*_STACKCHECK, "show", "gpu", "b200"], stdout=theirs, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**clean_environment(), "TERM": "xterm"}, cwd=tmp_path,
        )  # fmt: skip
        os.close(theirs)
        shown = b""
        while piece := _read(ours):
            shown += piece
        assert process.wait(20) == 0
    finally:
        os.close(ours)
    text = shown.decode()
    assert text.count("\x1b[") % 2 == 0
    assert text.endswith("\n")
    assert "Traceback" not in text


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # how Linux says that the other side of a terminal is closed
        return b""


def test_two_at_a_time_leave_one_whole_file(tmp_path: Path) -> None:
    target = tmp_path / "stack.lock.json"
    runs = [
        subprocess.Popen([*_STACKCHECK, "resolve", "--gpu", gpu, "-o", str(target)], stdout=subprocess.DEVNULL, env=clean_environment())
        for gpu in ("b200", "h100", "b200", "h100")
    ]  # fmt: skip
    assert [run.wait(60) for run in runs] == [0, 0, 0, 0]
    assert json.loads(target.read_text())["target"]["gpu"] in ("b200", "h100")
    assert [p.name for p in tmp_path.iterdir()] == [target.name]


@pytest.mark.parametrize("delay", [0.1, 0.2, 0.3])
def test_an_interrupt_at_any_time_leaves_nothing_half_written(tmp_path: Path, delay: float) -> None:
    target = tmp_path / "stack.lock.json"
    run = subprocess.Popen(
        [*_STACKCHECK, "resolve", "--gpu", "b200", "-o", str(target)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        env=clean_environment(),
    )  # fmt: skip
    time.sleep(delay)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=30)
    assert run.returncode in (
        0,
        1,
        130,
        -signal.SIGINT,
    )  # 1: the interpreter itself was interrupted while it started
    assert {p.name for p in tmp_path.iterdir()} <= {target.name}
    if target.exists():
        assert json.loads(target.read_text())["status"] == "solved"


def test_what_is_no_file_is_written_to_and_stays_what_it_is(spawn: Call, tmp_path: Path) -> None:
    (tmp_path / "freeze.txt").write_text("torch==2.9.1\n")
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    assert spawn("check", "freeze.txt", "-o", "link").code == 0
    assert (tmp_path / "link").is_symlink()
    assert "no findings" in (tmp_path / "target").read_text()
    if os.access("/dev/full", os.W_OK):
        (tmp_path / "full").symlink_to("/dev/full")
        outcome = spawn("check", "freeze.txt", "-o", "full")
        ended_well(outcome)
        assert outcome.code == 2
        assert (tmp_path / "full").is_symlink()
    assert not list(tmp_path.glob(".stackcheck-*"))


def test_little_memory_is_told(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("torch==2.4.1\n" * 4_000_000)
    done = subprocess.run(
        [*_STACKCHECK, "check", "log", "--gpu", "b200"], capture_output=True, text=True, cwd=tmp_path, env=clean_environment(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20)), timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1, 2)
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 1


def test_a_dash_is_standard_output(spawn: Call, tmp_path: Path) -> None:
    (tmp_path / "freeze.txt").write_text("torch==2.9.1\n")
    assert "no findings" in spawn("check", "freeze.txt", "-o", "-").out
    assert json.loads(spawn("resolve", "--gpu", "b200", "-o", "-").out)["status"] == "solved"
    assert spawn("graph", "--component", "nccl", "-o", "-").out.startswith("digraph")
    outcome = spawn("resolve", "--gpu", "b200", "-o", "-", "--format", "json")
    ended_well(outcome)
    assert outcome.code == 2
    assert [p.name for p in tmp_path.iterdir()] == ["freeze.txt"]


@pytest.mark.skipif(not os.access("/dev/full", os.W_OK), reason="needs /dev/full")
def test_streams_that_nobody_can_write_to_are_no_finding(tmp_path: Path) -> None:
    (tmp_path / "freeze.txt").write_text("torch==2.9.1\n")
    for arguments in (("check", "freeze.txt"), ("check", "missing"), ("check", "--nonsense")):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run([*_STACKCHECK, *arguments], stdout=full, stderr=full, cwd=tmp_path, env=clean_environment(), check=False)  # fmt: skip
        assert done.returncode == 2, arguments


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "0"}, False),
        ({"FORCE_COLOR": "false"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
        ({"FORCE_COLOR": "", "TERM": "xterm"}, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, False),
    ],
    ids=str,
)
def test_colour_into_a_pipe_only_if_it_is_wished(
    spawn: Call, environment: dict[str, str], coloured: bool
) -> None:
    assert ("\x1b[" in spawn("show", "gpu", "b200", **environment).out) is coloured
