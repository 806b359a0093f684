"""What a capture leaves out: serial numbers, addresses, names of machines, users and accounts, and settings nobody asked for."""

from __future__ import annotations

import json
import re
from re import Pattern
from typing import Callable

from stackcheck_probes.probes.environment import parse_nccl_conf, wanted
from stackcheck_probes.probes.kernellog import RELEVANT as RELEVANT_MESSAGES
from stackcheck_probes.probes.system import redact_cmdline

HOST_NAME = "node"
_UUID = re.compile(
    r"\b(GPU-|MIG-)?[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"
)
_MAC = re.compile(r"\b[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5,7}\b")
_INSTANCE = re.compile(r"\b(i|eni|vol|subnet|vpc|sg|fs)-[0-9a-f]{8,17}\b")
_ACCOUNT = re.compile(r"(?<![\d.])\d{12}(?![\d.])")
_ADDRESS = re.compile(r"(?<![\d.])(?:10|127|169|172|192|100)\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![\d.])")
_HOME = re.compile(r"/(home|Users|fsx/home|efs/home)/[^/\s:\"',]+")
_XML_PRIVATE = re.compile(
    r"<(serial|uuid|board_id|board_part_number|gpu_part_number|minor_number|hostname)>[^<]*</\1>"
)
_XML_PROCESSES = re.compile(r"<(processes|accounted_processes)>.*?</\1>", re.DOTALL)


def path(text: str) -> str:
    """Return a path without the name of a user."""
    return _HOME.sub(r"/\1/user", text)


def general(text: str) -> str:
    """Return a text without identifiers of machines, users and accounts."""
    text = _UUID.sub(lambda match: (match[1] or "") + "00000000-0000-0000-0000-000000000000", text)
    text = _MAC.sub("00:00:00:00:00:00", text)
    text = _INSTANCE.sub(r"\1-00000000", text)
    return path(text)


def _configuration(text: str) -> str:
    return _ADDRESS.sub("10.0.0.1", _ACCOUNT.sub("000000000000", general(text)))


def _lines(pattern: str) -> Callable[[str], str]:
    """Return a reducer that keeps only the lines in which the pattern is found."""
    expression = re.compile(pattern)
    return lambda text: _configuration(
        "".join(line for line in text.splitlines(True) if expression.search(line))
    )


def _metadata(text: str) -> str:
    """Return the header of a wheel's metadata with the fields that are read; the description may hold anything."""
    header = text.replace("\r\n", "\n").split("\n\n", 1)[0] + "\n"
    return _lines(r"^(?:Metadata-Version|Name|Version|Requires-Dist): ")(header)


def _variables(text: str) -> str:
    return "".join(
        f"{name}={_configuration(value)}\n" for name, value in parse_nccl_conf(text).items() if wanted(name)
    )


def _mounts(text: str) -> str:
    """Return mounts with the servers' names and the exported paths taken out; what stands after @ names the network."""
    return general(
        re.sub(r"^[^\s:/@]+(@\w+)?(?::[^\s:/@]+@\w+)*:/\S*", r"server\1:/export", text, flags=re.MULTILINE)
    )


def _docker(text: str) -> str:
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        return "{}"
    kept = (
        {key: loaded[key] for key in ("runtimes", "default-runtime", "exec-opts") if key in loaded}
        if isinstance(loaded, dict)
        else {}
    )
    return _configuration(json.dumps(kept))


def _smi(text: str) -> str:
    return general(_XML_PROCESSES.sub(r"<\1></\1>", _XML_PRIVATE.sub(r"<\1>N/A</\1>", text)))


def _kernel_messages(text: str) -> str:
    return general("\n".join(line for line in text.splitlines() if re.search(RELEVANT_MESSAGES, line)))


_RULES: tuple[tuple[Pattern[str], Callable[[str], str]], ...] = tuple((re.compile(pattern), reduce) for pattern, reduce in (
    (r"/hostname$", lambda _text: HOST_NAME + "\n"),
    (r"^/proc/cmdline$", lambda text: redact_cmdline(text) + "\n"),
    (r"/mounts$", _mounts),
    (r"^/var/lib/dpkg/status$", _lines(r"^(?:Package|Status|Version): |^$")),
    (r"\.dist-info/METADATA$|/PKG-INFO$|\.egg-info$", _metadata),
    (r"^/etc/(?:environment|nccl\.conf)$|/\.nccl\.conf$|^/environ$", _variables),
    (r"^/etc/docker/daemon\.json$", _docker),
    (r"^/etc/containerd/config\.toml$", _lines(r"SystemdCgroup|nvidia-container-runtime")),
    (r"/slurm\.conf$", _lines(r"(?i)^\s*(?:TaskPlugin|ProctrackType|SelectType|MpiDefault|HealthCheckProgram|Propagate\w+|TopologyPlugin|SwitchType)\s*=")),
    (r"^/(?:var/lib/kubelet|etc/kubernetes)/", _lines(r"topologyManagerPolicy|cpuManagerPolicy|cgroupDriver")),
    (r"/plugstack\.conf", _lines(r"spank_pyxis\.so")),
    (r"cufile\.json$", _lines(r'"allow_compat_mode"')),
    (r"^/cmd/nvidia-smi$", _smi),
    (r"^/cmd/(?:journalctl|kernel-log)$", _kernel_messages),
    (r"^/(?:etc|cmd)/|\.conf$|pyvenv\.cfg$|environments\.txt$", _configuration),
))  # fmt: skip


def content(name: str, text: str) -> str:
    """Return the text of a file of a node as a capture may hold it."""
    for pattern, reduce in _RULES:
        if pattern.search(name):
            return reduce(text)
    return general(text)
