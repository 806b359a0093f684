"""`nvidia-smi nvlink -s` (`--status`): one line per link under each GPU."""

from __future__ import annotations

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.gpu_lines import listed
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

_LINK = Lazy(r"\s{0,12}Link \d{1,2}: (?P<state>\d{1,4}(?:\.\d{1,4})? GB/s|<inactive>|\S.{0,40})")


def sniff(text: str) -> float:
    """Look for a link with a speed or marked inactive."""
    return 0.9 if "Link 0: " in text and (" GB/s" in text or "<inactive>" in text) else 0.0


def read(draft: Draft) -> None:
    """Record how many links are up on the worst GPU, and how many are down on all."""
    active: list[int] = []
    inactive = 0
    last: Line | None = None
    for line in draft.source.open():
        if (gpus := listed(line.text)) and len(gpus.indices) == 1:
            draft.gpu(gpus.model, line)
            active.append(0)
        elif active and (match := _LINK.match(line.text)):
            draft.claim(line)
            last = line
            if match["state"].endswith("GB/s"):
                active[-1] += 1
            elif match["state"] == "<inactive>":
                inactive += 1
    if last:
        draft.fact("nvlink_active", min(active), last)
        draft.fact("nvlink_inactive", inactive, last)
