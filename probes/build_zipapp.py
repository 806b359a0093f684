"""Build ``stackcheck-probe.pyz``: the probes in one file that any python3 (3.9 or newer) runs, reproducible byte for byte.

    python probes/build_zipapp.py [-o FILE] [--python INTERPRETER]
    python probes/build_zipapp.py --verdict [-o FILE]      stackcheck-verdict.pyz: with the matrices, the check and the reports too

Names are sorted and dates fixed, so two builds of the same sources have the same checksum. The stub passes the exit status
on, which ``python -m zipapp -m`` does not; it is plain enough for any Python to read, so that one that is too old gets a
sentence instead of a traceback.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
DATE = (2020, 1, 1, 0, 0, 0)
PROBES = ("stackcheck_probes",)
VERDICT = ("stackcheck",)
LEFT_OUT = (
    "stackcheck/harvest/",
    "matrices/schema/",
    "matrices/upstreams.json",
)  # what only maintainers need
STUB = """import sys

if sys.version_info < (3, 9):
    sys.stderr.write("stackcheck-probe: Python 3.9 or newer is needed, this is %d.%d; try another python3\\n" % sys.version_info[:2])
    sys.exit(2)
"""
INVENTORY = """
from stackcheck_probes.__main__ import entry

sys.exit(entry())
"""
JUDGED = """
if sys.version_info < (3, 11):
    from stackcheck_probes.__main__ import entry_without_verdict

    sys.exit(entry_without_verdict())

from stackcheck.cli.archive import entry

sys.exit(entry())
"""


def build(target: Path, interpreter: str = "/usr/bin/env python3", *, verdict: bool = False) -> str:
    """Write the archive and return its SHA-256."""
    files = {"__main__.py": (STUB + (JUDGED if verdict else INVENTORY)).encode()}
    files.update(_sources(HERE, PROBES))
    if verdict:
        files.update(_sources(ROOT, VERDICT))
        files.update(_matrices())
    with target.open("wb") as file:
        file.write(f"#!{interpreter}\n".encode())
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name in sorted(files):
                _add(archive, name, files[name])
    target.chmod(0o755)
    return hashlib.sha256(target.read_bytes()).hexdigest()


def _sources(root: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    """Return the Python files of these packages of a directory."""
    paths = [path for name in names for path in (root / name).rglob("*.py")]
    paths += [root / name / "py.typed" for name in names]
    return {
        name: path.read_bytes() for path in paths if _is_wanted(name := path.relative_to(root).as_posix())
    }


def _matrices() -> dict[str, bytes]:
    """Return the matrices, without the white space that is there for people."""
    found: dict[str, bytes] = {}
    for path in (ROOT / "matrices").rglob("*"):
        name = path.relative_to(ROOT).as_posix()
        if path.is_file() and _is_wanted(name):
            data = path.read_bytes()
            if path.suffix == ".json":
                data = _packed(json.loads(data))
            found[name] = data
    index = json.loads(found["matrices/index.json"])
    for name, told in index["rules"].items():
        told["bytes"] = len(found[f"matrices/{name}"])  # of another size, it would be read each time
    found["matrices/index.json"] = _packed(index)
    return found


def _packed(body: Any) -> bytes:
    return json.dumps(body, sort_keys=True, separators=(",", ":")).encode()


def _is_wanted(name: str) -> bool:
    return not name.startswith(LEFT_OUT)


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    entry.create_system = 3
    archive.writestr(entry, data)


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description="build the probes as one reproducible file")
    parser.add_argument(
        "--verdict", action="store_true", help="with matrices and check: the verdict, on Python 3.11 or newer"
    )
    parser.add_argument(
        "-o", "--output", type=Path, help="default: stackcheck-probe.pyz or stackcheck-verdict.pyz"
    )
    parser.add_argument("--python", default="/usr/bin/env python3", help="interpreter of the first line")
    arguments = parser.parse_args()
    target = arguments.output or Path(
        "stackcheck-verdict.pyz" if arguments.verdict else "stackcheck-probe.pyz"
    )
    checksum = build(target, arguments.python, verdict=arguments.verdict)
    sys.stdout.write(f"{checksum}  {target}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
