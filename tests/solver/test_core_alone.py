"""The core of the solver knows no domain: it imports the standard library and itself."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import stackcheck.solver

CORE = ("problem", "index", "propagate", "learn", "refute", "search", "explain")
FOLDER = Path(next(iter(stackcheck.solver.__path__)))


@pytest.mark.parametrize("name", CORE)
def test_the_core_imports_nothing_but_itself_and_the_standard_library(name: str) -> None:
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    imported = {
        module
        for node in ast.walk(tree)
        for module in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    allowed = {f"stackcheck.solver.{other}" for other in CORE}
    assert {module for module in imported if module.split(".")[0] not in sys.stdlib_module_names} <= allowed
