"""Which way NCCL's channels go, and whether NICs reach GPU memory directly (`via NET/Libfabric/0/GDRDMA`)."""

from __future__ import annotations

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

_VIA = Lazy(
    r"\[(?:send|receive|recv)\] via (\S{1,80})|-> \d{1,6}\[[^\]]{1,20}\](?: \[\w{1,8}\])? via (\S{1,80})"
)
_DEVICE = Lazy(r"/\d{1,4}(?:\(\d{1,6}\))?(?=/|\Z)")


def channel(draft: Draft, body: str, line: Line) -> bool:
    """Record the way of a channel, and return whether the message is about one.

    `NET/IB/0/GDRDMA` becomes `NET/IB/GDRDMA`: the device's number says nothing about the kind of way.
    """
    match = _VIA.search(body)
    if match is None:
        return False
    way = _DEVICE.sub("", match[1] or match[2])
    draft.add("nccl_transports", way, line)
    return True


def finish_transports(draft: Draft) -> None:
    """Set `gdr` from the channels over the network: true only if all of them reach GPU memory."""
    ways = draft.facts.get("nccl_transports")
    if not isinstance(ways, tuple):
        return
    network = [str(w) for w in ways if str(w).startswith(("NET/", "GIN/"))]
    if network:
        draft.facts["gdr"] = all("GDRDMA" in w for w in network)
        draft.evidence["fact:gdr"] = draft.evidence["fact:nccl_transports"]
