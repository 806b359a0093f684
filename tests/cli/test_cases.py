"""The case files in tests/cases: each says why it is there. To add one, write a file; nothing else changes."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from tests.cli.cases import FOLDER, failures, load
from tests.cli.conftest import Call, Schema

CASES = sorted(FOLDER.glob("*.json"))
SCHEMAS = {"resolve": "stack", "check": "report"}


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_case(path: Path, call: Call, schema: Schema) -> None:
    case = load(path)
    outcome = call(*case["argv"], "--format", "json")
    assert outcome.code == case["exit"], outcome.err or outcome.out[:2000]
    if outcome.code == 2:
        assert not failures({"message": outcome.message}, case["expect"])
        return
    assert not outcome.err
    jsonschema.validate(outcome.json, schema(SCHEMAS[case["argv"][0]]))
    assert not failures(outcome.json, case["expect"]), case["why"]


CONFLICTS = [p for p in CASES if load(p)["exit"] == 1 and load(p)["argv"][0] == "resolve"]


@pytest.mark.parametrize("path", CONFLICTS, ids=lambda p: p.stem)
def test_every_alternative_of_a_conflict_is_solved_when_it_is_typed(path: Path, call: Call) -> None:
    argv = load(path)["argv"]
    alternatives = call(*argv, "--format", "json").json["alternatives"]
    for alternative in alternatives:
        changed = list(argv)
        for change in alternative["change"]:
            changed = _applied(changed, change["requirement"], change["to"])
        assert changed != argv
        outcome = call(*changed, "--format", "json")
        assert outcome.code == 0, (changed, outcome.json["conflict"])


def _applied(argv: list[str], requirement: str, to: str) -> list[str]:
    """Return the arguments with the value of one flag replaced, or the flag left out."""
    flag, _, value = requirement.rpartition(" ")
    place = next(i for i, a in enumerate(argv) if a == value and argv[i - 1].startswith(flag or "--"))
    if to.startswith("leave "):
        return argv[: place - 1] + argv[place + 1 :]
    return [*argv[:place], to, *argv[place + 1 :]]
