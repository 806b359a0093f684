"""`pip list`, `uv pip list`, `pip show`, and what a `grep` leaves of them: columns of name and version."""

from __future__ import annotations

import re

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.efa_packages import upstream
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

_HEADER = Lazy(r"\s{0,4}Package\s{1,80}Version(?:\s{1,40}.*)?\Z")
_RULE = Lazy(r"\s{0,4}-{3,}(?:\s+-{3,})*\s*\Z")
_ROW = Lazy(
    r"\s{0,4}(?P<name>[A-Za-z0-9][\w.-]{0,80})\s{1,80}(?P<version>\d{1,9}(?:\.\w{1,40}){1,8}(?:[+!-][\w.+-]{1,80})?)"
    r"(?:\s{1,40}(?P<rest>(?:pypi_?\d?|/|https?:|file:)\S{0,400}))?\s{0,40}\Z"
)
_SHOWN = Lazy(r"(?P<key>Name|Package|Version|Location): (?P<value>\S{1,300})\s*\Z")
_MAYBE = Lazy(
    r"\s{0,4}(?:Package\s|---|[A-Za-z0-9][\w.-]{0,80}\s{1,80}\d)|(?:Name|Package|Version|Location): "
)
_COMMANDS = ("pip list", "pip3 list", "pip freeze", "pip3 freeze", "pip show", "uv pip", "conda list")


def sniff(text: str) -> float:
    """Look for the header, or for rows of name and version."""
    if re.search(r"(?m)^\s{0,4}Package\s+Version", text):
        return 0.9
    return 0.5


def read(draft: Draft) -> None:
    """Record the packages that belong to known components."""
    inside = any(c in draft.source.command for c in _COMMANDS)
    name = ""
    maybe = _MAYBE.compiled().match
    for line in draft.source.open():
        text = line.text
        if not maybe(text):
            continue
        if _HEADER.match(text):
            inside = True
            draft.source.claim(line.number)
        elif inside and _RULE.match(text):
            draft.source.claim(line.number)
        elif match := _SHOWN.match(text):
            name = _shown(draft, match, name, line)
        elif (match := _ROW.match(text)) and (inside or _known(draft, match["name"])):
            draft.package(match["name"], match["version"], line)


def _known(draft: Draft, name: str) -> bool:
    """Whether a row without a header is of a known package; short or wordy names need more than that."""
    component = draft.context.package(name)
    return component is not None and component not in ("cuda", "driver", "kernel", "os", "python", "glibc")


def _shown(draft: Draft, match: re.Match[str], name: str, line: Line) -> str:
    draft.source.claim(line.number)
    if match["key"] in ("Name", "Package"):
        return match["value"]
    if match["key"] == "Version" and name:
        draft.package(name, upstream(match["value"]), line)
        return ""
    return name
