"""Cut a text into pieces: what a shell command printed, what stands in a Markdown block, and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stackcheck.ingest.cleaning import is_fence
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

# `$ cmd`, `root@host:/# cmd`, `[user@host dir]$ cmd`, `(venv) user@host:~$ cmd`, `sh-5.1# cmd`, `% cmd`, `PS C:\> cmd`
_MOST = 1000  # segments of a text; what comes after is read as one
_PROMPT = Lazy(
    r"\s{0,8}(?:\([\w.+ -]{1,40}\) ?)?"
    r"(?:\[?[\w.+-]{1,64}@[\w.-]{1,64}[: ][^$#%>\n]{0,120}?\]?[$#%>]|(?:ba|z|da|k)?sh-[\d.]{1,8}[$#]|PS [A-Z]:[^>]{0,100}>|[$%])"
    r"\s+(?P<command>\S.*)"
)
PYTHON_PROMPT = ">>> "
_HASH = Lazy(r"\s{0,4}#\s+(?P<command>\S.*)")
# A line that begins with `#` is a root prompt only if a program that people show in reports follows; else it is a comment.
_PROGRAMS = frozenset(
    [
        "apt",
        "apt-cache",
        "awk",
        "bash",
        "cat",
        "conda",
        "curl",
        "dcgmi",
        "df",
        "dkms",
        "dmesg",
        "docker",
        "dpkg",
        "dpkg-query",
        "echo",
        "egrep",
        "enroot",
        "env",
        "fi_info",
        "find",
        "free",
        "grep",
        "head",
        "hostnamectl",
        "ibstat",
        "ibv_devices",
        "ibv_devinfo",
        "ip",
        "journalctl",
        "kubectl",
        "ldconfig",
        "ldd",
        "ls",
        "lsb_release",
        "lscpu",
        "lsmod",
        "lspci",
        "modinfo",
        "module",
        "mount",
        "mpirun",
        "numactl",
        "nv-fabricmanager",
        "nvcc",
        "nvidia-ctk",
        "nvidia-imex-ctl",
        "nvidia-smi",
        "ompi_info",
        "pip",
        "pip3",
        "printenv",
        "ps",
        "ptxas",
        "python",
        "python3",
        "rdma",
        "readlink",
        "rpm",
        "scontrol",
        "sinfo",
        "srun",
        "ss",
        "strings",
        "sudo",
        "sysctl",
        "systemctl",
        "tail",
        "time",
        "torchrun",
        "ulimit",
        "uname",
        "uv",
        "which",
        "yum",
    ]
)
_BARE = frozenset(("dmesg", "env", "lsmod", "lspci", "nvidia-smi", "printenv", "sinfo"))


class Segment(NamedTuple):
    """Consecutive lines of one origin; `command` is what printed them, `at` the line where the command stands (0: none)."""

    command: str
    at: int
    lines: Sequence[Line]


def command_of(text: str) -> str:
    """Return the command of a line that shows a shell prompt, or an empty text."""
    head = text[:200]
    if "$ " not in head and "# " not in head and "% " not in head and "> " not in head:
        return ""
    if head.startswith(PYTHON_PROMPT):
        return text.strip()
    match = _PROMPT.match(text)
    if match:
        return match["command"].strip()
    match = _HASH.match(text)
    if match:
        words = match["command"].split()
        programs = [w for w in words[:2] if "=" not in w]
        if ": " in match["command"][:40]:
            return ""  # `# nvidia-smi -L: 4 x H100` is a remark
        known = bool(programs) and programs[0].rpartition("/")[2] in _PROGRAMS
        if known and (len(words) > 1 or words[0] in _BARE):
            return match["command"].strip()
    return ""


def split(lines: Sequence[Line]) -> list[Segment]:
    """Return the segments of a file in order; fence lines and prompt lines are in none."""
    segments: list[Segment] = []
    command, at, start = "", 0, 0

    def close(end: int) -> None:
        if command or end > start:
            segments.append(Segment(command, at, lines[start:end]))

    for i, (number, text) in enumerate(lines):
        if not text:
            continue
        found = command_of(text)
        if found or is_fence(text) or (command and text.startswith("# ")):
            close(i)
            if len(segments) == _MOST:
                segments.append(Segment("", 0, lines[i:]))
                return segments
            command, at, start = found, number if found else 0, i + (1 if found or is_fence(text) else 0)
    close(len(lines))
    return segments
