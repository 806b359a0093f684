"""What docs/adding-facts.md shows to paste is a whole overlay that works, and what goes wrong with one is told with its own paths."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Call
from tests.cli.conftest import call as call

PAGE = Path(__file__).resolve().parents[2] / "docs" / "adding-facts.md"
FILES = re.findall(
    r"<!-- overlay: (\S+) -->\n```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL
)


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    for name, text in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_every_json_block_is_a_file_of_the_overlay() -> None:
    assert len(FILES) == PAGE.read_text(encoding="utf-8").count("```json") >= 5


def test_what_is_shown_passes_the_lint(call: Call, overlay: Path) -> None:
    outcome = call("matrices", "lint", "--quick", "--matrices", str(overlay))
    assert outcome.code == 0, outcome.out


def test_what_is_shown_is_obeyed(call: Call, overlay: Path, tmp_path: Path) -> None:
    def ids(text: str) -> set[str]:
        path = tmp_path / "paste.txt"
        path.write_text(text, encoding="utf-8")
        outcome = call("check", str(path), "--matrices", str(overlay), "--format", "json")
        return {f["id"] for f in outcome.json["findings"]}

    mine = {"acme-kernels-other-torch", "SC-2027-9001", "log-acme-no-workspace"}
    assert mine & ids("torch==2.8.0\nacme-kernels==1.2.0\n") == {"acme-kernels-other-torch"}
    assert mine & ids("torch==2.9.1\nacme-kernels==1.1.4\n") == {"SC-2027-9001"}
    assert mine & ids("torch==2.9.1\nacme-kernels==1.2.0\n") == set()
    assert "log-acme-no-workspace" in ids("E acme: no workspace (tried /tmp/acme)\n")
    found = call(
        "resolve", "--gpu", "h100", "--with", "acme-kernels", "--matrices", str(overlay), "--format", "json"
    )
    assert found.json["components"]["acme-kernels"]["version"].startswith("1.2.0")
    assert found.json["components"]["torch"]["version"].startswith("2.9.")


def test_a_folder_that_nothing_reads_is_a_fault(call: Call, overlay: Path) -> None:
    (overlay / "rules").rename(overlay / "rule")
    outcome = call("matrices", "lint", "--quick", "--matrices", str(overlay))
    assert outcome.code == 1
    assert f"{overlay / 'rule'}: unknown folder" in outcome.out
    assert str(overlay / "rule") in call("show", "gpu", "--matrices", str(overlay)).message


def test_faults_name_the_overlay_s_file_and_verbose_lists_all(call: Call, overlay: Path) -> None:
    path = overlay / "rules" / "bare.json"
    path.write_text('{"id": "x"}', encoding="utf-8")
    outcome = call("matrices", "lint", "-v", "--quick", "--matrices", str(overlay))
    assert outcome.code == 1
    assert outcome.out.count(f"{path}#/: ") >= 3, "rules and sources are missing, id is not allowed"
    refused = call("show", "gpu", "--matrices", str(overlay)).message
    assert str(path) in refused
    assert "lint -v" in refused


def test_what_lint_alone_sees_names_the_overlay_s_file_too(call: Call, overlay: Path) -> None:
    path = overlay / "rules" / "acme.json"
    path.write_text(
        path.read_text(encoding="utf-8").replace('"log:acme-no-workspace"', '"log:nowhere"'), encoding="utf-8"
    )
    outcome = call("matrices", "lint", "--quick", "--matrices", str(overlay))
    assert outcome.code == 1
    assert f"{path}" in outcome.out
    assert "no signature for log:nowhere" in outcome.out


def test_a_replaced_file_is_named(call: Call, overlay: Path) -> None:
    shipped = PAGE.parents[1] / "matrices" / "components" / "ucx.json"
    (overlay / "components" / "ucx.json").write_text(shipped.read_text(encoding="utf-8"), encoding="utf-8")
    outcome = call("matrices", "lint", "--quick", "--matrices", str(overlay))
    assert outcome.code == 0, outcome.out
    assert "replaces these shipped files as a whole: components/ucx.json" in outcome.out
