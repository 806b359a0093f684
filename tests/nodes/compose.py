"""Write the node trees of this folder: healthy ones from parts, broken ones as overlays with one fault each.

    python -m tests.nodes.compose            write all trees anew
    python -m tests.nodes.compose NAME ...   only these

The parts have the formats of the real files (kernel documentation, NVIDIA's open kernel modules, the EFA installer); names of
machines, serial numbers and addresses are made up. What stands in /sys and similar small files is in ``node.json``.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from tests.nodes.faults import FAULTS
from tests.nodes.healthy import NODES
from tests.nodes.tree import Tree

HERE = Path(__file__).resolve().parent
EXPECTED = "expected.json"  # the verdict, written by people


def write(name: str, tree: Tree, base: str | None, why: str) -> None:
    """Write one tree, replacing what was there."""
    folder = HERE / name
    kept = folder / EXPECTED
    expected = kept.read_bytes() if kept.exists() else None
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if expected is not None:
        kept.write_bytes(expected)
    for path, data in tree.binary.items():
        target = folder / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    marker: dict[str, object] = {"why": why, "files": dict(sorted(tree.small.items()))}
    marker["links"] = dict(sorted(tree.links.items()))
    for key in ("directories", "absent", "unreadable"):
        values = sorted(getattr(tree, key))
        if values:
            marker[key] = values
    if base:
        marker["base"] = f"../{base}"
    text = json.dumps({key: value for key, value in marker.items() if value}, indent=1, sort_keys=True)
    (folder / ("overlay.json" if base else "node.json")).write_text(text + "\n")


def main(names: list[str]) -> None:
    """Write the trees of these names, or all."""
    for name, (why, compose) in NODES.items():
        if not names or name in names:
            write(name, compose(), None, why)
    for name, (base, why, change) in FAULTS.items():
        if not names or name in names:
            tree = Tree(machine="aarch64" if "gb200" in base else "x86_64")
            change(tree)
            write(name, tree, base, why)


if __name__ == "__main__":
    main(sys.argv[1:])
