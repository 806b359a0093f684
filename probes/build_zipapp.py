"""Build ``stackcheck-probe.pyz``: the probes in one file that any python3 (3.9 or newer) runs, reproducible byte for byte.

    python probes/build_zipapp.py [-o FILE] [--python INTERPRETER]

Names are sorted and dates fixed, so two builds of the same sources have the same checksum. The stub passes the exit status
on, which ``python -m zipapp -m`` does not.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = "stackcheck_probes"
DATE = (2020, 1, 1, 0, 0, 0)
STUB = f"import sys\n\nfrom {PACKAGE}.__main__ import entry\n\nsys.exit(entry())\n"


def build(target: Path, interpreter: str = "/usr/bin/env python3") -> str:
    """Write the archive and return its SHA-256."""
    sources = sorted(
        path for path in (HERE / PACKAGE).rglob("*") if path.suffix == ".py" or path.name == "py.typed"
    )
    with target.open("wb") as file:
        file.write(f"#!{interpreter}\n".encode())
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            _add(archive, "__main__.py", STUB.encode())
            for path in sources:
                _add(archive, path.relative_to(HERE).as_posix(), path.read_bytes())
    target.chmod(0o755)
    return hashlib.sha256(target.read_bytes()).hexdigest()


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    entry.create_system = 3
    archive.writestr(entry, data)


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description="build the probes as one reproducible file")
    parser.add_argument("-o", "--output", type=Path, default=Path("stackcheck-probe.pyz"))
    parser.add_argument("--python", default="/usr/bin/env python3", help="interpreter of the first line")
    arguments = parser.parse_args()
    checksum = build(arguments.output, arguments.python)
    sys.stdout.write(f"{checksum}  {arguments.output}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
