"""Promises about the source: no logic or I/O on the UI thread, one registry of actions, every message small."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import stackcheck_tui
from stackcheck_tui.actions import ACTIONS, PAGES, markdown

ROOT = Path(stackcheck_tui.__file__).parent
DOCS = Path(__file__).parents[2] / "docs" / "tui.md"


WORK = ("work", "_write", "_axis_choices", "_resolved", "_searched", "_everything")
"""Functions that screens hand to workers; `test_functions_of_workers_are_only_named_there` holds them to it."""


def test_every_action_has_a_method_where_it_is_known() -> None:
    import importlib

    from stackcheck_tui.app import StackcheckApp

    for action in ACTIONS:
        name = f"action_{action.method.partition('(')[0]}"
        owner: type = StackcheckApp
        if action.page:
            module = importlib.import_module(f"stackcheck_tui.screens.{action.page}")
            owner = getattr(module, f"{action.page.capitalize()}Page")
        assert hasattr(owner, name), (action, owner)


def test_no_key_has_two_meanings_on_a_screen() -> None:
    everywhere = {k for a in ACTIONS if not a.page for k in a.keys.split(",")}
    for page in PAGES:
        own = [k for a in ACTIONS if a.page == page for k in a.keys.split(",")]
        assert len(own) == len(set(own))
        assert not everywhere & set(own), page


def test_the_docs_hold_the_table_of_keys_as_the_registry_has_it() -> None:
    text = DOCS.read_text()
    inside = re.search(r"<!-- keys -->\n(.*?)<!-- /keys -->", text, re.DOTALL)
    assert inside, "docs/tui.md has no place for the keys"
    assert inside[1].strip() == markdown().strip(), (
        "write stackcheck_tui.actions.markdown() between the marks"
    )


def test_every_picture_of_the_docs_is_there() -> None:
    pictures = re.findall(r"\]\((\S+\.svg)\)", DOCS.read_text())
    assert len(pictures) >= 6
    assert all((DOCS.parent / p).is_file() for p in pictures)


@pytest.mark.parametrize("file", sorted((ROOT / "screens").glob("*.py")), ids=lambda p: p.stem)
def test_screens_call_slow_work_in_workers_alone(file: Path) -> None:
    """Names that reach the solver, the checker or the disk occur only inside what is handed to `ask`, never on the UI thread."""
    slow = {
        "resolve",
        "check",
        "read",
        "pasted",
        "explain",
        "picture",
        "story",
        "search",
        "surroundings",
        "timeline",
    }
    tree = ast.parse(file.read_text())
    lazy = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda) or (isinstance(node, ast.FunctionDef) and node.name in WORK)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node not in lazy:
            function = node.func
            if isinstance(function, ast.Attribute):
                on_desk = isinstance(function.value, ast.Attribute) and function.value.attr == "desk"
                assert not (on_desk and function.attr in slow), ast.unparse(node)
            elif isinstance(function, ast.Name):
                assert function.id not in {"search", "surroundings", "timeline", "open"}, ast.unparse(node)


@pytest.mark.parametrize("file", sorted((ROOT / "screens").glob("*.py")), ids=lambda p: p.stem)
def test_functions_of_workers_are_only_named_there(file: Path) -> None:
    """Each of them is called inside a lambda, or handed to `ask` itself."""
    tree = ast.parse(file.read_text())
    inside = {inner for node in ast.walk(tree) if isinstance(node, ast.Lambda) for inner in ast.walk(node)}
    handed = {
        argument
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "ask"
        for argument in node.args
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in WORK:
            assert node in inside | handed, f"line {node.lineno}: {ast.unparse(node)}"


def test_the_library_and_the_other_commands_never_load_textual() -> None:
    code = (
        "import sys; from stackcheck.cli import main; import stackcheck.cli.tui, stackcheck.cli.resolve\n"
        "assert not any(m.partition('.')[0] in ('textual', 'rich') for m in sys.modules), 'textual was loaded'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_no_module_is_large() -> None:
    for file in ROOT.rglob("*.py"):
        assert len(file.read_text().splitlines()) <= 400, file
