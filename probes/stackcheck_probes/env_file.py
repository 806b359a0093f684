"""A file of variables that a job would have: NAME=value lines, read and never run, so that nothing in it is expanded."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stackcheck_probes import files
from stackcheck_probes.host import parse_environ
from stackcheck_probes.mounts import reach

LIMIT = 4 << 20
MOST_LINES = 8  # numbers of lines in a note
_REFERENCE = re.compile(r"\$(?:\{|\(|(?!(?:ORIGIN|LIB|PLATFORM)\b)[A-Za-z_])")
"""A variable or command of a shell; not what the dynamic loader itself puts in."""
_LOADER_TOKEN = re.compile(r"\$\{(?:ORIGIN|LIB|PLATFORM)\}")


def read(path: str) -> tuple[dict[str, str], list[str]]:
    """Return the variables of a file, and notes about what of it could not be used. Raises ``HostError`` if it cannot be read."""
    reach(path)
    return parse(files.read_file(path, LIMIT))


def parse(raw: bytes) -> tuple[dict[str, str], list[str]]:
    """Return the variables of the content of such a file, and notes: lines that set nothing, parts that a shell would expand.

    Notes name lines and variables, never values. The copy of a ``/proc/PID/environ``, whose entries end with NUL, is as the process
    has it.
    """
    if b"\0" in raw:
        return parse_environ(raw), []
    result: dict[str, str] = {}
    idle: list[int] = []
    unexpanded: list[str] = []
    for number, line in enumerate(raw.decode("utf-8", "replace").splitlines(), 1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        entry = parse_environ(bare.encode())
        if not entry:
            idle.append(number)
        is_literal = bare.partition("=")[2][:1] == "'"
        for name, value in entry.items():
            parts = value.split(":")
            kept = [part for part in parts if is_literal or not _is_unexpanded(part)]
            if len(kept) < len(parts):
                unexpanded.append(name)
            if kept:
                result[name] = ":".join(kept)
            else:
                result.pop(name, None)
    return result, [*_idle_note(idle), *_unexpanded_note(unexpanded)]


def _is_unexpanded(part: str) -> bool:
    return _REFERENCE.search(_LOADER_TOKEN.sub("", part)) is not None


def _idle_note(lines: Sequence[int]) -> list[str]:
    if not lines:
        return []
    told = ", ".join(map(str, lines[:MOST_LINES])) + (" ..." if len(lines) > MOST_LINES else "")
    return [f"lines of the environment file that set nothing, as they are no NAME=value: {told}"]


def _unexpanded_note(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    told = ", ".join(dict.fromkeys(names))
    return [f"nothing in the environment file is expanded: parts with a $ were left out of {told}"]
