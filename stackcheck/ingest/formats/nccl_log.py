"""NCCL's INFO and WARN lines from 2.18 on, those of the aws-ofi-nccl plug-in among them, and nccl-tests.

A rank prints what every other rank prints, so each message is read once; what the messages mean stands in `nccl_messages`.
"""

from __future__ import annotations

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.nccl_messages import MESSAGES
from stackcheck.ingest.formats.nccl_transport import channel, finish_transports
from stackcheck.ingest.interface import Line, SourceText

_LEVELS = ("NCCL INFO ", "NCCL WARN ", "NCCL TRACE ")
_MARKS = (
    *_LEVELS,
    "NET/OFI",
    "NET/Plugin",
    "TUNER/Plugin",
    "NET/IB",
    "NCCL version",
    "NCCL error",
    "nccl==",
    "Avg bus bandwidth",
)
_LIBFABRIC = "libfabric:"


def sniff(text: str) -> float:
    """Look for a line of NCCL or its plug-in."""
    if "NCCL INFO " in text or "NCCL WARN " in text:
        return 1.0
    return 0.5 if any(mark in text for mark in (*_MARKS, _LIBFABRIC)) else 0.0


def read(draft: Draft) -> None:
    """Record versions, plug-in, provider, transports, settings and errors that the log tells."""
    seen: set[str] = set()
    for line in draft.source.open():
        body = _body(draft.source, line)
        if not body or body in seen:
            continue
        seen.add(body)
        draft.shared = False
        if " via " in body and channel(draft, body, line):
            continue
        draft.shared = body is line.text  # a mention in other text, which may say more
        MESSAGES.apply(draft, body, line)
    finish_transports(draft)


def _body(source: SourceText, line: Line) -> str:
    """Return the message of a line that is NCCL's, and claim it; an empty text for other lines."""
    text = line.text
    for level in _LEVELS:
        at = text.find(level)
        if at >= 0:
            source.claim(line.number)
            return text[at + len(level) :]
    if text.startswith(_LIBFABRIC):
        source.claim(line.number)
        return ""
    return text if any(mark in text for mark in _MARKS) else ""
