"""Kubernetes in YAML or `kubectl describe`, and compose files: container variables, image, limits, node labels, why a pod was stopped."""

from __future__ import annotations

import re

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.env import set_variable
from stackcheck.ingest.formats.image_names import component_images
from stackcheck.ingest.formats.node_labels import LABELS, driver_from_parts, label
from stackcheck.ingest.formats.system import shared_memory
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

_LABEL = Lazy(
    r"\s{0,40}(?:Labels:\s{1,20})?(?P<name>(?:nvidia\.com|feature\.node\.kubernetes\.io|(?:node|beta)?\.?kubernetes\.io)/[\w.-]{1,80})(?:=|: )['\"]?(?P<value>[\w.+-]{1,120})['\"]?,?\s*\Z"
)
_NAME = Lazy(r"\s{0,60}-?\s{0,4}name: ['\"]?(?P<name>[A-Z][A-Z0-9_]{1,79})['\"]?\s*\Z")
_VALUE = Lazy(r"\s{1,60}value: (?P<value>.{0,4000})\Z")
_INLINE = Lazy(
    r"\s{0,60}-\s?\{\s?name: ['\"]?(?P<name>[A-Z][A-Z0-9_]{1,79})['\"]?, value: ['\"]?(?P<value>[^'\"}]{0,2000})['\"]?\s?\}"
)
_DESCRIBED = Lazy(r"\s{2,20}(?P<name>[A-Z][A-Z0-9_]{2,79}):\s{1,12}(?P<value>\S.{0,2000})\Z")
_IMAGE = Lazy(r"\s{0,60}-?\s{0,4}[Ii]mage: {1,20}['\"]?(?P<image>[\w][\w.:/@-]{2,250})['\"]?\s*\Z")
_AMOUNT = Lazy(
    r"(?P<name>vpc\.amazonaws\.com/efa|nvidia\.com/gpu|hugepages-2Mi|hugepages-1Gi|memory|rdma/[\w-]{1,40})['\"]?(?:[:=] {0,30}| {1,2})['\"]?(?P<value>\d{1,12})(?P<unit>Ki|Mi|Gi|Ti|k|M|G|T)?['\"]?(?=[\s,]|\Z)"
)
_KUBELET = Lazy(r"\s{0,8}Kubelet Version:\s{1,20}v?(\d{1,3}\.\d{1,3}[\w.+-]{0,40})")
_KERNEL = Lazy(r"\s{0,8}Kernel Version:\s{1,20}(\d{1,3}\.\d{1,4}\.[\w.+-]{1,80})")
_BYTES = {
    "": 1,
    "k": 1000,
    "Ki": 1 << 10,
    "M": 10**6,
    "Mi": 1 << 20,
    "G": 10**9,
    "Gi": 1 << 30,
    "T": 10**12,
    "Ti": 1 << 40,
}
_SHM = Lazy(r"shm_size: ['\"]?(?P<value>\d{1,9}) ?(?P<unit>[kKmMgG])[bB]?['\"]?\s*\Z")
_RESOURCES = frozenset(("nvidia.com/gpu",))


def sniff(text: str) -> float:
    """Look for keys of a pod, a node or a compose file."""
    if any(mark in text for mark in ("apiVersion:", "nvidia.com/gpu", "Labels:", "services:")):
        return 0.8
    marks = ("OOMKilled", "value: ", "Limits:", "limits:", "kubernetes.io/", "environment:", "Environment:")
    return 0.5 if any(mark in text for mark in marks) else 0.0


def read(draft: Draft) -> None:
    """Record what the pod or node says."""
    variable = ""
    section = ""
    labels: dict[str, str] = {}
    first: Line | None = None
    gpus: Line | None = None
    for line in draft.source.open():
        text = line.text
        bare = text.lstrip("# ")
        if "OOMKilled" in text:
            draft.add("oom_killed", "container", line)
            draft.fact("oom_kills", 1, line)
        if (
            ("io/" in text or "com/" in text)
            and (match := _LABEL.match(text))
            and match["name"] not in _RESOURCES
        ):
            labels[match["name"]] = match["value"]
            if match["name"] in LABELS or "nvidia.com/cuda." in text:
                draft.source.claim(line.number)
            label(draft, match["name"], match["value"], line)
            first = first or line
            continue
        if heading := re.match(
            r"-?\s{0,4}(limits|requests|capacity|allocatable|Limits|Requests|Capacity|Allocatable|Environment|environment|env):",
            bare,
        ):
            section = heading[1].lower()
        if variable and (match := _VALUE.match(text)):
            set_variable(draft, variable, match["value"].strip().strip("'\""), line)
            variable = ""
        elif match := _NAME.match(text):
            variable = match["name"]
            draft.source.claim(line.number)
        elif (match := _INLINE.match(text)) or (
            section == "environment" and (match := _DESCRIBED.match(text))
        ):
            set_variable(draft, match["name"], match["value"].strip().strip("'\""), line)
        elif match := _SHM.match(bare):
            shared_memory(
                draft, int(match["value"]) << {"k": 10, "m": 20, "g": 30}[match["unit"].lower()], line
            )
        elif match := _IMAGE.match(text):
            if not component_images(draft, match["image"], line) and re.search("[/:]", match["image"]):
                draft.single("image", match["image"], line)
        elif match := _KUBELET.match(text):
            draft.component("kubernetes", match[1], line, scope="cluster")
        elif match := _KERNEL.match(text):
            draft.component("kernel", match[1], line, scope="host")
        elif section in ("limits", "capacity", "allocatable") and (match := _AMOUNT.search(text)):
            _amount(draft, match, section, line)
            if section == "limits" and match["name"] == "nvidia.com/gpu":
                gpus = line
    if gpus and "vpc.amazonaws.com/efa" not in draft.source.text:
        draft.fact("pod_without_efa", True, gpus)
    if labels and first:
        driver_from_parts(draft, labels, first)


def _amount(draft: Draft, match: re.Match[str], section: str, line: Line) -> None:
    name, number, unit = match["name"], int(match["value"]), match["unit"] or ""
    if name == "nvidia.com/gpu" and section != "limits":
        draft.gpu(None, line, number)
    elif name == "memory" or name.startswith("hugepages"):
        if section == "limits":
            size = number * _BYTES[unit]
            if name == "memory":
                draft.fact("limit:memory", size, line)
            else:
                page = 1 << (30 if name.endswith("1Gi") else 21)
                draft.fact("limit:hugepages", size // page, line)
    else:
        draft.fact(f"limit:{name}", number, line)
