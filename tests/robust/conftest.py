"""What every hostile call is held against: one line or one answer, no traceback, nothing that drives a terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Call, Outcome, call, spawn

__all__ = ["Call", "Outcome", "call", "spawn"]

DRIVES_A_TERMINAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
ESCAPES = "\x1b[31mE\x1b]0;T\x07\x9b31m\r\x08\u202eR\u2066\u200b\x7f\x85\u2028"
"""Colour, title, C1, carriage return, backspace, right-to-left and invisible characters."""
MARKUP = "]]>--><script>alert(1)</script>|`~*_[a](javascript:x)![i](x:y)@me #1 &amp;<!--\"'{}\\$(id)`id`"
"""What XML, HTML, Markdown, shells and templates read as theirs."""
FORMATS = ("text", "json", "sarif", "junit", "ctrf", "markdown", "html", "oneline", "prometheus")


def ended_well(outcome: Outcome) -> None:
    """It gave an answer alone (0, 1) or one line alone (2), and neither can drive a terminal."""
    assert outcome.code in (0, 1, 2), outcome
    assert "Traceback" not in outcome.out + outcome.err
    for text in (outcome.out, outcome.err):
        found = DRIVES_A_TERMINAL.search(text)
        assert found is None, text[max(0, found.start() - 60) : found.end() + 60]
    if outcome.code == 2:
        assert not outcome.out
        assert outcome.message
    else:
        assert not outcome.err


def strict_json(text: str) -> Any:
    """Return the one JSON document of a text; NaN and Infinity, which JSON does not know, are refused."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


class Inventory:
    """Writes inventory files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, **parts: Any) -> str:
        """Write an inventory of a B200 with `parts` in it and return its path."""
        body = {"schema": "stackcheck.inventory/1", "gpu": {"model": "b200"}, **parts}
        return self.raw(json.dumps(body))

    def raw(self, text: str) -> str:
        """Write this very text and return its path."""
        path = self.folder / "node.json"
        path.write_text(text)
        return str(path)


@pytest.fixture
def inventory(tmp_path: Path) -> Inventory:
    """A writer of inventory files."""
    return Inventory(tmp_path)
