"""Indexes, manifests and configurations of container images: OCI image specification 1.1 and Docker's schema 2.

Pure: bytes to values. Sizes and shapes are checked; a digest is only ever compared with the bytes it stands for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stackcheck.harvest.image_reference import DIGEST
from stackcheck.harvest.interface import HarvestError

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
ACCEPT = f"{OCI_INDEX}, {OCI_MANIFEST}, {DOCKER_LIST}, {DOCKER_MANIFEST}"
LARGEST = 4_000_000  # bytes; the specification asks registries to take 4 MiB
ARCHES = {"amd64": "x86_64", "arm64": "aarch64"}
"""Go's names of architectures to the kernel's."""
_MOST_LAYERS = 1_000


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What a document says about another blob."""

    digest: str
    size: int
    media_type: str
    arch: str = ""
    os: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One image for one platform."""

    config: Descriptor
    layers: tuple[Descriptor, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The configuration of one image."""

    arch: str
    created: str
    environment: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    history: tuple[str, ...] = ()
    text: str = ""
    """The document itself, to be read like a pasted `docker inspect`."""


def digest_of(data: bytes) -> str:
    """Return the digest under which a registry keeps these bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def verified(data: bytes, digest: str, where: str) -> bytes:
    """Return the bytes if they are those of the digest.

    Raises:
        HarvestError: they are not: somebody lies, or the transfer broke.
    """
    if digest_of(data) != digest:
        raise HarvestError(
            f"gave other bytes than {digest[:19]}... stands for", where=where, fix="do not trust it"
        )
    return data


def document(data: bytes, where: str) -> dict[str, Any]:
    """Return the JSON object of a document.

    Raises:
        HarvestError: too large, no JSON, or no object.
    """
    if len(data) > LARGEST:
        raise HarvestError(f"document of {len(data)} bytes", where=where)
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as fault:
        raise HarvestError(f"no JSON: {fault}", where=where) from fault
    if not isinstance(body, dict):
        raise HarvestError("no JSON object", where=where)
    return body


def is_index(body: Mapping[str, Any]) -> bool:
    """Whether a document lists manifests instead of being one."""
    return body.get("mediaType") in (OCI_INDEX, DOCKER_LIST) or isinstance(body.get("manifests"), list)


def index(body: Mapping[str, Any], where: str) -> tuple[Descriptor, ...]:
    """Return the Linux images of an index; attestations and other platforms are left out.

    Raises:
        HarvestError: a row is malformed.
    """
    rows = body.get("manifests")
    if not isinstance(rows, list) or len(rows) > _MOST_LAYERS:
        raise HarvestError("index without a list of manifests", where=where)
    found = tuple(_descriptor(row, where) for row in rows)
    return tuple(d for d in found if d.os in ("linux", "") and d.arch != "unknown")


def manifest(body: Mapping[str, Any], where: str) -> Manifest:
    """Return one image's manifest.

    Raises:
        HarvestError: it is of the old schema 1, or a part is missing.
    """
    layers = body.get("layers")
    if body.get("schemaVersion") != 2 or not isinstance(layers, list) or len(layers) > _MOST_LAYERS:
        raise HarvestError(
            "no manifest of schema 2", where=where, fix="push the image anew with a current tool"
        )
    return Manifest(_descriptor(body.get("config"), where), tuple(_descriptor(row, where) for row in layers))


def _descriptor(row: Any, where: str) -> Descriptor:
    if not isinstance(row, dict):
        raise HarvestError("no descriptor", where=where)
    digest, size = row.get("digest"), row.get("size")
    if not isinstance(digest, str) or not DIGEST.match(digest):
        raise HarvestError(f"digest {str(digest)[:80]!r}", where=where, fix="only sha256 is understood")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise HarvestError(f"size {str(size)[:40]!r}", where=where)
    platform = row.get("platform")
    told = platform if isinstance(platform, dict) else {}
    arch = str(told.get("architecture", ""))
    return Descriptor(
        digest,
        size,
        str(row.get("mediaType", ""))[:200],
        ARCHES.get(arch, arch)[:40],
        str(told.get("os", ""))[:40],
    )


def config(data: bytes, where: str) -> Config:
    """Return an image's configuration.

    Raises:
        HarvestError: it is no configuration.
    """
    body = document(data, where)
    inner = body.get("config")
    inner = inner if isinstance(inner, dict) else {}
    env = inner.get("Env")
    labels = inner.get("Labels")
    history = body.get("history")
    rows = history if isinstance(history, list) else []
    pairs = (str(v).partition("=") for v in (env if isinstance(env, list) else [])[:5_000])
    arch = str(body.get("architecture", ""))
    return Config(
        arch=ARCHES.get(arch, arch)[:40],
        created=str(body.get("created", ""))[:10],
        environment={name: value for name, equals, value in pairs if equals},
        labels={str(k): str(v) for k, v in (labels if isinstance(labels, dict) else {}).items()},
        history=tuple(str(r.get("created_by", "")) for r in rows[:5_000] if isinstance(r, dict)),
        text=data.decode("utf-8", "replace"),
    )
