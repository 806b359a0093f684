"""An overlay is input like any other: pipes, devices, nonsense and broken patterns end in one line and exit 2."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Call

LONG_NUMBER = "9" * 6000


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def long_number(path: Path) -> None:
    path.write_text(f'{{"a": {LONG_NUMBER}}}')


def deep(path: Path) -> None:
    inner = '{"torch": true}'
    for _ in range(250):
        inner = f'{{"not": {inner}}}'
    path.write_text(f'{{"schema": "stackcheck.rules/1", "rules": [{{"id": "a", "when": {inner}}}]}}')


@pytest.mark.parametrize("make", [pipe, endless, long_number, deep])
def test_a_file_that_is_no_matrix_is_refused_at_once(
    make: Callable[[Path], None], tmp_path: Path, call: Call
) -> None:
    (tmp_path / "rules").mkdir()
    make(tmp_path / "rules" / "a.json")
    outcome = call("resolve", "--gpu", "b200", "--matrices", str(tmp_path))
    assert outcome.code == 2
    assert "a.json" in outcome.message


def test_a_policy_without_what_the_solver_asks_it_is_refused(tmp_path: Path, call: Call) -> None:
    (tmp_path / "policy.json").write_text("{}")
    outcome = call("resolve", "--gpu", "b200", "--matrices", str(tmp_path))
    assert outcome.code == 2
    assert "required property" in outcome.message


def test_a_version_is_shown_without_its_control_characters(tmp_path: Path, call: Call) -> None:
    (tmp_path / "VERSION").write_text("\033[31m\nx")
    outcome = call("matrices", "status", "--matrices", str(tmp_path))
    assert "\033" not in outcome.out + outcome.err


def test_a_version_of_thousands_of_digits_is_no_fault_of_ours(tmp_path: Path, call: Call) -> None:
    (tmp_path / "VERSION").write_text(LONG_NUMBER)
    outcome = call("resolve", "--gpu", "b200", "--matrices", str(tmp_path))
    assert outcome.code == 2
