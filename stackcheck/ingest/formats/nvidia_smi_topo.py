"""`nvidia-smi topo -m`: how GPUs and NICs are connected."""

from __future__ import annotations

import re

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.patterns import Lazy

_ROW = Lazy(
    r"\s{0,8}(?P<name>GPU\d{1,3}|NIC\d{1,3}|mlx\w{1,20}|rdmap\w{1,20}|efa\w{0,20})\s{1,20}(?P<cells>(?:(?:X|SYS|NODE|PHB|PXB|PIX|NV\d{1,2}|SOC)\s{1,20}){1,160})"
)
_HEADER = Lazy(r"\s{1,20}GPU0\s")
_LEGEND = Lazy(r"\s{0,8}(?:Legend:|(?:X|SYS|NODE|PHB|PXB|PIX|NV#)\s{1,8}= |NIC Legend:|NIC\d{1,3}: )")


def sniff(text: str) -> float:
    """Look for a row of the matrix."""
    return 1.0 if _HEADER.search(text) and ("GPU0" in text) else 0.0


def read(draft: Draft) -> None:
    """Record the number of GPUs and NICs, the NVLinks between GPUs, and the nearest way from a GPU to a NIC."""
    columns: list[str] = []
    nics: set[str] = set()
    gpus: set[str] = set()
    pairs: set[str] = set()
    for line in draft.source.open():
        text = line.text + " "
        if _HEADER.match(text):
            columns = re.findall(r"GPU\d{1,3}|NIC\d{1,3}|mlx\w{1,20}|rdmap\w{1,20}|efa\w{0,20}", text)
            draft.source.claim(line.number)
        elif _LEGEND.match(text):
            draft.source.claim(line.number)
        elif columns and (row := _ROW.match(text)):
            draft.source.claim(line.number)
            cells = row["cells"].split()[: len(columns)]
            for column, cell in zip(columns, cells, strict=False):
                if row["name"].startswith("GPU") and column.startswith("GPU") and cell != "X":
                    pairs.add(cell)
            if row["name"].startswith("GPU"):
                gpus.add(row["name"])
                near = [c for n, c in zip(columns, cells, strict=False) if not n.startswith("GPU")]
                if near:
                    draft.add("gpu_nic_paths", min(near, key=_distance), line)
            else:
                nics.add(row["name"])
            last = line
    if gpus:
        draft.gpu(None, last, len(gpus))
    if nics:
        draft.fact("topology_nics", len(nics), last)
    if pairs:
        draft.fact("nvlink", _links(pairs), last)
        for pair in sorted(pairs):
            draft.add("gpu_gpu_paths", pair, last)


_ORDER = ("X", "PIX", "PXB", "PHB", "NODE", "SOC", "SYS")


def _distance(cell: str) -> int:
    return _ORDER.index(cell) if cell in _ORDER else 0


def _links(pairs: set[str]) -> int:
    """Return the smallest number of NVLinks between two GPUs; 0 if a pair has none."""
    return min(int(p[2:]) if p.startswith("NV") else 0 for p in pairs)
