"""`python -m torch.utils.collect_env`, vLLM's `collect_env.py` (sections with aligned colons) and SGLang's `check_env`."""

from __future__ import annotations

import re
from collections.abc import Callable

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.distribution import distribution
from stackcheck.ingest.formats.gpu_lines import listed
from stackcheck.ingest.formats.pins import parse_pin
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy
from stackcheck.model.version import cudnn_from_code

_FIELD = Lazy(r"\s{0,4}(?P<key>[A-Za-z][\w+/(). ,-]{1,80}?) {0,60}: {0,4}(?P<value>.*)\Z")
_CAPABILITIES = Lazy(r"GPU [\d, ]{1,300} Compute Capability: (\d{1,2}\.\d)")
_PACKAGE = Lazy(r"\[(?P<tool>pip3?|conda|uv)\] +(?P<rest>\S.*)\Z")
_VERSION = Lazy(r"v?(\d{1,9}(?:\.\w{1,40}){0,8}(?:\+[\w.]{1,80})?)")
_LIBRARY = Lazy(r"(?P<path>/?\S{0,200}?lib(?P<name>\w{1,60})\.so\.(?P<version>\d{1,4}(?:\.\d{1,6}){1,3}))\Z")
_EMPTY = frozenset(
    (
        "",
        "n/a",
        "none",
        "could not collect",
        "not set",
        "unknown",
        "no cuda",
        "not installed",
        "module not found",
    )
)

Handler = Callable[[Draft, str, Line], None]


def _absent(value: str) -> bool:
    return value.strip().lower() in _EMPTY


def _component(component: str, *, loaded: bool | None = None) -> Handler:
    def handle(draft: Draft, value: str, line: Line) -> None:
        match = _VERSION.search(value)
        if match:
            draft.component(component, match[1], line, loaded=loaded)

    return handle


def _cuda_of_torch(draft: Draft, value: str, line: Line) -> None:
    if value.strip() == "None":  # builds for other accelerators say N/A
        draft.component("torch", "", line, attributes={"accelerator": "cpu"})
    match = _VERSION.match(value.strip())
    if match is None:
        return
    draft.component("cuda", match[1], line)
    draft.component("torch", "", line, attributes={"cuda": ".".join(match[1].split(".")[:2])})


def _os(draft: Draft, value: str, line: Line) -> None:
    if match := re.search(r"\((x86_64|aarch64|arm64|amd64)\)", value):
        draft.single("arch", {"arm64": "aarch64", "amd64": "x86_64"}.get(match[1], match[1]), line)
    if match := re.match(r"([A-Za-z][A-Za-z/ ]{1,40}?)(?: release)? (\d{1,4}(?:\.\d{1,4}){0,2})", value):
        distribution(draft, match[1], match[2], line)


def _libc(draft: Draft, value: str, line: Line) -> None:
    if match := re.match(r"glibc-(\d{1,3}\.\d{1,3})", value):
        draft.component("glibc", match[1], line)


def _platform(draft: Draft, value: str, line: Line) -> None:
    if match := re.match(
        r"Linux-(\d{1,3}\.\d{1,4}[\w.+-]{0,80}?)-(x86_64|aarch64)(?:-with-glibc(\d{1,3}\.\d{1,3}))?", value
    ):
        draft.component("kernel", match[1], line, scope="host")
    if match := re.search(r"(x86_64|aarch64)", value):
        draft.single("arch", match[1], line)


def _cudnn(draft: Draft, value: str, line: Line) -> None:
    if match := re.match(r"(\d{4,6})\Z", value.strip()):
        draft.component("cudnn", cudnn_from_code(int(match[1])), line, loaded=True)
    elif match := _LIBRARY.search(value.strip()):
        _library(draft, match, line)
    elif match := re.match(r"\d{1,2}\.\d{1,3}(?:\.\d{1,3}){0,2}\Z", value.strip()):
        draft.component("cudnn", match[0], line)


def _library(draft: Draft, match: re.Match[str], line: Line) -> None:
    """cuDNN comes as a dozen files of one version: the directory stands for them."""
    component = draft.context.component("lib" + match["name"].partition("_")[0])
    if component:
        draft.component(
            component, match["version"], line, path=match["path"].strip().rpartition("/")[0] or match["path"]
        )


def _cuda_available(draft: Draft, value: str, line: Line) -> None:
    draft.fact("cuda_available", value.strip().lower() == "true", line)


def _module_loading(draft: Draft, value: str, line: Line) -> None:
    if not _absent(value):
        draft.environment("CUDA_MODULE_LOADING", value.strip(), line)


_CUDA_CODE = Lazy(r"(1\d)0(\d)0\Z")


def _driver(draft: Draft, value: str, line: Line) -> None:
    """A program that asks CUDA for its driver version is told the CUDA that the driver speaks, as a code: 12080."""
    if code := _CUDA_CODE.match(value.strip()):
        draft.fact("driver_cuda", f"{code[1]}.{code[2]}", line)
    elif match := _VERSION.search(value):
        draft.component("driver", match[1], line, loaded=True)


def _toolkit(draft: Draft, value: str, line: Line) -> None:
    """A code is the runtime that a program was linked with, no toolkit."""
    if code := _CUDA_CODE.match(value.strip()):
        draft.component("cuda", f"{code[1]}.{code[2]}", line)
    elif match := _VERSION.search(value):
        draft.component("cuda-toolkit", match[1], line)


def _nvcc(draft: Draft, value: str, line: Line) -> None:
    match = re.search(r"V(\d{1,2}\.\d{1,2}\.\d{1,4})", value) or re.search(
        r"release (\d{1,2}\.\d{1,2})", value
    )
    if match:
        draft.component("cuda-toolkit", match[1], line)


def _number(name: str) -> Handler:
    def handle(draft: Draft, value: str, line: Line) -> None:
        if value.strip().isdigit() and len(value.strip()) < 9:
            draft.fact(name, int(value), line)

    return handle


def _gcc(draft: Draft, value: str, line: Line) -> None:
    if match := re.search(
        r"(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)\s*\Z", re.sub(r"-\d{6,}.*$| \d{8}.*$", "", value)
    ):
        draft.fact("gcc", match[1], line)


def _vllm_archs(draft: Draft, value: str, line: Line) -> None:
    match = re.match(r"CUDA Archs: ([^;]{1,200})", "CUDA Archs: " + value)
    if match and not _absent(match[1]):
        draft.fact("vllm_cuda_archs", match[1], line)


FIELDS: dict[str, Handler] = {
    "pytorch version": _component("torch", loaded=True),
    "pytorch": _component("torch", loaded=True),
    "cuda used to build pytorch": _cuda_of_torch,
    "os": _os,
    "gcc version": _gcc,
    "libc version": _libc,
    "python version": _component("python", loaded=True),
    "python": _component("python", loaded=True),
    "python platform": _platform,
    "is cuda available": _cuda_available,
    "cuda available": _cuda_available,
    "cuda runtime version": _toolkit,
    "nvcc": _nvcc,
    "cuda_module_loading set to": _module_loading,
    "nvidia driver version": _driver,
    "cuda driver version": _driver,
    "cudnn version": _cudnn,
    "vllm version": _component("vllm", loaded=True),
    "cuda archs": _vllm_archs,
    "numa node(s)": _number("numa_nodes"),
}  # fmt: skip
"""Keys as the scripts print them, lower case."""


def sniff(text: str) -> float:
    """Count the lines only these scripts print."""
    marks = ("PyTorch version", "CUDA used to build PyTorch", "Is CUDA available", "Nvidia driver version", "[pip3] ",
             "[conda] ", "CUDA runtime version", "CUDA Driver Version", "Collecting environment information")  # fmt: skip
    hits = sum(mark in text for mark in marks)
    return min(1.0, 0.4 + 0.2 * hits) if hits else 0.0


def read(draft: Draft) -> None:
    """Record what the report says of torch, CUDA, driver, GPUs, operating system and packages."""
    report = _Report(draft)
    for line in draft.source.open():
        report.take(line)
    report.finish()


class _Report:
    """State while a report is read: lists continue over lines."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.cudnn_follows = False
        self.gpus: dict[int, Line] = {}
        self.any_package = (
            "CUDA Driver Version" in draft.source.text and "CUDA available" in draft.source.text
        )

    def take(self, line: Line) -> None:
        text = line.text
        if match := _PACKAGE.match(text.strip()):
            _package(self.draft, match, line)
            return
        if "GPU " in text and self._gpu(text, line):
            return
        if self.cudnn_follows and (match := _LIBRARY.match(text.strip())):
            _library(self.draft, match, line)
            return
        self.cudnn_follows = False
        if text.strip() in _HEADINGS:
            self.draft.claim(line)
            return
        match = _FIELD.match(text)
        if match:
            self._field(match["key"].strip().lower(), match["value"], line)

    def _field(self, key: str, value: str, line: Line) -> None:
        handler = FIELDS.get(key)
        if handler is None:
            if key in _SILENT:
                self.draft.source.claim(line.number)
            elif self.any_package:
                self._sglang(key, value, line)
            return
        self.draft.source.claim(line.number)
        if key == "cudnn version":
            self.cudnn_follows = "one of the following" in value
        if not _absent(value) or handler is _cuda_of_torch:
            handler(self.draft, value, line)

    def _sglang(self, key: str, value: str, line: Line) -> None:
        """`sglang: 0.4.6`, `flashinfer: Module Not Found`: any package name as a key."""
        match = _VERSION.match(value.strip())
        component = self.draft.context.component(key) if match or _absent(value) else None
        if component is None:
            return
        if match and "." in match[1] and match.end() == len(value.strip()):
            self.draft.component(component, match[1], line)
        elif "not found" in value.lower() or "not installed" in value.lower():
            self.draft.absent(component, line)

    def _gpu(self, text: str, line: Line) -> bool:
        if capability := _CAPABILITIES.search(text):
            self.draft.fact("compute_capability", capability[1], line)
            return True
        gpus = listed(text)
        if gpus is None:
            return False
        self.draft.gpu(gpus.model, line)
        if gpus.capability:
            self.draft.first_fact("compute_capability", gpus.capability, line)
        self.gpus.update((i, line) for i in gpus.indices)
        return True

    def finish(self) -> None:
        if self.gpus and (len(self.gpus) > 1 or self.draft.components):
            first = self.gpus[min(self.gpus)]
            self.draft.gpu(None, first, len(self.gpus))


_HEADINGS = frozenset((
    "Collecting environment information...", "System Info", "PyTorch Info", "Python Environment", "CUDA / GPU Info", "CPU Info",
    "Versions of relevant libraries", "vLLM Info", "Environment Variables", "CPU:", "Legend:",
))  # fmt: skip
_SILENT = frozenset((
    "is debug build", "rocm used to build pytorch", "clang version", "cmake version", "hip runtime version",
    "miopen runtime version", "is xnnpack available", "gpu models and configuration", "hip version", "neuron sdk version",
    "versions of relevant libraries", "vllm build flags", "gpu topology", "rocm version", "nvidia topology", "cpu",
))  # fmt: skip


def _package(draft: Draft, match: re.Match[str], line: Line) -> None:
    rest = match["rest"]
    draft.source.claim(line.number)
    if match["tool"] == "conda":
        words = rest.split()
        if len(words) > 1 and words[1][:1].isdigit():
            conda_package(draft, words[0], words[1], words[2] if len(words) > 2 else "", line)
        return
    pin = parse_pin(rest)
    if pin and pin.version:
        draft.package(pin.name, pin.version, line, attributes=pin.attributes)


def conda_package(draft: Draft, name: str, version: str, build: str, line: Line) -> None:
    """Add a conda package; the build string of PyTorch's channel tells its CUDA (`py3.11_cuda12.4_cudnn9.1.0_0`, `cuda129py312`)."""
    attributes: dict[str, object] = {}
    if match := re.search(r"cuda_?(\d{2}\.\d|\d{3})(?!\d)", build):
        attributes["cuda"] = match[1] if "." in match[1] else f"{match[1][:2]}.{match[1][2]}"
    if name == "pytorch-cuda":  # a selector of the CUDA line, whose version is CUDA's
        draft.component("cuda", version, line, attributes={"package": name})
        return
    if (
        draft.context.package(name) == "torch"
        and "cudnn" in build
        and (match := re.search(r"cudnn(\d{1,2}\.\d{1,2}\.\d{1,2})", build))
    ):
        draft.component("cudnn", match[1], line, attributes={"package": name})
    draft.package(name, version, line, attributes=attributes)
