"""What was fetched before, so that a harvest that was cut off goes on where it stopped, and the next one asks only for what changed.

One pair of files per address: `HASH.body` and `HASH.json` (address, validators, content type, digest). Both are written to one side and
renamed; a body that does not match its digest counts as absent. Nothing here is trusted more than the network is.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stackcheck.harvest.interface import HarvestError

_LARGEST_META = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An answer from the cache."""

    body: bytes
    content_type: str = ""
    etag: str = ""
    modified: str = ""


def default_directory(environ: Mapping[str, str]) -> Path:
    """Return `$XDG_CACHE_HOME/stackcheck/harvest`, or the same below ~/.cache."""
    base = environ.get("XDG_CACHE_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".cache")
    return Path(base) / "stackcheck" / "harvest"


class Cache:
    """The answers below one directory."""

    def __init__(self, directory: Path) -> None:
        """Use `directory`, which is made when the first answer is kept."""
        self.directory = directory

    def get(self, key: str) -> Kept | None:
        """Return what is kept under a key, or None."""
        body_path, meta_path = self._paths(key)
        try:
            if meta_path.stat().st_size > _LARGEST_META:
                return None
            meta = json.loads(meta_path.read_text("utf-8"))
            body = body_path.read_bytes()
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(meta, dict) or meta.get("key") != key:
            return None
        if meta.get("sha256") != hashlib.sha256(body).hexdigest():
            return None
        texts = {k: str(meta.get(k) or "") for k in ("content_type", "etag", "modified")}
        return Kept(body=body, **texts)

    def put(self, key: str, kept: Kept) -> None:
        """Keep an answer.

        Raises:
            HarvestError: the directory cannot be written.
        """
        body_path, meta_path = self._paths(key)
        meta = {
            "key": key,
            "sha256": hashlib.sha256(kept.body).hexdigest(),
            "content_type": kept.content_type,
            "etag": kept.etag,
            "modified": kept.modified,
        }
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            _replace(body_path, kept.body)
            _replace(meta_path, json.dumps(meta).encode())
        except OSError as fault:
            raise HarvestError(
                f"cannot be written: {fault.strerror}",
                where=str(self.directory),
                fix="choose another --cache",
            ) from fault

    def _paths(self, key: str) -> tuple[Path, Path]:
        name = hashlib.sha256(key.encode()).hexdigest()
        return self.directory / f"{name}.body", self.directory / f"{name}.json"


def _replace(path: Path, data: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".part-", delete=False) as file:
        file.write(data)
    os.replace(file.name, path)  # noqa: PTH105
