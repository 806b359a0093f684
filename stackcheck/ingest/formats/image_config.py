"""`docker inspect` and the OCI image configuration: NGC images hold the versions of what is inside as environment variables."""

from __future__ import annotations

from typing import Any

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.env import is_private, version_variable
from stackcheck.ingest.formats.system import memlock, shared_memory
from stackcheck.ingest.interface import Document, Line

_ARCH = {"amd64": "x86_64", "arm64": "aarch64", "x86_64": "x86_64", "aarch64": "aarch64"}


def sniff(text: str) -> float:
    """Look for the keys of a container's configuration."""
    return 0.9 if '"Env"' in text else 0.0


def read(draft: Draft) -> None:
    """Record image name, architecture, variables, and the component versions the variables tell."""
    for document in draft.source.documents:
        entries = document.value if isinstance(document.value, list) else [document.value]
        for entry in entries[:16]:
            if isinstance(entry, dict) and _configuration(entry):
                _record(draft, entry, document)
                draft.source.claim_range(document.first, document.last)


def _configuration(entry: dict[str, Any]) -> dict[str, Any] | None:
    for key in ("Config", "config", "container_config", "ContainerConfig"):
        inner = entry.get(key)
        if isinstance(inner, dict) and isinstance(inner.get("Env"), list):
            return inner
    return entry if isinstance(entry.get("Env"), list) else None


def _record(draft: Draft, entry: dict[str, Any], document: Document) -> None:
    config = _configuration(entry) or {}
    lines = [line for line in draft.source.lines if document.first <= line.number <= document.last]
    start = lines[0]
    architecture = entry.get("Architecture") or entry.get("architecture")
    if isinstance(architecture, str) and architecture in _ARCH:
        draft.single("arch", _ARCH[architecture], start)
    image = _image(entry, config)
    if image:
        draft.single("image", image, _place(lines, image))
    for variable in config["Env"][:2000]:
        name, equals, value = str(variable).partition("=")
        if not equals or is_private(name) or len(name) > 120:
            continue
        line = _place(lines, f'"{name}=')
        draft.environment(name, value, line)
        version_variable(draft, name, value, line, scope="container")
    _limits(draft, entry, lines)


def _image(entry: dict[str, Any], config: dict[str, Any]) -> str:
    tags = entry.get("RepoTags")
    if isinstance(tags, list) and tags and isinstance(tags[0], str):
        return tags[0]
    image = config.get("Image")
    return image if isinstance(image, str) and not image.startswith("sha256:") else ""


def _limits(draft: Draft, entry: dict[str, Any], lines: list[Line]) -> None:
    """A running container's limits: /dev/shm in bytes (unless it has another one's), locked memory in KiB."""
    host = entry.get("HostConfig")
    if not isinstance(host, dict):
        return
    shm = host.get("ShmSize")
    own = host.get("IpcMode") in (None, "", "private", "shareable")
    if own and isinstance(shm, int) and 0 < shm < 1 << 60:
        shared_memory(draft, shm, _place(lines, '"ShmSize"'))
    ulimits = host.get("Ulimits")
    for limit in ulimits if isinstance(ulimits, list) else ():
        if isinstance(limit, dict) and limit.get("Name") == "memlock" and isinstance(limit.get("Soft"), int):
            soft = limit["Soft"]
            memlock(draft, "unlimited" if soft < 0 else str(soft >> 10), _place(lines, '"memlock"'))


def _place(lines: list[Line], text: str) -> Line:
    found = next((line for line in lines if text in line.text), lines[0])
    if len(found.text) < 4000:
        return found
    at = max(0, found.text.find(text))
    return Line(found.number, found.text[at : at + 200])
