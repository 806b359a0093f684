"""The verdict on whole nodes: none deserves a complaint that is healthy, and of a broken one the fault is named first.

`expected.json` beside a tree says which findings are errors and warnings, most important first, and words that the first one must hold.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Call

NODES = Path(__file__).parents[1] / "nodes"
NAMES = sorted(
    p.name for p in NODES.iterdir() if any((p / m).is_file() for m in ("node.json", "overlay.json"))
)


def expected(name: str) -> dict[str, list[str]]:
    loaded: dict[str, list[str]] = json.loads((NODES / name / "expected.json").read_text())
    return loaded


def shown(findings: list[dict[str, Any]], severity: str) -> list[str]:
    return [f["id"] for f in findings if f["severity"] == severity]


@pytest.mark.parametrize("name", NAMES)
def test_errors_and_warnings_of_a_node(call: Call, name: str) -> None:
    outcome = call("probe", "--root", str(NODES / name), "--format", "json")
    wanted = expected(name)
    findings = outcome.json["findings"]
    assert {s: shown(findings, s) for s in ("error", "warning")} == {
        s: wanted[s] for s in ("error", "warning")
    }
    assert outcome.code == (1 if wanted["error"] else 0)


@pytest.mark.parametrize("name", [n for n in NAMES if "+" in n])
def test_the_fault_is_named_first_with_evidence(call: Call, name: str) -> None:
    outcome = call("probe", "--root", str(NODES / name), "--format", "json")
    first = outcome.json["findings"][0]
    text = json.dumps([first["title"], first["evidence"]])
    assert first["severity"] in ("error", "warning")
    assert [word for word in expected(name)["first_names"] if word not in text] == []
    assert first["remedy"]
    assert first["sources"]


def test_the_names_of_the_folders_and_the_verdicts_agree() -> None:
    assert {n for n in NAMES if expected(n)["error"] or expected(n)["warning"]} == {
        n for n in NAMES if "+" in n
    }
    assert sum("+" in n for n in NAMES) >= 12
