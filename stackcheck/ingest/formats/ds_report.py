"""DeepSpeed's `ds_report`: operators and a list of `key .... value`."""

from __future__ import annotations

import re
from collections.abc import Callable

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.system import shared_memory
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

_DOTTED = Lazy(r"\s{0,4}(?P<key>[A-Za-z_][\w .]{0,60}?) \.{2,60} (?P<value>.+)\Z")
_VERSION = Lazy(r"v?(\d{1,5}(?:\.\w{1,40}){1,6}(?:\+[\w.]{1,60})?)")
_MISMATCH = Lazy(
    r"Installed CUDA version (\d{1,2}\.\d{1,2}) does not match the version torch was compiled with (\d{1,2}\.\d{1,2})"
)
_SHM = Lazy(r"shared memory \(/dev/shm\) size \.{2,40} (\d{1,9}(?:\.\d{1,4})?) (MB|GB)")
_OPERATOR = Lazy(r"\[(?:NO|YES|OKAY)\]")


def _component(component: str) -> Callable[[Draft, str, Line], None]:
    def handle(draft: Draft, value: str, line: Line) -> None:
        if match := _VERSION.match(value):
            draft.component(component, match[1], line)

    return handle


def _torch_cuda(draft: Draft, value: str, line: Line) -> None:
    if match := _VERSION.match(value):
        draft.component("cuda", match[1], line)
        draft.component("torch", "", line, attributes={"cuda": match[1]})


def _built_for(draft: Draft, value: str, line: Line) -> None:
    attributes = {}
    if match := re.search(r"torch (\d{1,2}\.\d{1,3})", value):
        attributes["torch"] = match[1]
    if match := re.search(r"cuda (\d{1,2}\.\d{1,2})", value):
        attributes["cuda"] = match[1]
    if attributes:
        draft.component("deepspeed", "", line, attributes=attributes)


_KEYS: dict[str, Callable[[Draft, str, Line], None]] = {
    "torch version": _component("torch"),
    "torch cuda version": _torch_cuda,
    "deepspeed info": _component("deepspeed"),
    "nvcc version": _component("cuda-toolkit"),
    "deepspeed wheel compiled w.": _built_for,
}


def sniff(text: str) -> float:
    """Look for the report's headings."""
    return (
        1.0
        if "DeepSpeed general environment info" in text or "DeepSpeed C++/CUDA extension op report" in text
        else 0.4
    )


def read(draft: Draft) -> None:
    """Record torch, its CUDA, DeepSpeed, and the CUDA that nvcc is of."""
    for line in draft.source.open():
        text = line.text
        if "does not match the version torch" in text and (match := _MISMATCH.search(text)):
            draft.component("cuda-toolkit", match[1], line)
            draft.component("torch", "", line, attributes={"cuda": match[2]})
        elif memory := _SHM.search(text):
            shared_memory(draft, round(float(memory[1]) * (1 << (30 if memory[2] == "GB" else 20))), line)
        elif " .." in text and (match := _DOTTED.match(text)):
            handler = _KEYS.get(match["key"].strip().lower())
            if handler:
                handler(draft, match["value"].strip(), line)
            if (
                handler
                or _OPERATOR.search(text)
                or match["key"].startswith(("torch", "deepspeed", "shared memory", "op name"))
            ):
                draft.source.claim(line.number)
        elif ("DeepSpeed" in text and ("report" in text or "environment info" in text)) or text.startswith(
            "JIT compiled ops"
        ):
            draft.source.claim(line.number)
