"""Docs cannot rot: what is made from the program equals it, and every link and command in the README works."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_what_the_program_says() -> None:
    written = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert generator().reference() == written, "run: python docs/generate.py"


def test_the_generator_writes_nothing_when_asked_for_help(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = generator()
    monkeypatch.setattr(module, "PAGE", tmp_path / "reference.md")
    with pytest.raises(SystemExit) as end:
        module.main(["--help"])
    assert end.value.code == 0
    assert not (tmp_path / "reference.md").exists()
    module.main([])
    assert (tmp_path / "reference.md").read_text(encoding="utf-8").startswith("# Reference")


@pytest.mark.parametrize(
    "page",
    sorted(p.relative_to(ROOT).as_posix() for p in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]),
)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not target.startswith(("http:", "https:")):
            assert ((ROOT / page).parent / target).exists(), f"{page} links to {target}"


def commands() -> list[str]:
    """Return the one-line stackcheck commands of the README that need no file of the reader's."""
    found = []
    for line in re.findall(r"^(?:\$ )?(stackcheck [^#|>]+?)\s*(?:#.*)?$", README, flags=re.MULTILINE):
        needs_file = re.search(r"\.(txt|log|json)\b|probe|tui|-o ", line)
        if not needs_file:
            found.append(line.strip())
    return found


def test_the_readme_has_commands_to_try() -> None:
    assert len(commands()) >= 5


@pytest.mark.parametrize("line", commands())
def test_commands_of_the_readme_run(line: str) -> None:
    arguments = shlex.split(line)[1:]
    done = subprocess.run(
        [sys.executable, "-m", "stackcheck", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == (1 if "torch==2.4.1" in line else 0), done.stderr
    assert done.stdout.strip()
    assert not done.stderr


def test_the_export_of_the_readme_pins_something(tmp_path: Path) -> None:
    (line,) = [
        x for x in README.splitlines() if x.startswith("stackcheck resolve") and "--export constraints" in x
    ]
    done = subprocess.run(
        [sys.executable, "-m", "stackcheck", *shlex.split(line)[1:]],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stderr) == (0, ""), "no word about files where nobody sits at a terminal"
    assert re.search(r"^torch==", (tmp_path / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert (tmp_path / "stack.lock.json").is_file()


def test_the_rule_that_the_page_on_rules_shows_is_the_shipped_one() -> None:
    (sample, *_) = re.findall(r"```json\n(.*?)```", (ROOT / "docs/rules.md").read_text("utf-8"), re.DOTALL)
    shown = json.loads(sample)
    shipped = json.loads((ROOT / "matrices/rules/driver-cuda.json").read_text("utf-8"))["rules"]
    assert shown in shipped


def test_the_reference_has_the_flags_of_every_kind_and_action() -> None:
    page = (ROOT / "docs/reference.md").read_text("utf-8")
    for name in (
        "show gpu",
        "show image",
        "show component",
        "matrices status",
        "matrices update",
        "matrices diff",
    ):
        assert f"#### {name}\n" in page
    for flag in ("--holds", "--family", "--layer", "--from", "--rollback", "--older-than"):
        assert flag in page


def test_every_benchmark_is_told() -> None:
    page = (ROOT / "benchmarks/README.md").read_text("utf-8")
    assert all(f"`{p.name}`" in page for p in (ROOT / "benchmarks").glob("*.py"))
