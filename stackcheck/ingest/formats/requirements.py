"""`requirements.txt`, constraints and pip's own messages: pins count as versions, ranges are only told in a note."""

from __future__ import annotations

import re

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.pins import parse_pin, parse_wheel
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

_RANGE = Lazy(r"\s{0,4}[A-Za-z0-9][\w.-]{0,80}(?:\[[\w,. -]{0,80}\])? {0,4}(?:[<>~!]=|[<>]|==\s*[\d.]+\.\*)")
_INSTALLED = Lazy(r"Successfully installed (.{1,8000})")
_DIST = Lazy(r"([A-Za-z0-9][\w.-]{0,80}?)-(\d[\w.!+]{0,80})(?= |\Z)")
_SATISFIED = Lazy(r"Requirement already satisfied: ([\w.-]{1,80}).{0,400}? \((\d[\w.!+]{0,80})\)\s*\Z")
_CONFLICT = Lazy(
    r"(?:you have|but you'll have) ([\w.-]{1,80}) (\d[\w.!+]{0,80}) (?:which|installed)|but you have ([\w.-]{1,80}) (\d[\w.!+]{0,80}?)\.?(?: |\Z)"
)
_OPTION = (
    "-r ",
    "-c ",
    "--index-url",
    "--extra-index-url",
    "--find-links",
    "-i ",
    "-f ",
    "--trusted-host",
    "--pre",
    "--no-binary",
    "--hash",
)


def sniff(text: str) -> float:
    """Look for a range, an option of a requirements file, or a message of pip."""
    if "Successfully installed " in text or "Requirement already satisfied" in text or ".whl" in text:
        return 0.6
    return 0.5 if any(_RANGE.match(line) for line in text.split("\n", 4000)[:4000]) else 0.1


def read(draft: Draft) -> None:
    """Record pins and what pip says it installed; note ranges of known packages."""
    for line in draft.source.open():
        text = line.text.strip()
        if "Successfully installed " in text and (match := _INSTALLED.search(text)):
            for name, version in _DIST.findall(match[1]):
                draft.package(name, version, line)
        elif "already satisfied" in text and (match := _SATISFIED.match(text)):
            draft.package(match[1], match[2], line)
        elif "you have " in text and (match := _CONFLICT.search(text)):
            draft.package(match[1] or match[3], match[2] or match[4], line)
        elif ".whl" in text and (pin := parse_wheel(text)):
            draft.package(pin.name, pin.version, line, attributes=pin.attributes)
        elif text.startswith(_OPTION):
            draft.source.claim(line.number)
        elif text and text[0].isalnum() and _RANGE.match(text):
            _range(draft, text, line)


def _range(draft: Draft, text: str, line: Line) -> None:
    pin = parse_pin(text)
    if pin is None or not pin.wanted:
        return
    component = draft.context.package(pin.name)
    if component or re.search(r"[<>~=]=? {0,2}\d", pin.wanted):
        draft.source.claim(line.number)
    if component:
        draft.note(f"{pin.name} is only asked for as {pin.wanted}: the version in use is not told", line)
