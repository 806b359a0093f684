"""What inference engines brought along and would choose from, by the names of their files."""

from __future__ import annotations

import posixpath
import re

from stackcheck_probes.look import Look
from stackcheck_probes.probes import packages

_VLLM_ATTENTION = r"_vllm_(fa\d+)_C\b.*\.so$"


def engines(look: Look) -> None:
    """The FlashAttention versions compiled into the vLLM of the active environment; a vLLM without any shows none."""
    one = packages.active(look)
    if one is None or not one.environment.active:
        return
    vllm = next((distribution for distribution in one.distributions if distribution.key == "vllm"), None)
    if vllm is None:
        return
    directory = posixpath.join(vllm.site, "vllm/vllm_flash_attn")
    found = {match[1] for name in look.names(directory) if (match := re.match(_VLLM_ATTENTION, name))}
    look.fact("vllm_flash_attention", sorted(found) or None, directory, "file-name")
