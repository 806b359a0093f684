"""References of container images: `registry/repository[:tag][@digest]`, as the distribution specification writes them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stackcheck.harvest.interface import HarvestError

_HOST = re.compile(r"(?:[A-Za-z0-9-]+\.)*[A-Za-z0-9-]+(?::\d{1,5})?\Z|\[[0-9a-fA-F:]+\](?::\d{1,5})?\Z")
_REPOSITORY = re.compile(
    r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*\Z"
)
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}\Z")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class Reference:
    """One image of one registry; `digest` wins over `tag`."""

    registry: str
    repository: str
    tag: str
    digest: str = ""

    def __str__(self) -> str:
        tail = f"@{self.digest}" if self.digest else f":{self.tag}"
        return f"{self.registry}/{self.repository}{tail}"


def parse(text: str) -> Reference:
    """Return a parsed reference; the tag is `latest` if none is given.

    Raises:
        HarvestError: it names no registry, or has another form.
    """
    shown = text[:200]
    name, _, digest = text.strip().removeprefix("docker://").partition("@")
    registry, slash, rest = name.partition("/")
    if not slash or not ("." in registry or ":" in registry or registry == "localhost"):
        raise HarvestError("names no registry", where=shown, fix="write it in full: HOST/REPOSITORY:TAG")
    repository, colon, tag = rest.rpartition(":")
    if not colon:
        repository, tag = rest, "latest"
    if (
        not _HOST.match(registry)
        or len(rest) > 300
        or not _REPOSITORY.match(repository)
        or not _TAG.match(tag)
    ):
        raise HarvestError("is no image reference", where=shown, fix="write HOST/REPOSITORY:TAG")
    if digest and not DIGEST.match(digest):
        raise HarvestError("has no sha256 digest after @", where=shown)
    return Reference(registry, repository, tag, digest)
