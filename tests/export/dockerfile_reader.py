"""A small, strict reader of Dockerfiles: enough of the reference to be a judge, and nothing lenient."""

from __future__ import annotations

import re
import shlex

INSTRUCTIONS = {"FROM", "RUN", "ENV", "ARG", "COPY", "LABEL", "WORKDIR", "USER", "CMD", "ENTRYPOINT"}


def read(text: str) -> list[tuple[str, str]]:
    """Return (instruction, arguments) pairs with continued lines joined.

    Raises:
        ValueError: a line is no instruction, a continuation ends in nothing, or FROM does not come first.
    """
    found: list[tuple[str, str]] = []
    pending = ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("#") or (not line.strip() and not pending):
            continue
        if line.endswith("\\"):
            pending += line[:-1] + " "
            continue
        word, _, rest = (pending + line).strip().partition(" ")
        pending = ""
        if word not in INSTRUCTIONS or not rest.strip():
            raise ValueError(f"line {number} is no instruction: {line[:80]!r}")
        found.append((word, rest.strip()))
    if pending:
        raise ValueError("the last line is continued")
    before = [word for word, _ in found[: [w for w, _ in found].index("FROM")]]
    if set(before) - {"ARG"}:
        raise ValueError("something stands before FROM")
    return found


def environment(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Return the ENV values as a shell-like reader sees them."""
    values = {}
    for word, rest in pairs:
        if word == "ENV":
            match = re.fullmatch(r'([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\$]|\\.)*)"', rest)
            if match is None:
                raise ValueError(f'ENV {rest[:80]!r} is not NAME="value"')
            values[match[1]] = re.sub(r"\\(.)", r"\1", match[2])
    return values


def words(command: str) -> list[str]:
    """Return the shell words of a RUN line."""
    return shlex.split(command)
