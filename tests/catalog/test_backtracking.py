"""Patterns that can take for ever are told from those that cannot, all shipped ones among the latter."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from stackcheck.catalog.backtracking import fault_of
from stackcheck.catalog.validate import matrix_files

MATRICES = Path(__file__).parents[2] / "matrices"


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+$",
        r"^(a+)+$",
        r"(?:a{1,1000}){1,1000}b",
        r"(a|a)*$",
        r"(a|b|ab)*c",
        r"(\w+\s?)*$",
        r"(x+x+)+y",
        r"(a*)*b",
        r"(a?){30}a{30}",
        r"(\s*,?\s*)+x",
        r"((a{1,2}){1,40}){1,40}b",
        r"(?=(a+)+b)a",
        r"(?:.{0,200}){0,200}x",
        r"(?:\S+\s*)+x",
        r"(.*a){20}",
        r"(?i)(?:ab|A[bB])+$",
        r".*.*.*.*x",
    ],
)
def test_patterns_without_end(pattern: str) -> None:
    assert "for ever" in fault_of(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        r"a+b+c+",
        r"(a|ab)*c",
        r"(?:\d{4})+x",
        r"(\d{2,3},)+x",
        r"([\w.-]{1,80}/){1,6}x",
        r"(?:(?:sm|compute)_\d{2,3}[af]?[ ,.]{0,2}){1,40}",
        r"([^\n]*\n)*x",
        r"(a++)+b",
        r"(foo|bar|baz)+x",
        r"(?:\w|\d)+z",
        r"(?:\S+\s+)+x",
        r"(?P<a>x+)(?P=a)",
        r"(?<!no )\berror\b",
        r"(?(1)a|b)",
        r"^\s*No .*\s*$",
        r"[^\n]{0,200}a[^\n]{0,200}b[^\n]{0,200}c",
    ],
)
def test_patterns_that_end(pattern: str) -> None:
    if pattern.startswith("(?(1)"):
        pattern = f"(x)?{pattern}"
    assert fault_of(pattern) == ""
    start = time.perf_counter()
    for text in ("a" * 400, "a " * 200, "sm_90 " * 60, "1234" * 100, "a/" * 200):
        re.search(pattern, text + "!")
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize("pattern", ["(", "a{99999999999999}", "[z-a]", "(?P<a>x)(?P<a>y)", "\\", "(?z)"])
def test_what_is_no_pattern_is_told(pattern: str) -> None:
    assert fault_of(pattern)


@pytest.mark.parametrize(
    "pattern", ["(" * 5000 + ")" * 5000, "a" * 5000, "(?:a|b)" * 3000, "(a{1,12}" * 8 + "){1,9}" * 8]
)
def test_monsters_end(pattern: str) -> None:
    start = time.perf_counter()
    assert fault_of(pattern)
    assert time.perf_counter() - start < 20


def patterns(value: Any) -> list[str]:
    if isinstance(value, list):
        return [p for part in value for p in patterns(part)]
    if not isinstance(value, dict):
        return []
    own = [v for k, v in value.items() if k in ("pattern", "matches", "local_pattern") and isinstance(v, str)]
    return own + [p for part in value.values() for p in patterns(part)]


def test_every_shipped_pattern_ends() -> None:
    shipped = {
        p for name in matrix_files(str(MATRICES)) for p in patterns(json.loads((MATRICES / name).read_text()))
    }
    assert len(shipped) > 600
    assert {p: f for p in shipped if (f := fault_of(p))} == {}
