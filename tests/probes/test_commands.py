"""Processes: only those of the list, never longer than their time, never more output than the limit, killed with their children."""

from __future__ import annotations

import os
import resource
import stat
import time
from pathlib import Path

import pytest

from stackcheck_probes import commands
from stackcheck_probes.interface import AbsentError, RefusedError


def program(folder: Path, name: str, text: str) -> Path:
    """Write an executable shell script."""
    path = folder / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_only_names_of_the_list() -> None:
    with pytest.raises(KeyError):
        commands.run("sh", {}, 1.0)


def test_a_program_that_is_not_there_is_absent(tmp_path: Path) -> None:
    with pytest.raises(AbsentError):
        commands.run("nvidia-smi", {}, 1.0, (str(tmp_path),))


def test_output_error_and_status(tmp_path: Path) -> None:
    program(tmp_path, "enroot", 'echo "4.1.2 $1"; echo oops >&2; exit 3')
    output = commands.run("enroot", {"PATH": "/usr/bin:/bin"}, 5.0, (str(tmp_path),))
    assert (output.rc, output.out, output.err) == (3, "4.1.2 version\n", "oops\n")


def test_a_hung_program_and_its_children_are_gone_in_time(tmp_path: Path) -> None:
    marker = tmp_path / "child"
    program(tmp_path, "nvidia-smi", f"sleep 300 &\necho $! > {marker}\nwait\n")
    start = time.monotonic()
    with pytest.raises(RefusedError, match=r"did not answer within 0\.5 s"):
        commands.run("nvidia-smi", {"PATH": "/usr/bin:/bin"}, 0.5, (str(tmp_path),))
    assert time.monotonic() - start < 2.0
    child = int(marker.read_text())
    for _ in range(50):
        if (
            not Path(f"/proc/{child}").exists()
            or "Z" in Path(f"/proc/{child}/stat").read_text().split(")")[1]
        ):
            return
        time.sleep(0.02)
    pytest.fail("the grandchild still runs")


def test_a_program_that_closes_its_output_and_hangs(tmp_path: Path) -> None:
    program(tmp_path, "enroot", "exec >&- 2>&-\nexec sleep 300\n")
    start = time.monotonic()
    with pytest.raises(RefusedError):
        commands.run("enroot", {"PATH": "/usr/bin:/bin"}, 0.5, (str(tmp_path),))
    assert time.monotonic() - start < 2.5


def test_endless_output_is_cut(tmp_path: Path) -> None:
    program(tmp_path, "enroot", "exec head -c 40000000 /dev/zero\n")
    output = commands.run("enroot", {"PATH": "/usr/bin:/bin"}, 20.0, (str(tmp_path),))
    assert len(output.out) <= commands.OUTPUT_LIMIT + (1 << 16)


def test_more_than_a_thousand_open_files_are_no_hindrance(tmp_path: Path) -> None:
    program(tmp_path, "enroot", "echo 4.1.2")
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4000, limit[1]), limit[1]))
    taken = [os.dup(0) for _ in range(1100)]
    try:
        assert commands.run("enroot", {"PATH": "/usr/bin:/bin"}, 5.0, (str(tmp_path),)).out == "4.1.2\n"
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)


def test_no_input_and_no_gpu_reach_the_program(tmp_path: Path) -> None:
    program(tmp_path, "enroot", 'cat; echo "[$CUDA_VISIBLE_DEVICES] [$SECRET] $(pwd)"')
    output = commands.run(
        "enroot", {"PATH": "/usr/bin:/bin", "CUDA_VISIBLE_DEVICES": "0"}, 5.0, (str(tmp_path),)
    )
    assert output.out == "[] [] /\n"


def test_replay_of_captured_output() -> None:
    store = {"/cmd/nvidia-smi": b"out", "/cmd/nvidia-smi.rc": b"9\n", "/cmd/nvidia-smi.err": b"err"}

    def read(path: str, _limit: int) -> bytes:
        if path not in store:
            raise AbsentError(path, "no such file")
        return store[path]

    assert commands.replay("nvidia-smi", read) == commands.Output(9, "out", "err")
    with pytest.raises(AbsentError):
        commands.replay("enroot", read)
    store["/cmd/nvidia-smi.rc"] = b"timeout"
    with pytest.raises(RefusedError, match="in time"):
        commands.replay("nvidia-smi", read)


def test_kernel_messages_are_read_without_waiting(tmp_path: Path) -> None:
    fifo = tmp_path / "kmsg"
    os.mkfifo(fifo)
    keep = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(keep, b"6,1234,3520118,-;NVRM: loading\n")
        assert commands.read_kmsg(str(fifo)) == "[    3.520118] NVRM: loading"
    finally:
        os.close(keep)
    with pytest.raises(AbsentError):
        commands.read_kmsg(str(tmp_path / "none"))


def test_every_command_says_why_and_has_its_own_name() -> None:
    names = [command.name for command in commands.COMMANDS]
    assert len(set(names)) == len(names)
    assert all(command.why for command in commands.COMMANDS)
