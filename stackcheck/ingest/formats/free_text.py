"""What people write around their logs: `torch 2.8.0+cu128, driver 580.95.05`, `8x H100`, `instance: p5.48xlarge`.

Everything found here is hearsay (`mention`): it gives way to what a program printed about the same component. A line that asks for,
advises or compares versions says nothing about the node and is left alone.
"""

from __future__ import annotations

import re
from itertools import islice

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.gpu_lines import capability, listed, named
from stackcheck.ingest.formats.image_names import component_images
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

_PAIR = Lazy(
    r"(?<![\w./:@-])(?P<name>[A-Za-z][A-Za-z_]{1,40}(?:[-_][A-Za-z0-9]{1,20}){0,4}|[A-Za-z]\w{1,30})(?P<between>(?:[ _](?:version|release|ver)(?: \(GPU\?\))?)?(?: {0,40}[:=]{1,2} {0,8}| {1,8})['\"]?v?)"
    r"(?P<version>\d{1,4}\.\d{1,4}(?:\.\w{1,40}){0,5}(?:\+[\w.]{1,60})?)(?=[\s,;|)\]'\"]|\.?\Z|[.:]\s|/py)"
)
_INSTANCE = Lazy(
    r"(?<![\w./-])(?P<type>[a-z]{1,3}\d[a-z0-9]{0,4}(?:-[a-z0-9]{2,8}){0,2}\.(?:\d{1,3}xlarge|metal(?:-\d{1,3}xl)?))(?![\w.-])"
)
_IMAGE = Lazy(
    r"\b(?:[Ii]mage|[Cc]ontainer|docker run.{0,200}?)[:= ]{1,3}['\"]?(?P<image>(?:[\w.-]{1,80}(?::\d{1,5})?/){1,6}[\w.-]{1,100}:[\w.-]{1,120})"
)
_NOT_A_FACT = Lazy(
    r"\b(?:requires?|required|needs?|needed|supports?|supported|expected|expects|minimum|at least|or (?:newer|later|higher|above)|recommend\w*|"
    r"upgrad\w+|downgrad\w+|install|please|should|must|instead of|than|until|before|since|compiled (?:with|for|against)|built (?:with|for|against)|"
    r"does ?n.t match|does not match|mismatch\w*|fixed in|works?|worked|hangs? with|vs|attempting|tested|compatible|incompatible|conflict\w*|available|latest|wants?|>=|<=|!=|~=|deprecated)\b|>=|<=|[<>~^]=?\s?\d",
    re.IGNORECASE,
)
_ARCH = Lazy(r"(?<![\w-])(x86_64|aarch64)(?![\w-])")
_KERNEL = Lazy(r"\d{1,2}\.\d{1,3}\.\d")
_DIGIT = Lazy(r"\d")
_LINES = 6_000  # of text that no format takes; what is longer is some program's log, not what a person wrote
_NOT_NAMES = frozenset(
    ("version", "release", "using", "with", "and", "or", "on", "in", "at", "to", "is", "for", "from", "of")
)


def sniff(text: str) -> float:
    """Any text may be prose."""
    return 0.1 if text else 0.0


def read(draft: Draft) -> None:
    """Record versions, GPUs, instance type and image that the text mentions."""
    draft.method = "mention"
    instances: dict[str, Line] = {}
    for line in islice(draft.source.open(), _LINES):
        text = line.text[:600].replace("**", "").replace("`", "")
        if text.startswith("|"):
            text = text.replace("|", " ")  # a row of a Markdown table
        if not _DIGIT.search(text):
            continue
        for match in _INSTANCE.finditer(text):
            instances.setdefault(match["type"], line)
        _gpu(draft, text, line)
        if _NOT_A_FACT.search(text):
            continue
        _versions(draft, text, line)
        if not component_images(draft, text, line) and (image := _IMAGE.search(text)):
            draft.single("image", image["image"].rstrip(".,"), line)
        if "|" in text and (arch := _ARCH.search(text)):
            draft.single("arch", arch[1], line)
    if len(instances) == 1:
        draft.single("instance", *next(iter(instances.items())))


def _versions(draft: Draft, text: str, line: Line) -> None:
    for match in list(_PAIR.finditer(text))[:24]:
        name = match["name"]
        if name.lower() in _NOT_NAMES or len(name) < 3:
            continue
        component = _component(draft, text, match)
        if component == "cuda" and re.search(r"CUDA Version\s{0,3}:", match[0]):
            continue  # nvidia-smi's word for the newest CUDA of the driver
        if component == "cuda" and text.startswith(". CUDA Toolkit", match.end()):
            draft.first_fact("compute_capability", match["version"], line)  # Unsloth's banner
            continue
        if component == "kernel" and not _KERNEL.match(match["version"]):
            continue  # "Enterprise Linux 9.6" and "Amazon Linux 2023.9.20251014" are distributions
        if component:
            draft.component(component, match["version"].rstrip("."), line)


def _component(draft: Draft, text: str, match: re.Match[str]) -> str | None:
    """Return the component a name means, alone or with the word before it (`EFA installer`, `Fabric Manager`)."""
    before = text[max(0, match.start() - 24) : match.start()].split()
    if before and (found := draft.context.component(f"{before[-1]} {match['name']}")):
        return found
    return draft.context.component(match["name"])


def _gpu(draft: Draft, text: str, line: Line) -> None:
    gpus = listed(text) or named(text, draft.context)
    if gpus:
        draft.gpu(gpus.model, line, gpus.number)
        if gpus.capability or (cap := capability(text)):
            draft.first_fact("compute_capability", gpus.capability or cap, line)
