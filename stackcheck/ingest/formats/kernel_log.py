"""`dmesg` and the kernel's part of the journal: driver modules, Xid and SXid events, EFA, out of memory."""

from __future__ import annotations

import re

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.rows import Row, Table, component, member, truth, understood
from stackcheck.ingest.interface import Line

_DRIVER = r"(\d{3,4}(?:\.\d{1,4}){1,3})"


def _module(draft: Draft, match: re.Match[str], line: Line) -> None:
    flavour = "open" if "Open Kernel Module" in line.text else "proprietary"
    draft.component("driver", match[1], line, scope="host", loaded=True, attributes={"flavour": flavour})
    draft.fact("driver_flavour", flavour, line)
    draft.fact("module:nvidia", match[1], line)


def _licence(draft: Draft, match: re.Match[str], line: Line) -> None:
    if match[1] == "NVIDIA":
        draft.component("driver", "", line, scope="host", attributes={"flavour": "proprietary"})
        draft.fact("driver_flavour", "proprietary", line)


def _xid(draft: Draft, match: re.Match[str], line: Line) -> None:
    # NVLink 5 (Xid 144 to 150) names unit and gravity: "145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (...)"
    mild = re.match(
        r",(?: [a-z]{3,4}=[^,]{0,60},){0,2} [\w/]{1,40} {1,3}Nonfatal\b", line.text[match.end() :]
    )
    draft.add("xid_nonfatal" if mild else "xid", int(match[2]), line)
    draft.add("xid_devices", match[1], line)


def _recovery(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.fact("gpu_recovery_action", match[1], line)


def _efa(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.component("efa-driver", match[1], line, scope="host", loaded=True)
    draft.fact("module:efa", match[1], line)


def _peermem(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.component("efa-nv-peermem", match[1], line, scope="host", loaded=True)
    draft.fact("module:efa_nv_peermem", match[1], line)


def _kernel(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.component("kernel", match[1], line, scope="host")
    if arch := re.search(r"\b(x86_64|aarch64)\b", line.text):
        draft.single("arch", arch[1], line)


def _mismatch(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.component("driver", match[1], line, attributes={"part": "user-space"})
    draft.fact("driver_library_mismatch", True, line)


def _off_the_bus(draft: Draft, _: re.Match[str], line: Line) -> None:
    draft.fact("gpu_fell_off_bus", True, line)
    draft.add("xid", 79, line)


def _killed(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.add("oom_killed", match[1], line)
    before = draft.facts.get("oom_kills")
    draft.fact("oom_kills", (before if isinstance(before, int) else 0) + 1, line)


def _command_line(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.fact("kernel_command_line", without_names(match[1]), line)


def without_names(command_line: str) -> str:
    """Return boot parameters without those that name one machine's disks and addresses."""
    private = (
        "root=",
        "BOOT_IMAGE=",
        "initrd=",
        "ip=",
        "nfsroot=",
        "netroot=",
        "rd.iscsi",
        "resume=",
        "cryptdevice=",
    )
    return " ".join(word for word in command_line.split() if not word.startswith(private))


def _symbol(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.add("module_missing_symbols", match[2], line)
    draft.add("modules_with_missing_symbols", match[1], line)


_ROWS: tuple[Row, ...] = (
    ("Linux version ", r"Linux version (\d{1,3}\.\d{1,4}\.[\w.+~-]{1,80})", _kernel),
    ("NVRM: loading NVIDIA", rf"NVRM: loading NVIDIA UNIX .{{0,60}}?\s{_DRIVER}\b", _module),
    ("NVRM version:", rf"NVRM version: NVIDIA UNIX .{{0,80}}?\s{_DRIVER}\b", _module),
    ("module license '", r"nvidia: module license '([^']{1,40})'", _licence),
    ("Xid", r"NVRM: (?:GPU at )?Xid \((?:PCI:)?([0-9A-Fa-f:.]{4,20})[^)]{0,60}\): (\d{1,4})\b", _xid),
    ("SXid", r"SXid \([^)]{1,60}\): (\d{1,6})\b", lambda draft, match, line: draft.add("sxid", int(match[1]), line)),
    ("recovery action changed", r"recovery action changed from 0x\w{1,4} \([^)]{1,60}\) to 0x\w{1,4} \(([^)]{1,60})\)", _recovery),
    ("has fallen off the bus", r"fallen off the bus", _off_the_bus),
    ("API mismatch: the client has", rf"the client has the version {_DRIVER}", _mismatch),
    ("NVRM: ", r"requires? use of the NVIDIA open kernel modules", truth("open_module_required", True)),
    ("NVRM: ", r"No NVIDIA (?:GPU|devices) found|No devices", truth("driver_finds_gpu", False)),
    ("NVRM: ", r"NVRM: ", understood),
    ("Elastic Fabric Adapter", r"Elastic Fabric Adapter \(EFA\) v?(\d{1,3}\.\d{1,3}(?:\.\d{1,3})?\w{0,6})", _efa),
    ("EFA NV Peermem", r"EFA NV Peermem v?(\d{1,3}\.\d{1,3}(?:\.\d{1,3})?\w{0,6})", _peermem),
    ("IB device registered", r"infiniband (efa_\d{1,3}|rdmap\w{1,20}): IB device registered", member("efa_registered")),
    (": Unknown symbol ", r"\b(\w{1,60}): Unknown symbol (\w{1,120})", _symbol),
    ("no symbol version for", r"\b(\w{1,60}): no symbol version for (\w{1,120})", _symbol),
    ("disagrees about version of symbol", r"\b(\w{1,60}): disagrees about version of symbol (\w{1,120})", _symbol),
    ("Out of memory: Killed process", r"Killed process \d{1,8} \(([^)]{1,40})\)", _killed),
    ("oom-kill:", r"task=([\w:./-]{1,40})", _killed),
    ("Memory cgroup out of memory", r"Killed process \d{1,8} \(([^)]{1,40})\)", _killed),
    ("available PCIe bandwidth, limited by", r"(\d{1,4}\.\d{1,3} Gb/s available PCIe bandwidth, limited by [^()]{1,60})", member("pcie_bandwidth_limited")),
    ("AER: ", r"AER: (?:Corrected|Uncorrected|Multiple)", truth("pcie_aer_errors", True)),
    ("Kernel command line:", r"Kernel command line: (.{1,600})", _command_line),
    ("loading out-of-tree module taints", r"taints kernel", understood),
    ("gdrdrv:", r"gdrdrv: ?(?:loading|driver)?.{0,40}?version (\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)", component("gdrdrv", loaded=True, scope="host")),
)  # fmt: skip
_TABLE = Table(_ROWS)


def sniff(text: str) -> float:
    """Look for what only the kernel prints."""
    return 1.0 if "NVRM: " in text or "Linux version " in text or _TABLE.sniff(text) else 0.0


def read(draft: Draft) -> None:
    """Record modules, events and faults that the kernel logged."""
    _TABLE.read(draft)
