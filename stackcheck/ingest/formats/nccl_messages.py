"""What NCCL's messages mean: a literal that makes the test cheap, a pattern, and what to record.

Wordings: src/init.cc, src/plugin/, src/transport/ of NVIDIA/nccl (v2.18 to v2.30); src/ of aws/aws-ofi-nccl (v1.7 to v1.21).
"""

from __future__ import annotations

import re

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.env import is_private
from stackcheck.ingest.formats.rows import Row, Table, flag, largest, member, member_number, number, text
from stackcheck.ingest.interface import Line
from stackcheck.model.version import cuda_from_code, nccl_from_code


def _version(draft: Draft, match: re.Match[str], line: Line) -> None:
    attributes = {"cuda": match[2]} if match[2] else {}
    draft.component("nccl", match[1], line, loaded=True, attributes=attributes)


def _mismatch(draft: Draft, match: re.Match[str], line: Line) -> None:
    for code in (match[1], match[2]):
        draft.component("nccl", nccl_from_code(int(code)), line, loaded=True)


def _driver_cuda(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.first_fact("driver_cuda", cuda_from_code(int(match[1])), line)


def _environment(draft: Draft, match: re.Match[str], line: Line) -> None:
    value = match[2].strip()
    if value.endswith(".") and not value.endswith(".."):
        value = value[:-1]
    if not is_private(match[1]):
        draft.environment(match[1], value, line)
    if match[1] == "NCCL_TOPO_FILE":
        draft.fact("nccl_topo_file", value, line)


def _plugin(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.fact("nccl_net_plugin_name", match[1], line)
    draft.fact("nccl_net_plugin_loaded", True, line)
    if match[2]:
        draft.fact("nccl_net_api", int(match[2]), line)


def _no_plugin(draft: Draft, _: re.Match[str], line: Line) -> None:
    draft.first_fact("nccl_net_plugin_loaded", False, line)


def _plugin_failed(draft: Draft, _: re.Match[str], line: Line) -> None:
    draft.fact("nccl_net_plugin_loaded", False, line)


def _ofi(draft: Draft, match: re.Match[str], line: Line) -> None:
    from_file = "strings " in draft.source.command  # read out of the library, not printed by a process
    draft.component("aws-ofi-nccl", match[1], line, loaded=None if from_file else True)
    if not from_file:
        draft.fact("nccl_net_plugin_loaded", True, line)


def _libfabric(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.component("libfabric", match[1], line, loaded=True)


def _provider(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.fact("nccl_provider", match[1].rstrip("*,"), line)
    if match[2]:
        draft.fact("nccl_fabric", match[2], line)
    if match[3] and not match[1].startswith(_NO_FABRIC):
        draft.fact("nic_count", int(match[3]), line)


_NO_FABRIC = (
    "tcp",
    "sockets",
    "udp",
    "net",
    "shm",
)  # libfabric providers that count network interfaces, not RDMA devices


def _platform(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.single("instance", match[1], line)
    if match[2]:
        draft.fact("nccl_topo_file", match[2], line)


def _tuner(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.fact("nccl_tuner", match[1], line)
    if match[2]:
        draft.fact("nccl_tuner_api", int(match[2]), line)


def _no_tuner(draft: Draft, _: re.Match[str], line: Line) -> None:
    draft.first_fact("nccl_tuner", "internal", line)


def _ib_devices(draft: Draft, match: re.Match[str], line: Line) -> None:
    devices = re.findall(r"\[\d{1,3}\][\w-]{1,40}(?::\d{1,3})?(?:/\w{1,12})?", match[1])
    if devices:
        draft.first_fact("nic_count", len(devices), line)
        draft.fact("ib_devices", len(devices), line)


def _sockets(draft: Draft, match: re.Match[str], line: Line) -> None:
    for name in re.findall(r"\[\d{1,3}\]([\w.@-]{1,40}):", match[1]):
        draft.add("socket_interfaces", name, line)


def _nvls(draft: Draft, match: re.Match[str], line: Line) -> None:
    available = not match[1]
    if not available or "nvls" not in draft.facts:
        draft.fact("nvls", available, line)


def _fabric(draft: Draft, match: re.Match[str], line: Line) -> None:
    states = {
        "0": "not supported",
        "1": "not started",
        "2": "in progress",
        "3": "completed",
    }  # nvmlGpuFabricState_t
    if match[1] in states:
        draft.fact("fabric_state", states[match[1]], line)


def _hca_gdr(draft: Draft, match: re.Match[str], line: Line) -> None:
    enabled = match[1] == "Enabled"
    if not enabled or "gdr" not in draft.facts:
        draft.fact("gdr", enabled, line)


def _ring_gdr(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.first_fact("gdr", match[1] == "1", line)


_V = r"(\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)"
_INSTANCE = r"([a-z][\w-]{1,30}\.[\w-]{1,20})"

_ROWS: tuple[Row, ...] = (
    ("NCCL version", rf"NCCL version:? {_V}(?:[\w.-]{{0,40}}\+cuda(\d{{1,2}}\.\d{{1,2}}))?", _version),
    ("nccl==", rf"\bnccl=={_V}()", _version),
    ("Mismatched NCCL", r"version (\d{4,6}) rank \d{1,9} version (\d{4,6})", _mismatch),
    ("cudaDriverVersion ", r"cudaDriverVersion (\d{4,6})", _driver_cuda),
    (" set by environment to ", r"\b([A-Z][A-Z0-9_]{2,79}) set by environment to (.{0,4000})", _environment),
    (" set to ", r"\b(NCCL_[A-Z0-9_]{2,60}) set to (\S.{0,4000})", _environment),
    ("Loaded net plugin ", r"Loaded net plugin (\S.{0,60}?)(?: \(v(\d{1,3})\))?\.?\s*\Z", _plugin),
    ("Successfully loaded external ", r"Successfully loaded external (?:network )?plugin (\S{1,200})()", _plugin),
    ("NET/Plugin", r"Could not find|No plugin found|Plugin load.{0,200} returned|cannot open shared|undefined symbol|' not found", _no_plugin),
    ("nitialize", r"aws-ofi-nccl initialization failed|Failed to initialize (?:any )?NET plugin", _plugin_failed),
    ("initialization failed", r"aws-ofi-nccl initialization failed", _plugin_failed),
    ("Initializing aws-ofi-nccl ", r"Initializing aws-ofi-nccl v?(\d{1,3}\.\d{1,3}(?:\.\d{1,3})?[\w.+-]{0,40})", _ofi),
    ("Using Libfabric version ", r"Using Libfabric version (\d{1,2}\.\d{1,3}(?:\.\d{1,3})?)", _libfabric),
    ("rovider is ", r"Selected [Pp]rovider is ([\w;*-]{1,80})(?:, fabric is ([\w-]{1,80}))?(?: \(found (\d{1,4}) nics?\))?", _provider),
    ("Using network ", r"Using network (\S.{0,60}?)\s*\Z", text("nccl_network")),
    ("Assigned NET plugin ", r"Assigned NET plugin (\S.{0,60}?) to comm", text("nccl_network")),
    ("NET/IB", r"NET/IB ?: Using(.{1,4000})", _ib_devices),
    ("NET/Socket", r"NET/Socket ?: Using(.{1,2000})", _sockets),
    ("GPU Direct RDMA ", r"GPU Direct RDMA (Enabled|Disabled) for HCA", _hca_gdr),
    ("Connected all rings", r"use ring PXN \d GDR (\d)", _ring_gdr),
    ("Using transport protocol ", r"Using transport protocol (RDMA|SENDRECV)", text("ofi_protocol")),
    ("Running on ", rf"Running on {_INSTANCE} platform(?:.{{0,80}}?NCCL_TOPO_FILE environment variable (?:is already set )?to (\S{{1,200}}))?", _platform),
    ("instance type ", rf"GDR-supported instance type {_INSTANCE}()", _platform),
    ("Plugin selected platform", r"Plugin selected platform: (\S{1,40})", text("ofi_platform")),
    (" to environment", r"Adding (\w{1,80}=\S{1,200}) to environment", member("plugin_env")),
    ("DMA-BUF registrations", r"Support for DMA-BUF registrations: (true|false)", flag("dmabuf")),
    ("TUNER/Plugin", r"TUNER/Plugin: Using (?:tuner plugin )?(\w{1,80})(?: \(v(\d{1,3})\))?\.?\s*\Z", _tuner),
    ("TUNER/Plugin", r"Could not find|No plugin found|[Uu]sing internal tuner", _no_tuner),
    ("base Tuner is chosen", r"(Region|Model) base Tuner is chosen", text("ofi_tuner")),
    ("NVLS multicast support is ", r"NVLS multicast support is (not )?available", _nvls),
    ("MNNVL ", r"MNNVL busId .{0,120} state (\d)\b", _fabric),
    ("MNNVL ", r"\bMNNVL ([01])\b", flag("mnnvl")),
    ("cliqueSize ", r"cliqueSize (\d{1,5})\b", largest("nvlink_clique_size")),
    (" nranks ", r"\bnranks (\d{1,7})\b", largest("nccl_ranks")),
    ("nNodes ", r"\bnNodes (\d{1,6})\b", largest("nccl_nodes")),
    ("maxBw ", r"System : maxBw (\d{1,6}\.\d{1,4})", number("nccl_max_bw")),
    ("Avg bus bandwidth", r"Avg bus bandwidth\s{0,20}: (\d{1,6}(?:\.\d{1,6})?)", number("busbw_gbs")),
    ("failure ", r"(?:Cuda|CUDA) failure (\d{1,4})\b", member_number("cuda_error")),
    ("CUDA error ", r"CUDA error (\d{1,4})\b", member_number("cuda_error")),
    ("Bootstrap", r"Bootstrap ?: Using (?:\[\d{1,3}\])?([\w.@-]{1,40}):", text("bootstrap_interface")),
)  # fmt: skip

MESSAGES = Table(_ROWS)
