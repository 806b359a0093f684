"""Lines about the operating system that explain themselves: kernel, C library, compilers, limits, memory, NUMA, interfaces."""

from __future__ import annotations

import re

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.distribution import distribution
from stackcheck.ingest.formats.rows import (
    Handler,
    Row,
    Table,
    component,
    largest,
    member,
    number,
    text,
    truth,
)
from stackcheck.ingest.interface import Line

_KERNEL = r"(\d{1,2}\.\d{1,3}\.\d{1,4}(?:[\w.+~-]{0,80}[\w+])?)"


def _uname(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.component("kernel", match[1], line, scope="host")
    if arch := re.search(r"\b(x86_64|aarch64)\b", line.text):
        draft.single("arch", arch[1], line)


def _memlock(draft: Draft, match: re.Match[str], line: Line) -> None:
    memlock(draft, match[1], line)


def memlock(draft: Draft, value: str, line: Line) -> None:
    """Record the limit of locked memory in KiB, or `unlimited`."""
    limit: int | str = "unlimited" if value == "unlimited" else int(value)
    draft.fact("memlock_kb", limit, line)
    draft.fact("limit:memlock", limit, line)


def _memlock_bytes(draft: Draft, match: re.Match[str], line: Line) -> None:
    memlock(draft, "unlimited" if match[1] == "unlimited" else str(int(match[1]) >> 10), line)


def _limit(name: str) -> Handler:
    def handle(draft: Draft, match: re.Match[str], line: Line) -> None:
        draft.fact(f"limit:{name}", match[1] if match[1] == "unlimited" else int(match[1]), line)

    return handle


def _shm(draft: Draft, match: re.Match[str], line: Line) -> None:
    shared_memory(draft, round(float(match[1]) * (1 << {"K": 10, "M": 20, "G": 30, "T": 40}[match[2]])), line)


def shared_memory(draft: Draft, size: int, line: Line) -> None:
    """Record the size of /dev/shm in bytes."""
    draft.fact("limit:shm", size, line)
    draft.fact("shm_bytes", size, line)


def _gdrdrv(draft: Draft, match: re.Match[str], line: Line) -> None:
    flavour = "open" if match[1].lower().startswith("open") else match[1].lower()
    draft.component("gdrdrv", "", line, scope="host", attributes={"flavour": flavour})


def _hugepages(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.fact("hugepages_total", int(match[1]), line)
    draft.fact("limit:hugepages", int(match[1]), line)


def _nvcc(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.component("cuda-toolkit", match[2] or match[1], line, path=_compiler(draft))


def _compiler(draft: Draft) -> str:
    """Return the path of the compiler that was asked, if the command shows it."""
    first = draft.source.command.split(" ", 1)[0]
    return first if "/" in first and first.endswith(("/ptxas", "/nvcc")) else ""


def _build(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.component("cuda-toolkit", match[1], line, path=_compiler(draft))


def _cuda_path(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.add("cuda_directories", match[1], line)


def _os(draft: Draft, match: re.Match[str], line: Line) -> None:
    distribution(draft, match[1], match[2], line)


def _systemd(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.fact("systemd", int(match[1]), line)


def _interface(draft: Draft, match: re.Match[str], line: Line) -> None:
    draft.add("interfaces", match[1], line)


def _interface_list(draft: Draft, match: re.Match[str], line: Line) -> None:
    for name in match[1].replace(",", " ").split()[:64]:
        draft.add("interfaces", name, line)


_DISTRIBUTIONS = ("Ubuntu", "Debian", "Rocky Linux", "Red Hat Enterprise Linux", "AlmaLinux", "Amazon Linux", "CentOS", "Oracle Linux",
                  "SUSE Linux", "openSUSE")  # fmt: skip
_ROWS: tuple[Row, ...] = (
    ("GNU/Linux", rf"\bLinux [\w.-]{{1,80}} {_KERNEL} #", _uname),
    ("GLIBC", r"ldd \([^)]{0,60}GLIBC[^)]{0,40}\) (\d{1,2}\.\d{1,3})", component("glibc")),
    ("GNU libc", r"ldd \(GNU libc\) (\d{1,2}\.\d{1,3})", component("glibc")),
    ("GNU C Library", r"GNU C Library .{0,80}version (\d{1,2}\.\d{1,3})", component("glibc")),
    ("max locked memory", r"max locked memory\s{1,40}\(k?bytes, -l\)\s{1,20}(\d{1,12}|unlimited)", _memlock),
    ("Max locked memory", r"Max locked memory\s{1,20}(\d{1,20}|unlimited)\s", _memlock_bytes),
    ("open files", r"open files\s{1,40}\(-n\)\s{1,20}(\d{1,10}|unlimited)", _limit("nofile")),
    ("Max open files", r"Max open files\s{1,20}(\d{1,10}|unlimited)", _limit("nofile")),
    ("ulimit soft", r"ulimit soft\s{0,20}: (\d{1,10})", _limit("nofile")),
    ("/shm", r"(?:shm|tmpfs)\s{1,40}(\d{1,6}(?:\.\d{1,3})?)([KMGT])\s.{0,80}/dev/shm", _shm),
    ("HugePages_Total:", r"HugePages_Total:\s{1,20}(\d{1,10})", _hugepages),
    ("HugePages_Free:", r"HugePages_Free:\s{1,20}(\d{1,10})", number("hugepages_free")),
    ("Hugepagesize:", r"Hugepagesize:\s{1,20}(\d{1,10}) kB", number("hugepage_kb")),
    ("NUMA node(s)", r"NUMA node\(s\)\s{0,20}:\s{1,40}(\d{1,4})", number("numa_nodes")),
    ("release ", r"(?:nvcc|NVCC|Cuda compilation tools)\b.{0,20}?\brelease (\d{1,2}\.\d{1,2})(?:, V(\d{1,2}\.\d{1,2}\.\d{1,4}))?", _nvcc),
    ("Build cuda_", r"Build cuda_(\d{1,2}\.\d{1,2})", _build),
    ("/usr/local/cuda-", r"(/usr/local/cuda-\d{1,2}\.\d{1,2})(?=[/:\s]|\Z)", _cuda_path),
    ("systemd ", r"\Asystemd (\d{2,4}) \(", _systemd),
    ("Cgroup Driver", r"Cgroup Driver: (\w{1,20})", text("cgroup_driver")),
    ("Cgroup Version", r"Cgroup Version: (\d)", number("cgroup_version")),
    ("PRETTY_NAME", r"PRETTY_NAME=\"([A-Za-z][A-Za-z/ ]{1,60}?) (?:v|release )?(\d[\d.]{0,12})", _os),
    ("Description:", r"Description:\s{1,20}([A-Z][A-Za-z ]{1,40}?) (?:release )?(\d[\d.]{0,12})", _os),
    *((name, rf"\A\W{{0,4}}({name}[A-Za-z/ ]{{0,30}}?)(?: release)? (\d[\d.]{{0,12}})\b", _os) for name in _DISTRIBUTIONS),
    (", kernel ", rf", kernel {_KERNEL}", component("kernel", scope="host")),
    ("kernel: ", rf"\bkernel: {_KERNEL}\s*\Z", component("kernel", scope="host")),
    ("Kernel Version:", rf"\A\s{{0,8}}Kernel Version:\s{{1,40}}{_KERNEL}\s*\Z", component("kernel", scope="host")),
    ("OS Image:", r"\A\s{0,8}OS Image:\s{1,40}([A-Z][A-Za-z ]{1,40}?) (?:release )?(\d[\d.]{0,12})", _os),
    ("kernel release", rf"kernel release\s{{0,10}}[:=] {_KERNEL}", component("kernel", scope="host")),
    (" mtu ", r"\A\s{0,4}\d{1,4}: ([\w.@-]{1,40}?)(?:@[\w.-]{1,40})?: <", _interface),
    ("ip -o link: ", r"ip -o link: ([\w.,@ -]{1,600})", _interface_list),
    ("Hypervisor vendor", r"Hypervisor vendor\s{0,30}: {1,20}(\w{1,30})", text("hypervisor")),
    ("Built for NVIDIA driver flavor", r"driver flavor: (\w{1,20})", _gdrdrv),
    ("MLNX_OFED_LINUX-", r"MLNX_OFED_LINUX-(\d{1,2}\.\d{1,2}-[\d.]{1,20})", component("mlnx-ofed", scope="host")),
    ("hca_id:", r"hca_id:\s{1,8}([\w-]{1,40})", member("hcas")),
    ("ACSCtl:", r"ACSCtl:.{0,40}SrcValid\+", truth("acs_enabled", True)),
    ("iommu", r"\biommu(?:\.passthrough)?=(?:pt|1)\b", truth("iommu", "passthrough")),
    ("numa_balancing", r"\bnuma_balancing\s{0,3}[:=]\s{0,3}(\d)\s*\Z", number("numa_balancing")),
    ("GLIBCXX_", r"\AGLIBCXX_(\d{1,2}\.\d{1,3}(?:\.\d{1,3})?)\s*\Z", member("glibcxx_provided")),
    ("Model name:", r"Model name:\s{1,40}(\S.{1,80})", text("cpu_model")),
    ("CPU(s):", r"\ACPU\(s\):\s{1,40}(\d{1,5})", largest("cpu_count")),
    ("Architecture:", r"Architecture:\s{1,40}(x86_64|aarch64)\b", lambda draft, match, line: draft.single("arch", match[1], line)),
)  # fmt: skip
_TABLE = Table(_ROWS)
WORDS = _TABLE.anchors


def sniff(text: str) -> float:
    """Look for any of the lines."""
    return 0.4 if _TABLE.sniff(text) else 0.0


def read(draft: Draft) -> None:
    """Record what the lines say."""
    draft.shared = True  # people put several statements on one line
    _TABLE.read(draft)
