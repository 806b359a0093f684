"""Small whole data sets, as folders and as wheels."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any


def component(ident: str, *versions: str, **more: Any) -> dict[str, Any]:
    return {
        "id": ident,
        "name": ident,
        "scope": "container",
        "layer": "framework",
        "scheme": "pep440",
        "description": "one of a test",
        "sources": {},
        "releases": [
            {"version": v, "date": "2026-01-01", "requires": [], "sources": ["pkg:pypi/x@1"]}
            for v in versions
        ],
        **more,
    }


def files(
    version: str = "2999.1.1", *components: dict[str, Any], padding: int = 0, form: str = "1"
) -> dict[str, bytes]:
    """Return the files of a data set; `padding` adds so many components, so that writing it takes a while."""
    rows = list(components) or [component("torch", "2.14.0")]
    rows += [component(f"pad{i}", "1.0") for i in range(padding)]
    found = {
        f"components/{r['id']}.json": json.dumps(r, indent=2, sort_keys=True).encode() + b"\n" for r in rows
    }
    found |= {"VERSION": f"{version}\n".encode(), "FORMAT": f"{form}\n".encode()}
    found["policy.json"] = (Path(__file__).parents[2] / "matrices" / "policy.json").read_bytes()
    return found


def folder(path: Path, held: dict[str, bytes]) -> Path:
    for name, content in held.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path


def wheel(
    held: dict[str, bytes], *, extra: dict[str, bytes] | None = None, record: dict[str, str] | None = None
) -> bytes:
    """Return a wheel with these matrices, and a RECORD that matches unless told otherwise."""
    inner = {f"stackcheck/matrices/{n}": c for n, c in held.items()} | (extra or {})
    rows = []
    for name, content in inner.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{name},{(record or {}).get(name, f'sha256={digest}')},{len(content)}")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in inner.items():
            archive.writestr(name, content)
        archive.writestr("stackcheck-9.9.dist-info/RECORD", "\n".join(rows) + "\n")
    return out.getvalue()
