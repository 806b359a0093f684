"""Errors of GPUs and NVLink switches in the kernel's messages: Xid and SXid, PCIe and machine-check faults."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackcheck_probes.interface import AbsentError, RefusedError
from stackcheck_probes.look import Look

_XID = r"NVRM: Xid \(PCI:([0-9a-fA-F:.]+)[^)]*\): (\d+),? ?(.*)"
_SXID = r"nvidia-nvswitch\S*: SXid \(PCI:([0-9a-fA-F:.]+)[^)]*\): (\d+),? ?(.*)"
_LIMITED = r"(\S{1,80}): [\d.]{1,12} Gb/s available PCIe bandwidth, limited by (.*)"
_NONFATAL = r"[\w/]+ +Nonfatal\b"  # NVLink 5 (Xid 144 to 150) names unit and gravity: "RLW_RXPIPE Nonfatal XC0 i0 Link 13 ..."
_OOM = r"[Oo]ut of memory: Killed process"  # one line per kill; "oom-kill:constraint=..." before it tells the same kill
_FELL = r"has fallen off the bus"
RELEVANT = r"NVRM|nvidia|SXid|PCIe bandwidth|ut of memory: Killed|oom-kill|[Ee]lastic Fabric Adapter|\befa\b|mlx5|EFA NV"
SHOWN = 5


def kernel_log(look: Look) -> None:
    """Report the distinct Xid and SXid numbers since boot, each with its last message, and PCIe links limited."""
    text, where = _messages(look)
    if text is None:
        return
    for name, pattern in (("xid", _XID), ("sxid", _SXID)):
        found: dict[int, str] = {}
        mild: dict[int, str] = {}
        for number, line in events(text, pattern):
            (mild if name == "xid" and re.search(rf": {number}, {_NONFATAL}", line) else found)[number] = line
        for fact, told in ((name, found), (f"{name}_nonfatal", mild)):
            if told or fact == name:
                look.fact(
                    fact,
                    sorted(told),
                    where,
                    "kernel-log",
                    " | ".join(told[number] for number in sorted(told)),
                )
    limited = sorted({match[0] for match in re.finditer(_LIMITED, text)})
    look.fact("pcie_bandwidth_limited", limited[:SHOWN], where, "kernel-log")
    look.fact("gpu_fell_off_bus", bool(re.search(_FELL, text)), where, "kernel-log")
    look.fact("oom_kills", len(re.findall(_OOM, text)), where, "kernel-log")


def events(text: str, pattern: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the message (without process names and ids) of each event, oldest first."""
    for match in re.finditer(pattern, text):
        detail = re.sub(r"\b(?:pid|name|Process ID|Process name)='?[^,]*'?,? ?", "", match[3])
        yield int(match[2]), f"PCI:{match[1]}: {match[2]}, {detail}"[:160]


def _messages(look: Look) -> tuple[str | None, str]:
    try:
        return look.host.kernel_log(), "/dev/kmsg"
    except AbsentError:
        reason = "no kernel log here"
    except RefusedError as error:
        reason = f"{error.subject}: {error.reason}"
    output = look.run("journalctl", 3.0)
    if output is not None and output.rc == 0 and output.out.strip():
        return output.out, "journalctl -k -b"
    look.note(f"kernel messages could not be read, Xid errors are unknown ({reason})")
    return None, ""
