"""Shell sessions and scripts: what command lines set, what commands print, and messages that explain themselves."""

from __future__ import annotations

import re
from itertools import pairwise

from stackcheck.ingest.draft import MENTION, Draft
from stackcheck.ingest.formats.env import assignment, set_variable
from stackcheck.ingest.formats.pins import parse_pin, parse_wheel
from stackcheck.ingest.formats.shell_output import command_output, no_service, path_fact
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

# A line that starts a program without a prompt before it, with variables set for it or passed to it.
_LAUNCH = Lazy(
    r"\s{0,8}(?:[A-Z][A-Z0-9_]{1,79}=\S{0,400}\s{1,4}){0,40}(?:sudo )?"
    r"(?:docker run|podman run|nerdctl run|enroot start|srun|mpirun|mpiexec|torchrun|accelerate launch|deepspeed|vllm serve|python3? )"
)
_NO_ACCESS = Lazy(r"ls: cannot access '?(?P<path>/[^':]{1,200}?)'?: No such file or directory")
_NO_UNIT = Lazy(
    r"Unit (?P<name>[\w@.-]{1,80}?)(?:\.service)? could not be found|unit file state for (?P<state>[\w@.-]{1,80}?)(?:\.service)?: No such file"
)
_ACTIVE = Lazy(r"\s{0,8}Active: (?P<state>\w{1,20})\b")
_STATUS = Lazy(r"\W{0,4}(?P<name>[\w@-]{1,80})\.service - ")


def sniff(text: str) -> float:
    """Look for messages that explain themselves, or a line that starts a program; else the command decides."""
    if any(mark in text for mark in ("cannot access", "could not be found", "unit file state", "Active: ")):
        return 0.2
    return 0.1 if any(_LAUNCH.match(line) for line in text.split("\n", 20_000)[:20_000]) else 0.0


def read(draft: Draft) -> None:
    """Record what the command line sets, and what its output says."""
    lines = [line for line in draft.source.open() if line.text.strip()]
    command = draft.source.command
    if command:
        _command_line(draft, command, draft.source.command_line)
        command_output(draft, command, lines)
    for line in draft.source.open():
        if _LAUNCH.match(line.text):
            _command_line(draft, line.text.strip(), line)
        _self_explaining(draft, line)


def _command_line(draft: Draft, command: str, line: Line) -> None:
    """Record what a command sets: variables before it, `-e NAME=VALUE`, the image it runs, the packages it asks for."""
    words = command.split()[:200]
    for word in words[1:] if words and words[0] == "export" else words:
        found = assignment(word) if "=" in word else None
        if not found:
            break
        set_variable(draft, found[0], found[1], line)
    if words and any(w in ("docker", "podman", "nerdctl") for w in words[:2]) and "run" in words[:6]:
        _docker_run(draft, words, line)
    for flag, value in pairwise(words):
        if flag in ("-e", "--env", "-x") and "=" in value and (found := assignment(value)):
            set_variable(draft, found[0], found[1], line)
    if "install" in words[:6]:
        _pip_install(draft, words, line)


def _pip_install(draft: Draft, words: list[str], line: Line) -> None:
    """What somebody asked pip for is hearsay: the package list tells what came of it."""
    method, draft.method = draft.method, MENTION
    for word in words:
        bare = word.strip("'\"")
        pin = parse_wheel(bare) or (parse_pin(bare) if "==" in bare else None)
        if pin and pin.version:
            draft.package(pin.name, pin.version, line, attributes=pin.attributes)
    draft.method = method


def _docker_run(draft: Draft, words: list[str], line: Line) -> None:
    for word in words[2:]:
        if re.fullmatch(
            r"(?:[\w.-]{1,80}(?::\d{1,5})?/)?[\w./-]{2,150}:[\w.-]{1,120}(?:@sha256:\w{64})?", word
        ) and not word.startswith(("/", "-", ".")):
            draft.single("image", word, line)
            return


def _self_explaining(draft: Draft, line: Line) -> None:
    text = line.text
    if "cannot access" in text and (match := _NO_ACCESS.search(text)):
        draft.fact(path_fact(match["path"]), False, line)
    elif ("could not be found" in text or "unit file state" in text) and (match := _NO_UNIT.search(text)):
        no_service(draft, match["name"] or match["state"], line)
    elif "Active: " in text and (match := _ACTIVE.match(text)):
        unit = re.search(r"systemctl status ([\w@-]{1,80})", draft.source.command) or _unit_above(draft, line)
        if unit:
            draft.fact(f"service:{unit[1]}", match["state"], line)


def _unit_above(draft: Draft, line: Line) -> re.Match[str] | None:
    above = [x for x in draft.source.lines if line.number - 6 <= x.number < line.number]
    return next((m for x in reversed(above) if (m := _STATUS.match(x.text))), None)
