"""Every process the probes may start: the closed list, and the one function that starts one.

A command has its own process group and is killed with it when its time is up; its input is empty, its output bounded,
and no shell is involved. In a captured tree ``cmd/NAME`` holds what it printed, ``cmd/NAME.rc`` its exit status
(default 0) and ``cmd/NAME.err`` what it said on standard error.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Callable, NamedTuple

from stackcheck_probes.interface import AbsentError, RefusedError

if TYPE_CHECKING:
    import subprocess

OUTPUT_LIMIT = 16 << 20
DIRECTORIES = (
    "/usr/bin",
    "/usr/sbin",
    "/bin",
    "/sbin",
    "/usr/local/bin",
    "/usr/local/nvidia/bin",
    "/opt/slurm/sbin",
)
_KMSG_LIMIT = 8 << 20
NEWER = 20  # minor versions of Python that are looked for


class Command(NamedTuple):
    """A command: the name under which probes ask for it, its argument list, and why it is needed."""

    name: str
    argv: tuple[str, ...]
    why: str


class Output(NamedTuple):
    """What a command did: exit status, standard output and standard error, as text."""

    rc: int
    out: str
    err: str = ""


COMMANDS: tuple[Command, ...] = (
    Command("nvml", (), "our own interpreter with nvml_child.py: a crash or hang of NVML must not reach the probe"),
    Command("nvidia-smi", ("nvidia-smi", "-q", "-x"), "GPU state, only where NVML itself did not answer"),
    Command("nvidia-imex-ctl", ("nvidia-imex-ctl", "-N"), "state of the multi-node NVLink domain"),
    Command("journalctl", ("journalctl", "-k", "-b", "-q", "--no-pager", "-o", "short-monotonic", "-n", "20000"),
            "kernel messages, only where /dev/kmsg may not be read"),
    Command("modinfo-nvidia", ("modinfo", "-F", "version", "nvidia"), "driver module on disk, if compressed with zstd"),
    Command("rpm", ("rpm", "-qa", "--qf", "%{NAME}\\t%{VERSION}-%{RELEASE}\\n"),
            "packages, only where the database is not SQLite"),
    Command("slurmd", ("slurmd", "-V"), "Slurm version, only where no package says it"),
    Command("enroot", ("enroot", "version"), "enroot version, only where no package says it"),
)  # fmt: skip


def find(name: str) -> Command:
    """Return the command of that name; only those of the list exist (``KeyError`` is a fault of the caller)."""
    return {command.name: command for command in COMMANDS}[name]


def run(
    name: str, environ: Mapping[str, str], timeout: float, directories: tuple[str, ...] = DIRECTORIES
) -> Output:
    """Start a command of the list and return its output; raises ``AbsentError`` or ``RefusedError`` (with the reason).

    Programs are looked for in ``directories`` alone, not along the caller's PATH.
    """
    import subprocess  # most nodes need none of this, and it is slow to import

    argv = _argv(find(name), directories)
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environ, "LC_ALL": "C", "CUDA_VISIBLE_DEVICES": ""},
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise RefusedError(name, (error.strerror or "cannot be started").lower()) from None
    return _collect(name, process, timeout)


GOES_ON = "STACKCHECK_GOES_ON"
"""Variable that says that this interpreter was started in the place of an older one: it looks for no other."""


def go_on_with_newer_python(floor: tuple[int, int]) -> None:
    """Put the newest interpreter on PATH from ``floor`` on (``python3.13``) in our place, with the same arguments; return if there is none."""
    if os.environ.get(GOES_ON) or not sys.argv[0]:
        return
    directories = [part for part in os.environ.get("PATH", "").split(":") if part.startswith("/")]
    for minor in range(floor[1] + NEWER, floor[1] - 1, -1):
        for directory in directories:
            program = f"{directory}/python{floor[0]}.{minor}"
            if os.access(program, os.X_OK):
                sys.stdout.flush()
                with contextlib.suppress(OSError):
                    os.execve(program, [program, *sys.argv], {**os.environ, GOES_ON: "1"})  # noqa: S606 - no shell is wanted


def replay(name: str, read: Callable[[str, int], bytes]) -> Output:
    """Return the captured output of a command of the list; raises ``AbsentError`` where none was captured."""
    find(name)
    out = read(f"/cmd/{name}", OUTPUT_LIMIT).decode("utf-8", "replace")
    return Output(_captured_rc(name, read), out, _captured(f"/cmd/{name}.err", read))


def _captured(path: str, read: Callable[[str, int], bytes]) -> str:
    try:
        return read(path, OUTPUT_LIMIT).decode("utf-8", "replace")
    except (AbsentError, RefusedError):
        return ""


def _captured_rc(name: str, read: Callable[[str, int], bytes]) -> int:
    text = _captured(f"/cmd/{name}.rc", read).strip()
    if text == "timeout":
        raise RefusedError(name, "did not answer in time")
    return int(text) if text.lstrip("-").isdigit() else 0


def _argv(command: Command, directories: tuple[str, ...]) -> list[str]:
    if command.name == "nvml":
        import pkgutil

        source = pkgutil.get_data(__package__ or "stackcheck_probes", "nvml_child.py") or b""
        return [sys.executable, "-I", "-S", "-c", source.decode()]
    for directory in directories:
        path = f"{directory}/{command.argv[0]}"
        if os.access(path, os.X_OK):
            return [path, *command.argv[1:]]
    raise AbsentError(command.argv[0], "no such program")


def _collect(name: str, process: subprocess.Popen[bytes], timeout: float) -> Output:
    if process.stdout is None or process.stderr is None:
        raise RefusedError(name, "has no output")
    streams = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    out, err = streams.values()
    rc = _pump(process, streams, time.monotonic() + timeout)
    process.stdout.close()
    process.stderr.close()
    if rc is None:
        raise RefusedError(name, f"did not answer within {timeout:g} s and was stopped")
    return Output(rc, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def _pump(process: subprocess.Popen[bytes], streams: Mapping[int, bytearray], deadline: float) -> int | None:
    """Fill the buffers until the process ends; return its status, or None after killing its whole group."""
    import select
    import subprocess

    waiting = dict(streams)
    poll = select.poll()  # ``select`` itself refuses descriptors above 1023
    for fd in waiting:
        poll.register(fd, select.POLLIN)
    while waiting:
        left = deadline - time.monotonic()
        ready = poll.poll(1000 * left) if left > 0 else []
        if not ready:
            _kill(process)
            return None
        for fd, _event in ready:
            chunk = os.read(fd, 1 << 16)
            if not chunk:
                del waiting[fd]
                poll.unregister(fd)
            elif len(waiting[fd]) < OUTPUT_LIMIT:
                waiting[fd] += chunk
    try:
        return process.wait(max(0.05, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        _kill(process)
        return None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the group and give the kernel a moment; a process stuck in the kernel is left behind, not waited for."""
    import signal
    import subprocess

    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(0.5)
    except (OSError, subprocess.TimeoutExpired):
        process.returncode = process.returncode if process.returncode is not None else -signal.SIGKILL


def read_kmsg(path: str) -> str:
    """Return the kernel messages as lines ``[seconds] text``, without waiting for new ones.

    Format of a record: Documentation/ABI/testing/dev-kmsg of Linux (``prio,seq,usec,flags;text``).
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        kind = AbsentError if error.errno in (errno.ENOENT, errno.ENXIO) else RefusedError
        raise kind(path, (error.strerror or "unreadable").lower()) from None
    lines: list[str] = []
    size = 0
    try:
        while size < _KMSG_LIMIT:
            try:
                record = os.read(fd, 8192)
            except BrokenPipeError:
                continue  # the ring buffer overtook us; the next read continues with the oldest record left
            except OSError:
                break  # EAGAIN: no more records
            if not record:
                break
            size += len(record)
            lines.append(_kmsg_line(record.decode("utf-8", "replace")))
    finally:
        os.close(fd)
    return "\n".join(lines)


def _kmsg_line(record: str) -> str:
    head, _, text = record.partition(";")
    fields = head.split(",")
    text = text.split("\n", 1)[0]
    if len(fields) < 3 or not fields[2].isdigit():
        return text
    return f"[{int(fields[2]) / 1e6:12.6f}] {text}"
