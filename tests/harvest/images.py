"""Small container images made on the spot: layers from a list of entries, an OCI layout of two architectures, a docker archive."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"

Entry = tuple[str, bytes] | tarfile.TarInfo


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def device(name: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.devmajor, info.devminor = tarfile.BLKTYPE, 8, 0
    return info


def folder(name: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = tarfile.DIRTYPE
    return info


def layer(*entries: Entry) -> bytes:
    """Return an unpacked layer."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=tarfile.PAX_FORMAT) as out:
        for entry in entries:
            if isinstance(entry, tarfile.TarInfo):
                out.addfile(entry)
            else:
                info = tarfile.TarInfo(entry[0])
                info.size = len(entry[1])
                out.addfile(info, io.BytesIO(entry[1]))
    return held.getvalue()


def distribution(name: str, version: str, where: str = "usr/lib/python3/dist-packages") -> tuple[str, bytes]:
    folder = f"{where}/{name.replace('-', '_')}-{version}.dist-info/METADATA"
    return folder, f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Layout:
    """An OCI image layout that is being filled."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "blobs" / "sha256").mkdir(parents=True)
        (path / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
        self.rows: list[dict[str, Any]] = []

    def blob(self, data: bytes) -> dict[str, Any]:
        (self.path / "blobs" / "sha256" / digest(data)[7:]).write_bytes(data)
        return {"digest": digest(data), "size": len(data)}

    def image(
        self, layers: Sequence[bytes], *, arch: str = "amd64", env: Sequence[str] = (), labels: Any = None
    ) -> dict[str, Any]:
        config = {
            "architecture": arch,
            "os": "linux",
            "created": "2026-11-01T00:00:00Z",
            "config": {"Env": list(env), "Labels": labels or {}},
            "rootfs": {"type": "layers", "diff_ids": [digest(data) for data in layers]},
            "history": [{"created_by": "COPY stack /"} for _ in layers],
        }
        rows = [self.blob(gzip.compress(data, mtime=0)) | {"mediaType": LAYER} for data in layers]
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": self.blob(json.dumps(config).encode()) | {"mediaType": CONFIG},
            "layers": rows,
        }
        row = self.blob(json.dumps(manifest).encode()) | {
            "mediaType": MANIFEST,
            "platform": {"architecture": arch, "os": "linux"},
        }
        self.rows.append(row)
        return row

    def finish(self, tag: str = "latest", *, nested: bool = True) -> Path:
        """Write index.json: one row that is the index of all images, as registries have it, or the images themselves."""
        rows = self.rows
        if nested:
            inner = {"schemaVersion": 2, "mediaType": INDEX, "manifests": rows}
            rows = [self.blob(json.dumps(inner).encode()) | {"mediaType": INDEX}]
        for row in rows:
            row["annotations"] = {"org.opencontainers.image.ref.name": tag}
        (self.path / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": rows}))
        return self.path


def docker_archive(path: Path, layers: Sequence[bytes], env: Sequence[str] = ()) -> Path:
    """Write what `docker save` writes."""
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Env": list(env)}}).encode()
    manifest = [
        {
            "Config": "c.json",
            "RepoTags": ["some/image:1"],
            "Layers": [f"{i}/layer.tar" for i in range(len(layers))],
        }
    ]
    path.write_bytes(
        layer(
            ("c.json", config),
            *((f"{i}/layer.tar", data) for i, data in enumerate(layers)),
            ("manifest.json", json.dumps(manifest).encode()),
        )
    )
    return path
