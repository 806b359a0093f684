"""What `python -c 'print(torch.__version__, ...)'` prints: each value belongs to the expression at its place."""

from __future__ import annotations

import re
from collections.abc import Callable

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy
from stackcheck.ingest.segments import PYTHON_PROMPT
from stackcheck.model.version import cudnn_from_code

Setter = Callable[[Draft, str, Line], None]

_PRINT = Lazy(r"print\((?P<arguments>.{1,600}?)\)\s*[;'\"]?[;\"']?\s*(?:2>&1)?(?:\|.*)?\Z")
_VERSION = Lazy(r"v?\d{1,5}(?:\.\w{1,40}){1,6}(?:\+[\w.]{1,60})?\Z")
_VALUE = Lazy(r"\([^()]{0,120}\)|\[[^\[\]]{0,600}\]|\S+")


def _version_of(draft: Draft, module: str, value: str, line: Line) -> None:
    component = draft.context.package(module)
    if component and _VERSION.match(value):
        draft.component(component, value, line, loaded=True)


def _cuda(draft: Draft, value: str, line: Line) -> None:
    if re.fullmatch(r"\d{1,2}\.\d{1,2}", value):
        draft.component("cuda", value, line)
        draft.component("torch", "", line, attributes={"cuda": value})


def _available(draft: Draft, value: str, line: Line) -> None:
    if value in ("True", "False"):
        draft.fact("cuda_available", value == "True", line)


def _abi(draft: Draft, value: str, line: Line) -> None:
    if value in ("True", "False"):
        draft.component("torch", "", line, attributes={"abi": "cxx11" if value == "True" else "pre-cxx11"})


def _nccl(draft: Draft, value: str, line: Line) -> None:
    numbers = re.findall(r"\d{1,3}", value)
    if len(numbers) >= 2:
        draft.component("nccl", ".".join(numbers[:3]), line, loaded=True)


def _cudnn(draft: Draft, value: str, line: Line) -> None:
    if re.fullmatch(r"\d{4,6}", value):
        draft.component("cudnn", cudnn_from_code(int(value)), line, loaded=True)


def _arch_list(draft: Draft, value: str, line: Line) -> None:
    targets = re.findall(r"(?:sm|compute)_\d{2,3}[af]?", value)
    if targets:
        draft.component("torch", "", line, attributes={"targets": targets})
        for target in targets:
            draft.add("arch_list", target, line)


def _device(draft: Draft, value: str, line: Line) -> None:
    if re.search(r"[A-Z]\d", value):
        draft.gpu(value, line)


def _capability(draft: Draft, value: str, line: Line) -> None:
    if match := re.fullmatch(r"\((\d{1,2}), ?(\d)\)", value):
        draft.first_fact("compute_capability", f"{match[1]}.{match[2]}", line)


def _count(draft: Draft, value: str, line: Line) -> None:
    if value.isdigit() and len(value) < 5:
        draft.gpu(None, line, int(value))


_EXPRESSIONS: tuple[tuple[str, Setter], ...] = (
    ("torch.version.cuda", _cuda),
    ("torch.cuda.is_available()", _available),
    ("_GLIBCXX_USE_CXX11_ABI", _abi),
    ("compiled_with_cxx11_abi()", _abi),
    ("nccl.version()", _nccl),
    ("cudnn.version()", _cudnn),
    ("get_arch_list()", _arch_list),
    ("get_device_name(", _device),
    ("get_device_capability(", _capability),
    ("device_count()", _count),
)


def python_print(draft: Draft, command: str, lines: list[Line]) -> None:
    """Record the values of the first line of output that has as many as the command prints."""
    arguments = _arguments(command[:2000])
    for line in lines[:20]:
        values = (
            [line.text.strip().strip("'\"")]
            if len(arguments) == 1
            else [v[0] for v in _VALUE.finditer(line.text)]
        )
        if arguments and len(values) == len(arguments):
            for argument, value in zip(arguments, values, strict=True):
                _record(draft, argument, value, line)
            if line.number in draft.source.claimed:
                return


def _arguments(command: str) -> list[str]:
    """Return what the command prints: the arguments of its last print, or the expression typed at a Python prompt."""
    if command.startswith(PYTHON_PROMPT):
        typed = command.removeprefix(PYTHON_PROMPT).strip()
        printed = _PRINT.search(typed)
        if printed is None:
            return [] if "import " in typed or "=" in typed else [typed]
        return [a.strip() for a in _split(printed["arguments"])]
    match = _PRINT.search(command)
    return [a.strip() for a in _split(match["arguments"])] if match else []


def _split(text: str) -> list[str]:
    """Split arguments at commas outside of brackets and quotes."""
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]]


def _record(draft: Draft, argument: str, value: str, line: Line) -> None:
    if module := re.fullmatch(r"(\w{1,60})\.(?:__version__|version\.__version__)", argument):
        _version_of(draft, module[1], value, line)
        return
    for marker, setter in _EXPRESSIONS:
        if marker in argument:
            setter(draft, value, line)
            return
