"""The command line, in a process of its own where streams and exit codes count, in this one where only the answer does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stackcheck.catalog import Catalog, open_catalog
from stackcheck.cli import main

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def message(self) -> str:
        """The one line on stderr, without our name."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("stackcheck: "), self.err
        return lines[0].removeprefix("stackcheck: ")


Call = Callable[..., Outcome]
Schema = Callable[[str], dict[str, Any]]
"""From the name of a schema to its JSON."""


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Run `stackcheck ARGUMENTS` in this process."""

    def run(*arguments: str) -> Outcome:
        capsys.readouterr()
        code = main(arguments)
        out, err = capsys.readouterr()
        return Outcome(code, out, err)

    return run


@pytest.fixture
def spawn(tmp_path: Path) -> Call:
    """Run `python -m stackcheck ARGUMENTS` as a process in an empty directory, without any setting of ours."""

    def run(*arguments: str, stdin: str | bytes = b"", **environment: str) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "stackcheck", *arguments],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            cwd=tmp_path,
            env={**clean_environment(), **environment},
            timeout=60,
            check=False,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


def clean_environment() -> dict[str, str]:
    """The environment without what steers us, and with this checkout on the path."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("STACKCHECK_", "PYTHON"))}
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        kept.pop(name, None)
    return {**kept, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "probes"), str(ROOT / "tui")])}


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    """The shipped matrices."""
    return open_catalog(environ={})


@pytest.fixture(scope="session")
def schema() -> Schema:
    """Return the JSON Schema of that name."""

    def read(name: str) -> dict[str, Any]:
        body: dict[str, Any] = json.loads((ROOT / "matrices" / "schema" / f"{name}.schema.json").read_text())
        return body

    return read


@pytest.fixture
def lock(call: Call, tmp_path: Path) -> Path:
    """A lock file of a B200 stack."""
    path = tmp_path / "stack.lock.json"
    assert call("resolve", "--gpu", "b200", "-o", str(path)).code == 0
    return path
