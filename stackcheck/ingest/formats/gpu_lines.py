"""Lines that name GPUs: `nvidia-smi -L`, collect_env, and what people write (`GPU 0..7: NVIDIA B200`, `8x H100`)."""

from __future__ import annotations

import re
from typing import NamedTuple

from stackcheck.ingest.interface import Context
from stackcheck.ingest.patterns import Lazy

_LISTED = Lazy(
    r"(?:.{0,60}?[ :|])?GPU (?P<index>\d{1,3}(?: ?(?:,|-|\.\.) ?\d{1,3}){0,80}) ?: {0,4}(?P<model>[A-Za-z].{1,160})\Z"
)
_TAIL = Lazy(r" ?\((?:UUID|capability|compute).*| ?[|;] .*|, .*", re.IGNORECASE)
_CAPABILITY = Lazy(
    r"(?:capability:? |compute[_ ]cap(?:ability)?:? |\bcc )\(?(\d{1,2})[., ]{1,2}(\d)\b", re.IGNORECASE
)
_SM = Lazy(r"\b(?:sm|compute)_?(\d{2,3})([af]?)\b", re.IGNORECASE)
_NVIDIA = Lazy(
    r"\bNVIDIA (?P<model>(?!UNIX|Corporation|driver|Driver|GPU|SMI|NVLink|Nvlink|Container|Fabric|CUDA|NCCL|Release)[A-Z][\w-]{1,20}(?: [\w().-]{1,20}){0,6})"
)
_TIMES_BEFORE = Lazy(r"\b(\d{1,4}) ?[xX*] ?(?:NVIDIA )?([A-Za-z][\w-]{1,14}(?: [\w-]{1,12}){0,5})")
_TIMES_AFTER = Lazy(r" ?[xX*] ?(\d{1,4})\b")
_BRACKET = Lazy(r"NVIDIA Corporation [\w ]{1,40}\[([A-Za-z][\w /.-]{1,60})\]")
_WORD = Lazy(r"[A-Za-z0-9][\w.-]*")


class Gpus(NamedTuple):
    """What a line says of GPUs; parts it does not say are empty."""

    model: str = ""
    indices: frozenset[int] = frozenset()
    number: int | None = None
    capability: str = ""


def listed(text: str) -> Gpus | None:
    """Return the GPUs of a line such as `GPU 0-3: NVIDIA A100-SXM4-80GB (UUID: ...)`, or None."""
    if "GPU " not in text:
        return None
    match = _LISTED.match(text.strip())
    if match is None:
        return None
    indices = _indices(match["index"])
    model = _TAIL.sub("", match["model"]).strip()
    if not indices or not re.search(r"\d", model) or len(model) > 80:
        return None
    several = len(indices) > 1
    return Gpus(model, indices, len(indices) if several else None, capability(match["model"]))


def _indices(text: str) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        ends = [int(n) for n in re.findall(r"\d{1,3}", part)]
        if len(ends) == 2 and ends[0] <= ends[1]:
            found.update(range(ends[0], ends[1] + 1))
        else:
            found.update(ends)
    return frozenset(found)


def capability(text: str) -> str:
    """Return the compute capability a text states (`capability 8.0`, `sm_100`, `SM120`), as major.minor, or an empty text."""
    if match := _CAPABILITY.search(text):
        return f"{match[1]}.{match[2]}"
    match = _SM.search(text)
    return from_sm(match[1]) if match else ""


def from_sm(digits: str) -> str:
    """Return the capability of an `sm_` number: its last digit is the minor (`100` is 10.0, `90` is 9.0)."""
    return f"{digits[:-1]}.{digits[-1]}"


def named(text: str, context: Context) -> Gpus | None:
    """Return the GPU that free text names: after a count, before one, after `GPU:`, or with NVIDIA's name; else None."""
    for match in _TIMES_BEFORE.finditer(text):
        model = longest_known(match[2], context)
        if model:
            return Gpus(model, number=int(match[1]))
    if "NVIDIA Corporation" in text:
        return _pci(text, context)
    at = text.find("NVIDIA ")
    label = re.search(r"\bGPU(?: type| model| name)?s?[:=]? ", text)
    start = at if at >= 0 else label.end() if label else -1
    if start < 0:
        return None
    tail = text[start : start + 160]
    model = longest_known(tail, context)
    if not model:
        brand = _NVIDIA.match(tail)
        if brand is None or not re.search(r"\d", brand["model"]):
            return None
        model = _brand_only(brand[0])
    after = _TIMES_AFTER.match(tail[len(model) :])
    return Gpus(model, number=int(after[1]) if after else None, capability=capability(tail))


def _pci(text: str, context: Context) -> Gpus | None:
    """`lspci`: the marketing name stands in brackets, the chip before it; switches are no GPUs."""
    bracket = _BRACKET.search(text)
    if bracket is None or "NVSwitch" in text:
        return None
    return Gpus(bracket[1] if context.gpu(bracket[1]) else f"NVIDIA {bracket[1]}")


def _brand_only(text: str) -> str:
    """Cut a model name where prose begins: at a lower-case word that no NVIDIA name has."""
    words = text.split()
    kept = [words[0]]
    for word in words[1:]:
        if word[:1].islower() and word.lower() not in ("x", "super", "ti"):
            break
        kept.append(word.rstrip("."))
        if word.endswith("."):
            break  # a sentence ends
    return " ".join(kept[:8])


def longest_known(text: str, context: Context) -> str:
    """Return the longest run of words at the start of `text` that the catalog knows as a GPU, or an empty text."""
    words = list(_WORD.finditer(text[:120]))[:8]
    if not words or words[0].start() > 2:
        return ""
    for last in range(len(words), 0, -1):
        candidate = text[words[0].start() : words[last - 1].end()]
        if context.gpu(candidate):
            return candidate
    return ""
