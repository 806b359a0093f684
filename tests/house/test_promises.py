"""What README and docs promise about the house itself."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tokenize
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = [ROOT / "stackcheck", ROOT / "probes" / "stackcheck_probes", ROOT / "tui" / "stackcheck_tui"]
SOURCES = sorted(p for package in PACKAGES for p in package.rglob("*.py"))


def loaded_by(code: str) -> set[str]:
    """Return the names of all modules that a fresh interpreter has after running some code."""
    program = f"import sys\n{code}\nsys.stderr.write(repr(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False
    )
    return set(json.loads(done.stderr.strip().rpartition("\n")[2].replace("'", '"')))


@pytest.mark.parametrize(
    ("code", "banned"),
    [
        ("import stackcheck", {"json", "dataclasses", "argparse"}),
        (
            "from stackcheck.cli import main",
            {"textual", "rich", "httpx", "networkx", "jsonschema", "packaging"},
        ),
        (
            "from stackcheck.cli import main\nmain(['resolve', '--gpu', 'h100', '--format', 'json'])",
            {
                "textual",
                "rich",
                "httpx",
                "networkx",
                "jsonschema",
                "packaging",
                "stackcheck_probes",
                "stackcheck.check",
                "stackcheck.ingest",
            },
        ),
        (
            "from stackcheck.cli import main\nmain(['explain', 'driver-below-cuda-family-floor'])",
            {"textual", "rich", "httpx", "networkx", "jsonschema"},
        ),
    ],
)
def test_a_command_loads_only_what_it_needs(code: str, banned: set[str]) -> None:
    assert not loaded_by(code) & banned


def test_no_version_of_a_component_stands_in_the_code() -> None:
    """Data in matrices/, logic in code: a dotted version of three numbers in a string is a fact that strayed."""
    looks_like_version = re.compile(r"""(?<![\w./*-])v?\d{1,4}\.\d{1,3}\.\d{1,3}(?:\.\d+)?(?![\w/])""")
    strayed = []
    for path in SOURCES:
        with path.open("rb") as file:
            for token in tokenize.tokenize(file.readline):
                if token.type != tokenize.STRING or token.string.lstrip("rbfRBF").startswith(('"""', "'''")):
                    continue
                if looks_like_version.search(token.string) and "127.0.0.1" not in token.string:
                    strayed.append(f"{path.relative_to(ROOT)}:{token.start[0]} {token.line.strip()[:90]}")
    # Our own version, versions of output formats, an address that stands for others, and examples in messages are no facts.
    allowed = re.compile(
        r"stackcheck/__init__\.py|report/(sarif|ctrf|registry)\.py|redaction\.py|for example|such as|a further pin|placeholder|hint="
    )
    assert [s for s in strayed if not allowed.search(s)] == []


def test_no_module_is_a_drawer_for_everything() -> None:
    names = {p.stem for p in SOURCES}
    assert not names & {"utils", "util", "helpers", "helper", "common", "misc"}


def test_the_wheel_holds_every_matrix_file_and_the_three_packages(tmp_path: Path) -> None:
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--no-deps",
            "--quiet",
            "--wheel-dir",
            str(tmp_path),
            str(ROOT),
        ],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = {
        f"stackcheck/matrices/{p.relative_to(ROOT / 'matrices').as_posix()}"
        for p in (ROOT / "matrices").rglob("*")
        if p.is_file()
    }
    assert expected <= names
    assert {n.partition("/")[0] for n in names if not n.partition("/")[0].endswith(".dist-info")} == {
        "stackcheck",
        "stackcheck_probes",
        "stackcheck_tui",
    }
    for package in ("stackcheck", "stackcheck_probes", "stackcheck_tui"):
        assert f"{package}/py.typed" in names


def test_matrices_are_in_canonical_form() -> None:
    for path in sorted((ROOT / "matrices").rglob("*.json")):
        text = path.read_text(encoding="utf-8")
        again = json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        assert text == again, (
            f"{path.relative_to(ROOT)}: python -m json.tool --sort-keys --indent 2 --no-ensure-ascii"
        )
