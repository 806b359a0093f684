"""What loaders, the CUDA runtime and compilers print when parts do not fit; tracebacks around them.

Only values that a rule can use are recorded here; that a line occurred at all is the business of the catalog's line signatures.
"""

from __future__ import annotations

import re

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.gpu_lines import from_sm
from stackcheck.ingest.formats.rows import (
    Row,
    Table,
    member,
    member_number,
    member_of,
    number,
    text,
    truth,
    understood,
)
from stackcheck.ingest.interface import Line
from stackcheck.model.version import cuda_from_code

_LIBRARY = r"[\w./+@-]{1,250}?\.so[\w.]{0,30}"


def _undefined(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.add("undefined_symbol", match[2], line)
    draft.add("undefined_symbol_in", match[1].rpartition("/")[2], line)
    if match[3]:
        draft.add("undefined_symbol_wanted_from", match[3], line)


def _version_missing(draft: Draft, match: re.Match[str], line: Line) -> None:
    """`/lib/libc.so.6: version 'GLIBC_2.34' not found (required by x.so)`."""
    name = match[2]
    draft.add("symbol_version_missing", name, line)
    draft.add("symbol_version_missing_in", match[1], line)
    if match[3]:
        draft.add("symbol_version_wanted_by", match[3].rpartition("/")[2], line)
    family, _, version = name.rpartition("_")
    if family in ("GLIBC", "GLIBCXX") and version[:1].isdigit():
        fact = f"{family.lower()}_needed"
        before = draft.facts.get(fact)
        if not isinstance(before, str) or _numbers(version) > _numbers(before):
            draft.fact(fact, version, line)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(p) for p in version.split(".") if p.isdigit() and len(p) < 9)


def _not_compatible(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.gpu(match[1], line)
    draft.first_fact("compute_capability", from_sm(match[2]), line)


def _supports(draft: Draft, match: re.Match[str], line: Line) -> None:
    targets = tuple(dict.fromkeys(re.findall(r"(?:sm|compute)_\d{2,3}[af]?", match[1])))
    draft.component("torch", "", line, attributes={"targets": list(targets)})
    for target in targets:
        draft.add("arch_list", target, line)


def _arch_list(draft: Draft, match: re.Match[str], line: Line) -> None:
    _supports(draft, match, line)


def _cudnn_pair(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.component("cudnn", match[1], line, loaded=True)
    draft.fact("cudnn_compiled_with", match[2], line)


def _cudnn_compiled(draft: Draft, match: re.Match[str], line: Line) -> None:
    """torch: `compiled against (9, 1, 0) but found runtime version (8, 9, 2)`."""
    draft.fact("cudnn_compiled_with", re.sub(r", ?", ".", match[1]), line)
    draft.component("cudnn", re.sub(r", ?", ".", match[2]), line, loaded=True)


def _driver_too_old(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.first_fact("driver_cuda", cuda_from_code(int(match[1])), line)


def _capability(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.first_fact("compute_capability", from_sm(match[1]), line)


_ROWS: tuple[Row, ...] = (
    ("undefined symbol: ", rf"({_LIBRARY}|[\w./-]{{1,200}}): undefined symbol: ([\w@.]{{1,300}})(?:, version ([\w.]{{1,80}}))?", _undefined),
    ("cannot open shared object file", rf"({_LIBRARY}): cannot open shared object file", member("missing_libraries")),
    ("=> not found", r"(\S{1,120}\.so[\w.]{0,30}) => not found", member("missing_libraries")),
    ("version `", rf"({_LIBRARY}): version `([\w.]{{1,80}})' not found(?: \(required by ([^)]{{1,250}})\))?", _version_missing),
    ("with CUDA capability sm_", r"(NVIDIA [\w ()-]{1,80}|[A-Z][\w -]{1,60}) with CUDA capability sm_(\d{2,3})[af]? is not compatible", _not_compatible),
    ("supports CUDA capabilities ", r"supports CUDA capabilities ((?:(?:sm|compute)_\d{2,3}[af]?[ ,.]{0,2}){1,40})", _supports),
    ("supports compute capabilities ", r"supports compute capabilities ((?:(?:sm|compute)_\d{2,3}[af]?[ ,.]{0,2}){1,40})", _supports),
    ("['sm_", r"(\['sm_\d{2,3}[af]?'(?:, '(?:sm|compute)_\d{2,3}[af]?'){0,40}\])", _arch_list),
    ("no kernel image is available", r"no kernel image is available", member_of("cuda_error", 209)),
    ("Error 8", r"\bError (80\d): ", member_number("cuda_error")),
    ("error 8", r"(?:CUDA|Cuda|cuda|driver) error:? (80\d)\b", member_number("cuda_error")),
    ("CUDA error 8", r"CUDA error (80\d)\b", member_number("cuda_error")),
    ("system not yet initialized", r"system not yet initialized", member_of("cuda_error", 802)),
    ("unsupported display driver", r"unsupported display driver / cuda driver combination", member_of("cuda_error", 803)),
    ("forward compatibility was attempted", r"forward compatibility was attempted on non supported HW", member_of("cuda_error", 804)),
    ("unsupported toolchain", r"PTX was compiled with an unsupported toolchain", member_of("cuda_error", 222)),
    ("CUDA_ERROR_NOT_INITIALIZED", r"CUDA_ERROR_NOT_INITIALIZED", member_of("cuda_error", 3)),
    ("no CUDA-capable device", r"no CUDA-capable device is detected", member_of("cuda_error", 100)),
    ("driver version is insufficient", r"CUDA driver version is insufficient for CUDA runtime version", member_of("cuda_error", 35)),
    ("invalid device function", r"invalid device function", member_of("cuda_error", 98)),
    ("ptxas fatal", r"ptxas fatal\s{0,6}: Value '((?:sm|compute)_\w{2,6})' is not defined", text("ptxas_unsupported")),
    ("nvcc fatal", r"nvcc fatal\s{0,6}: Unsupported gpu architecture '((?:sm|compute)_\w{2,6})'", text("nvcc_unsupported")),
    ("Loaded runtime CuDNN library", r"Loaded runtime CuDNN library: (\d{1,2}\.\d{1,3}\.\d{1,3}) but source was compiled with: (\d{1,2}\.\d{1,3}\.\d{1,3})", _cudnn_pair),
    ("but found runtime version", r"compiled\s{1,4}against \((\d{1,2}, ?\d{1,3}, ?\d{1,3})\) but found runtime version \((\d{1,2}, ?\d{1,3}, ?\d{1,3})\)", _cudnn_compiled),
    ("found version ", r"driver on your system is too old \(found version (\d{4,6})\)", _driver_too_old),
    ("Driver/library version mismatch", r"Driver/library version mismatch", truth("driver_library_mismatch", True)),
    ("Libfabric error: ", r"Libfabric error: \((-?\d{1,5})\)", number("libfabric_error")),
    ("EFA internal error: ", r"EFA internal error: \((\d{1,6})\)", number("efa_error")),
    ("Libfabric EFA provider", r"Libfabric EFA provider has encountered", understood),
    ("Compute capability: ", r"Compute capability: (\d{2,3})\b", _capability),
    ("requires CUDA >= ", r"requires CUDA >= (\d{1,2}\.\d{1,2})", text("cuda_wanted")),
    ("at least NVCC ", r"at least NVCC (\d{1,2}\.\d{1,2})", text("nvcc_wanted")),
    ("Found GPU", r"Found GPU\d{1,3} .{1,80} which is of cuda capability (\d{1,2}\.\d)", text("compute_capability")),
    ("Exit Code: ", r"Exit Code: {1,12}(\d{1,3})", number("exit_code")),
    ("Traceback (most recent call last)", r"Traceback", understood),
    ('  File "', r'\A\s{0,20}File "[^"]{1,300}", line \d', understood),
    ("Error: ", r"\A#?\s{0,8}[\w.]{1,80}(?:Error|Exception): ", understood),
    ("Warning: ", r"\A#?\s{0,8}(?:\S{1,200}: )?[\w.]{0,40}Warning: ", understood),
    ("CUDNN_STATUS_", r"CUDNN_STATUS_\w", understood),
    ("CUBLAS_STATUS_", r"CUBLAS_STATUS_\w", understood),
    ("Errno", r"\[Errno \d{1,4}\]", understood),
)  # fmt: skip
_TABLE = Table(_ROWS)
WORDS = _TABLE.anchors


def sniff(text: str) -> float:
    """Look for any of the messages."""
    return 0.6 if _TABLE.sniff(text) else 0.0


def read(draft: Draft) -> None:
    """Record the values the messages hold."""
    _TABLE.read(draft)
