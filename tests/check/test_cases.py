"""Small nodes, broken and healthy, and what comes first of them; each case says why."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stackcheck.catalog import Catalog
from stackcheck.check import check
from stackcheck.check.node import Node
from stackcheck.cli.collect import read_inventory
from stackcheck.model.inventory import Inventory, Observation

FOLDER = Path(__file__).parent / "cases"
CASES = [
    case for path in sorted(FOLDER.glob("*.json")) for case in json.loads(path.read_text(encoding="utf-8"))
]


def inventory_of(case: dict[str, Any], folder: Path, catalog: Catalog) -> Inventory:
    for name, lines in case["texts"].items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    read = read_inventory([str(folder / name) for name in case["texts"]], catalog)
    node = dict(case.get("node", {}))
    told = {
        name: (Observation(version=version, scope="host"),)
        for name, version in node.pop("components", {}).items()
    }
    return read._replace(components={**read.components, **told}, **node)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict[str, Any], catalog: Catalog, tmp_path: Path) -> None:
    inventory = inventory_of(case, tmp_path, catalog)
    report = check(catalog, inventory)
    if first := case.get("first"):
        finding = report.findings[0]
        assert (str(finding.kind), str(finding.severity)) == (first["kind"], first["severity"]), case["why"]
        assert first["subject"] in finding.subjects[:4]
        assert finding.evidence
        assert finding.sources
        if proved := first.get("proved"):
            assert any(r.proved and proved in r.sets for r in finding.remedy)
    count = Counter(str(f.severity) for f in report.findings)
    for severity, most in case.get("most", {}).items():
        told = [(f.id, f.title) for f in report.findings if f.severity == severity]
        assert count[severity] <= most, (case["why"], told)
    for name, version in case.get("version", {}).items():
        assert str(Node(catalog, inventory).value(name)) == version
