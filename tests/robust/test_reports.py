"""Hostile values in every place of an inventory and of a pasted text, and every format that shows them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tests.robust.conftest import ESCAPES, FORMATS, MARKUP, Call, Inventory, ended_well, strict_json


def everywhere(nasty: str) -> dict[str, Any]:
    """An inventory that has findings, with `nasty` behind every value and name."""
    seen = {
        "path": f"/a{nasty}",
        "where": f"w{nasty}",
        "method": f"m{nasty}",
        "raw": f"r{nasty}",
        "scope": f"s{nasty}",
    }
    return {
        "subject": f"s{nasty}",
        "image": f"registry.example/x{nasty}",
        "components": {
            "torch": [{"version": "2.4.1", **seen, "attributes": {f"k{nasty}": nasty}}, {"version": f"2.9{nasty}"}],
            "driver": "470.1",
            "cuda": f"12.8{nasty}",
            f"other{nasty}": f"1{nasty}",
        },
        "environment": {"NCCL_PROTO": f"simple{nasty}", "NCCL_P2P_DISABLE": "1", f"N{nasty}": nasty, "FI_PROVIDER": nasty},
        "facts": {"memlock_kb": 64, "xid": [79, f"79{nasty}"], f"f{nasty}": nasty, "limit:memlock": 64},
        "evidence": {"env:NCCL_PROTO": {"method": nasty, "where": nasty, "raw": nasty}, nasty: {"where": nasty}},
        "notes": [{"source": nasty, "text": nasty}],
    }  # fmt: skip


def pasted(nasty: str) -> str:
    """A text that has findings, with `nasty` behind every line."""
    return "\n".join(
        line + nasty
        for line in (
            "torch==2.4.1",
            "nvidia-nccl-cu12==2.20.5",
            "pkg @ file:///x",
            "export NCCL_PROTO=simple",
            "LD_LIBRARY_PATH=/a:",
            "host:1:1 [0] NCCL INFO NCCL version 2.20.5+cuda12.4",
            "NVRM: Xid (PCI:0000:1b:00): 79, pid=1, name=",
            "RuntimeError: CUDA error: no kernel image is available for execution on the device ",
        )
    )


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize(
    "nasty", [ESCAPES, MARKUP, f"{ESCAPES}\ud800\n\n# H\n::error::x"], ids=["escapes", "markup", "all"]
)
def test_hostile_values_are_shown_and_do_nothing(
    call: Call, inventory: Inventory, tmp_path: Path, fmt: str, nasty: str
) -> None:
    text = tmp_path / "paste.txt"
    text.write_text(pasted(nasty.replace("\ud800", "")))
    for path in (inventory(**everywhere(nasty)), str(text)):
        outcome = call("check", path, "--gpu", "b200", "--format", fmt, "-v")
        ended_well(outcome)
        assert outcome.code == 1
        assert_well_formed(fmt, outcome.out)


def assert_well_formed(fmt: str, out: str) -> None:
    """A reader of the format takes the whole text, and finds no element or link that we did not write."""
    if fmt in ("json", "sarif", "ctrf"):
        strict_json(out)
    elif fmt == "junit":
        assert ET.fromstring(out).tag == "testsuites"
    elif fmt == "html":
        assert "<script" not in out
        assert not re.search(r'href="(?!https?://)', out)
    elif fmt == "oneline":
        assert out.isascii()
        assert out.count("\n") == 1
        assert not set(out) & set("\"'`$\\")
        assert len(out) <= 241
    elif fmt == "markdown":
        outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", re.sub(r"(?ms)^ *(`{3,}).*?^ *\1$", "", out))
        assert "<script" not in outside
    elif fmt == "prometheus":
        sample = re.compile(r'[a-z_]+(?:\{(?:[a-z_]+="(?:[^"\\\n]|\\[n"\\])*",?)*\})? [0-9.e+]+\Z')
        assert all(line.startswith("# ") or sample.match(line) for line in out.splitlines())


def test_a_file_name_can_be_hostile_too(call: Call, tmp_path: Path) -> None:
    path = tmp_path / (ESCAPES + "<script>|`")
    path.write_text("torch==2.4.1\n")
    for fmt in FORMATS:
        outcome = call("check", str(path), "--gpu", "b200", "--format", fmt)
        ended_well(outcome)
        assert_well_formed(fmt, outcome.out)


@pytest.mark.parametrize("other", ["diff", "resolve"])
def test_diff_and_resolve_show_no_escapes_either(
    call: Call, inventory: Inventory, tmp_path: Path, other: str
) -> None:
    path = inventory(**everywhere(ESCAPES))
    plain = tmp_path / "plain.txt"
    plain.write_text("torch==2.4.1\n")
    arguments = (
        ("diff", path, str(plain)) if other == "diff" else ("resolve", "--gpu", "b200", "--host", path)
    )
    for fmt in ("text", "json"):
        ended_well(call(*arguments, "--format", fmt))


def test_reports_in_files_are_whole_whatever_the_values(
    call: Call, inventory: Inventory, tmp_path: Path
) -> None:
    path = inventory(**everywhere("\ud800" + ESCAPES))
    for fmt in FORMATS:
        target = tmp_path / f"report.{fmt}"
        assert call("check", path, "--format", fmt, "-o", str(target)).code == 1
        assert_well_formed(fmt, target.read_text(encoding="utf-8"))
    assert not list(tmp_path.glob(".stackcheck-*"))
