"""The index of the rules spares reading files; it must never change which rules come into question."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from stackcheck.catalog import open_catalog
from stackcheck.catalog.catalog import INDEX
from stackcheck.catalog.files import FileStore, matrices_root
from stackcheck.catalog.rulebook import Rulebook


class Counting:
    """A store that notes which files were read."""

    def __init__(self, root: Path | str) -> None:
        self.store = FileStore((str(root),))
        self.seen: list[str] = []

    def names(self, folder: str) -> tuple[str, ...]:
        return self.store.names(folder)

    def read(self, name: str) -> Any:
        self.seen.append(name)
        return self.store.read(name)

    def size(self, name: str) -> int:
        return self.store.size(name)


@pytest.fixture(scope="module")
def index() -> dict[str, Any]:
    body: dict[str, Any] = FileStore((matrices_root(),)).read(INDEX)["rules"]
    return body


@pytest.mark.parametrize("seed", range(8))
def test_the_same_rules_with_and_without_the_index(seed: int, index: dict[str, Any]) -> None:
    subjects = sorted({word for file in index.values() for row in file["demands"] for word in row.split()})
    chance = random.Random(seed)
    known = set(chance.sample(subjects, k=len(subjects) * (seed + 1) // 10))
    files = Counting(matrices_root())
    with_index = Rulebook(files, index).about(known.__contains__)
    assert with_index
    assert with_index == Rulebook(Counting(matrices_root())).about(known.__contains__)
    assert len(files.seen) == len(set(files.seen)) <= len(index)


def test_what_nobody_knows_is_not_read(index: dict[str, Any]) -> None:
    files = Counting(matrices_root())
    found = Rulebook(files, index).about({"xformers", "torch"}.__contains__)
    assert any("xformers" in rule.subject_names() for rule in found)
    assert 0 < len(files.seen) < len(index) / 2


def test_a_rule_written_after_the_index_counts(tmp_path: Path) -> None:
    root = tmp_path / "matrices"
    shutil.copytree(matrices_root(), root)
    path = root / "rules" / "xformers.json"
    body = json.loads(path.read_text())
    added = {**body["rules"][0], "id": "added-later", "when": {"numpy": ">=1"}}
    path.write_text(json.dumps({**body, "rules": [*body["rules"], added]}))
    catalog = open_catalog(str(root))
    assert catalog.rule_index
    found = catalog.rulebook.about({"numpy"}.__contains__)
    assert "added-later" in {rule.id for rule in found}


def test_a_rule_is_found_by_its_id_without_reading_the_others(index: dict[str, Any]) -> None:
    files = Counting(matrices_root())
    book = Rulebook(files, index)
    found = book.rule("xformers-other-torch")
    assert found is not None
    assert files.seen == ["rules/xformers.json"]
    assert book.rule("no-such-rule") is None
    assert files.seen == ["rules/xformers.json"]
    assert Rulebook(Counting(matrices_root())).rule("xformers-other-torch") == found
