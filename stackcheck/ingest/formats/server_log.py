"""Lines in which serving engines, training libraries and communication libraries name their versions and choices."""

from __future__ import annotations

import re

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.rows import Row, Table, component, member, text, understood
from stackcheck.ingest.interface import Line
from stackcheck.model.version import cudnn_from_code

_V = r"v?(\d{1,4}\.\d{1,4}(?:\.\w{1,40}){0,4}(?:\+[\w.]{1,60})?)"


def _te(draft: Draft, _: re.Match[str], line: Line) -> None:
    """Transformer Engine's debug line is a dictionary of versions."""
    for key, value in re.findall(r"'(\w{1,60})_version': '(\d{1,4}\.[\w.+]{1,40})'", line.text[:4000]):
        name = draft.context.component(key)
        if name:
            draft.component(name, value, line, loaded=True)
    if capability := re.search(r"'compute_capability': 'sm(\d{2,3})'", line.text):
        draft.first_fact("compute_capability", f"{capability[1][:-1]}.{capability[1][-1]}", line)


def _fabric_manager(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.component("fabric-manager", match[1], line, scope="host", loaded=True)
    draft.component("driver", match[2], line, scope="host", loaded=True)


def _forward_compatibility(draft: Draft, match: re.Match[str], line: Line) -> None:
    """Banner of an image: which user-mode driver its compat library brings, over which driver of the host."""
    draft.component("cuda-compat", match[2], line, loaded=True, attributes={"cuda": match[1]})
    draft.component("cuda", match[1], line, scope="container")
    draft.component("driver", match[3], line, scope="host", loaded=True)


def _nccl_tuple(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.component("nccl", ".".join(match.groups()), line, loaded=True)


def _cudnn_code(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.component("cudnn", cudnn_from_code(int(match[1])), line, loaded=True)


_ROWS: tuple[Row, ...] = (
    ("vLLM ", rf"vLLM (?:API )?server version {_V}", component("vllm", loaded=True)),
    ("LLM engine (v", rf"LLM engine \({_V}\) with config", component("vllm", loaded=True)),
    ("vLLM ", rf"\AvLLM {_V}\b", component("vllm", loaded=True)),
    ("SGLang", rf"\bSGLang (?:server )?(?:version[ :]{{1,3}}){_V}", component("sglang", loaded=True)),
    ("TensorRT-LLM", rf"TensorRT-LLM\]?.{{0,20}}?version:? {_V}", component("tensorrt-llm", loaded=True)),
    ("TensorRT LLM version", rf"TensorRT LLM version:? {_V}", component("tensorrt-llm", loaded=True)),
    ("NVSHMEM v", r"\bNVSHMEM v(\d{1,2}\.\d{1,3}\.\d{1,3})\b", component("nvshmem", loaded=True)),
    ("transformer_engine_version", r"transformer_engine_version", _te),
    ("PyTorch version ", rf"PyTorch version {_V} available", component("torch", loaded=True)),
    ("JAX version", rf"JAX version[ :]{{1,3}}{_V}", component("jax", loaded=True)),
    ("dcgmi", rf"dcgmi +version:? +{_V}", component("dcgm")),
    ("hostengine", rf"Version : +{_V}", component("dcgm", scope="host")),
    ("attention backend", r"Using (\w{2,40}) (?:attention )?backend", text("attention_backend")),
    ("AttentionBackendEnum.", r"AttentionBackendEnum\.(\w{2,40})", text("attention_backend")),
    ("default MoE", r"Using default MoE (?:kernel )?config", understood),
    ("MoE backend", r"Using (\w{2,40}) (?:\w{1,12} )?MoE backend", text("moe_backend")),
    ("SDPA backends:", r"SDPA backends: \[([\w, ]{1,200})\]", text("sdpa_backends")),
    ("Disabling FusedAttention", r"Disabling FusedAttention", understood),
    ("Disabling FlashAttention", r"Disabling FlashAttention", understood),
    ("Watchdog caught collective operation timeout", r"OpType=(\w{1,40})", member("nccl_timeouts")),
    ("UCX version", rf"(?:# )?(?:UCX )?[Ll]ibrary version: {_V}", component("ucx")),
    ("# Library version:", rf"# Library version: {_V}", component("ucx")),
    ("Open MPI", r"\(Open MPI\) (\d{1,2}\.\d{1,3}\.\d{1,3}\w{0,12})", component("openmpi")),
    ("slurm ", r"\Aslurm (\d{2}\.\d{2}\.\d{1,3})", component("slurm", scope="cluster")),
    ("nvidia-container-cli", r"\Aversion: (\d{1,2}\.\d{1,3}\.\d{1,3})", component("nvidia-container-toolkit", scope="host")),
    ("cli-version: ", r"\Acli-version: (\d{1,2}\.\d{1,3}\.\d{1,3})", component("nvidia-container-toolkit", scope="host")),
    ("lfs ", r"\Alfs (\d{1,2}\.\d{1,3}\.\d{1,3})", component("lustre-client", scope="host")),
    ("Version=", r"(?<!\S)Version=(\d{2}\.\d{2}\.\d{1,3})(?!\S)", component("slurm", scope="cluster")),
    ("IMEX version is: ", rf"IMEX version is: {_V}", component("imex", scope="host")),
    ("NVIDIA Container Toolkit CLI version", rf"CLI version {_V}", component("nvidia-container-toolkit", scope="host")),
    ("Fabric Manager version is", rf"Fabric Manager version is ?: {_V}", component("fabric-manager", scope="host")),
    ("fabric manager version", rf"fabric manager version {_V} (?:doesn't|does not) match with driver version {_V}", _fabric_manager),
    ("IMEX version ", rf"IMEX version {_V} is running", component("imex", scope="host", loaded=True)),
    ("Domain State: ", r"\ADomain State: (UP|DOWN|DEGRADED)\b", text("imex_domain_state")),
    ("with kernel driver version", rf"Using CUDA (\d{{1,2}}\.\d{{1,2}}) driver version {_V} with kernel driver version {_V}", _forward_compatibility),
    ("nccl", r"\bnccl(?:[ _]version)?['\"]?[:= ]{1,3}\((\d{1,2}), ?(\d{1,3}), ?(\d{1,3})\)", _nccl_tuple),
    ("cudnn", r"\bcudnn(?:[ _]version)?['\"]?[:= ]{1,3}(\d{4,6})\b(?!\.)", _cudnn_code),
    ("GDRCopy", r"GDRCopy.{0,40}?v?(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)", component("gdrcopy")),
)  # fmt: skip
_TABLE = Table(_ROWS)
WORDS = _TABLE.anchors


def sniff(text: str) -> float:
    """Look for any of the lines."""
    return 0.5 if _TABLE.sniff(text) else 0.0


def read(draft: Draft) -> None:
    """Record versions and choices."""
    draft.shared = True  # people put several statements on one line
    _TABLE.read(draft)
