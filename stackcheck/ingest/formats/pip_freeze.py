"""`pip freeze` and `uv pip freeze`: one exact pin per line, editable and direct references among them."""

from __future__ import annotations

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.pins import parse_pin
from stackcheck.ingest.patterns import Lazy

_PINNED = Lazy(r"(?m)^\s{0,8}(?:- )?[A-Za-z0-9][\w.-]{0,80}(?:\[[\w,. -]{0,80}\])?(?:==\d| @ \S)")
_SKIPPED = ("-e ", "--", "-i ", "-f ", "# Editable")


def sniff(text: str) -> float:
    """Look for a line that is a pin."""
    return 0.8 if _PINNED.search(text) else 0.0


def read(draft: Draft) -> None:
    """Record the pinned packages that belong to known components."""
    for line in draft.source.open():
        text = line.text.strip().removeprefix("- ")
        if text.startswith(_SKIPPED):
            if text.startswith(("-e ", "# Editable")):
                draft.source.claim(line.number)
            continue
        if "==" not in text and " @ " not in text:
            continue
        pin = parse_pin(text)
        if pin and pin.version:
            draft.package(pin.name, pin.version, line, attributes=pin.attributes)
        elif pin and " @ " in text:
            draft.source.claim(line.number)
