"""What is deployed, in lists and settings: `helm list`, `docker images`, values of a chart, `dkms status`.

A chart, an image or a module in them is known by the aliases of a component, as it is wherever a pod names the image.
"""

from __future__ import annotations

import re

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.image_names import component_images
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

_CHART = Lazy(
    r"\s(?:deployed|failed|superseded|pending-\w{3,12})\s{1,20}(?P<name>[a-z][a-z0-9-]{1,80}?)-v?(?P<version>\d{1,4}\.\d{1,4}[\w.+-]{0,60})(?:\s|\Z)"
)
_IMAGE = Lazy(
    r"(?P<repository>[\w.-]{1,80}(?::\d{1,5})?(?:/[\w.-]{1,100}){1,6})\s{2,80}(?P<tag>v?\d[\w.-]{1,100})\s{2,40}(?:sha256:)?[0-9a-f]{6,64}\b"
)
_MODULE = Lazy(
    r"(?P<name>[A-Za-z][\w.-]{1,60})[/,] ?(?P<version>\d[\w.~+-]{0,60}), (?P<kernel>\d[\w.+-]{1,80}), (?:x86_64|aarch64): installed\b"
)
_KEY = Lazy(
    r"(?P<indent> {0,20})(?P<key>[A-Za-z][\w-]{1,40}):(?:\s{1,8}['\"]?(?P<value>[\w./:@+-]{1,200})['\"]?)?\s{0,8}(?:#.*)?\Z"
)
_TAG = re.compile(r"v?\d{1,4}\.\d{1,4}\S{0,80}")
_TAGS = ("version", "tag")


def sniff(text: str) -> float:
    """Look for the columns and keys."""
    return (
        0.4 if any(m in text for m in ("APP VERSION", "IMAGE ID", ": installed", "version:", "tag:")) else 0.0
    )


def read(draft: Draft) -> None:
    """Record the components that are listed."""
    block: dict[str, str] = {}
    name, depth = "", -1
    tag: Line | None = None
    modules: dict[str, list[tuple[str, str, Line]]] = {}
    for line in draft.source.open():
        text = line.text
        key = _KEY.match(text)
        if key is None or not key["value"] or len(key["indent"]) != depth:
            _image(draft, name, block, tag)
            block, tag = {}, None
        if key is not None:
            if not key["value"]:
                name, depth = key["key"], len(key["indent"]) + 2
            elif len(key["indent"]) == depth:
                block[key["key"]] = key["value"]
                tag = line if key["key"] in _TAGS and _TAG.fullmatch(key["value"]) else tag
        elif match := _CHART.search(text):
            _named(draft, (match["name"], f"image/{match['name']}"), match["version"], line)
        elif match := _IMAGE.match(text.strip()):
            component_images(draft, f"{match['repository']}:{match['tag']}", line)
        elif match := _MODULE.match(text.strip()):
            modules.setdefault(match["name"], []).append((match["version"], match["kernel"], line))
    _image(draft, name, block, tag)
    for module, built in modules.items():
        _module(draft, module, built)


def _module(draft: Draft, module: str, built: list[tuple[str, str, Line]]) -> None:
    """Record a module of DKMS; which of several versions runs depends on the kernel, so none is told then."""
    component = draft.context.component(f"{module}.ko") or draft.context.component(module)
    if component is None:
        return
    one = len({version for version, _, _ in built}) == 1
    for version, kernel, line in built:
        draft.add(kernels_of(component), kernel, line)
        if one:
            draft.component(component, version, line, scope="host")


def kernels_of(component: str) -> str:
    """Return the name of the fact for which kernels a component has modules."""
    return f"kernels_of_{component.replace('-', '_')}"


def _named(draft: Draft, names: tuple[str, ...], version: str, line: Line) -> None:
    component = next((c for n in names if (c := draft.context.component(n))), None)
    if component is not None:
        draft.component(component, version, line)


def _image(draft: Draft, name: str, block: dict[str, str], line: Line | None) -> None:
    """Record the image that a block of values puts together: repository, image and tag; its key stands for a name left out."""
    tag = next((block[k] for k in _TAGS if _TAG.fullmatch(block.get(k, ""))), "")
    if line is None or not tag:
        return
    key = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()
    repository = block.get("repository", "chart")
    for reference in (
        f"{repository}/{block['image']}" if "image" in block else "",
        repository,
        f"chart/{key}",
    ):
        if reference and component_images(draft, f"{reference}:{tag}", line):
            return
