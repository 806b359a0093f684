"""The pins that pip or uv can install, and which build of them to ask for.

Local version labels (`+cu130`): an index serves one build per version without a label, the others live in places of their own.
`==2.9.0` accepts whatever build is found; `==2.9.0+cu128` fails unless that very build is offered. So the label is written only
where the build is known not to be the index's own: better no install than silently another CUDA.
Source: https://packaging.python.org/en/latest/specifications/version-specifiers/#local-version-identifiers
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from stackcheck.model.stack import CHOSEN_BY_BACKEND, Pin
from stackcheck.model.version import Version

_PURL = re.compile(
    r"pkg:pypi/(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:@(?P<version>[^?#]+))?(?:[?#].*)?\Z"
)
_BACKEND = re.compile(r"(?:cu\d{2,4}|cpu|xpu|rocm\d+(?:\.\d+)*)\Z", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One pip-level pin: `name==version`, and the build that is meant."""

    name: str
    version: str
    build: str
    """The label of the build (`cu130`), or empty if there is one build only."""
    backend: str
    """What to pass as `--torch-backend`, or empty if the index's own wheel is the right one."""
    pin: Pin

    @property
    def specifier(self) -> str:
        """Return the requirement line."""
        return f"{self.name}=={self.version}"

    @property
    def hint(self) -> str:
        """Return how to get this very build, or an empty text if nothing has to be done."""
        if self.backend:
            return f"build {self.build}: uv pip install --torch-backend={self.backend}"
        if self.build and is_index_build(self.pin) is False:
            return f"build {self.build}: take the wheel of that build from the project's release; --torch-backend does not choose it"
        return ""


def packages(pins: Iterable[Pin]) -> Iterator[Package]:
    """Yield the pins inside a container with a `pkg:pypi/` purl whose version is one that pip understands, in their order."""
    for pin in pins:
        match = _PURL.match(pin.purl)
        if match is None or pin.scope not in ("container", ""):
            continue
        text = unquote(match["version"] or pin.version)
        if not _is_published(text):
            continue
        public, _, local = text.strip().partition("+")
        build = pin.build or (local if _BACKEND.match(local) else "")
        from_index = is_index_build(pin)
        other = bool(build) and from_index is False
        selected = match["name"].lower().startswith(CHOSEN_BY_BACKEND) and bool(_BACKEND.match(build))
        yield Package(
            name=match["name"],
            version=f"{public}+{build}" if other else public,
            build=build,
            backend=build if selected and from_index is not True and pin.origin != "image" else "",
            pin=pin,
        )


def is_index_build(pin: Pin) -> bool | None:
    """Return whether the package index serves this build of the pin's version; None if that is not known."""
    return pin.index_build


def _is_published(text: str) -> bool:
    """Whether a text can be the version of a package; `2.28.9-1` is one of a system package, not a post-release."""
    try:
        Version(text, "pep440")
    except ValueError:
        return False
    return "-" not in text


def torch_backend(found: Iterable[Package]) -> str:
    """Return the one backend these packages need, or empty if none or if they disagree."""
    needed = {p.backend for p in found if p.backend}
    return needed.pop() if len(needed) == 1 else ""
