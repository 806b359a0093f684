"""Limits of the process asked about: locked memory, files, stack, shared memory, control group, system calls."""

from __future__ import annotations

import re

from stackcheck_probes.look import Look

_LIMITS = {
    "memlock": ("Max locked memory", 1024), "nofile": ("Max open files", 1), "stack": ("Max stack size", 1024),
    "nproc": ("Max processes", 1),
}  # fmt: skip
CAP_IPC_LOCK, CAP_SYS_PTRACE, CAP_SYS_NICE = 14, 19, 23
_UNLIMITED = 1 << 62


def limits(look: Look) -> None:
    """Soft limits (memlock and stack in kB), capabilities, seccomp."""
    where = f"/proc/{look.host.pid or 'self'}/limits"
    text = look.process("limits") or ""
    for name, (title, unit) in _LIMITS.items():
        match = re.search(rf"^{title}\s+(\S+)\s+(\S+)", text, re.MULTILINE)
        if match is None:
            continue
        value = (
            "unlimited" if match[1] == "unlimited" else int(match[1]) // unit if match[1].isdigit() else None
        )
        look.fact(f"limit:{name}", value, where, "procfs", match[0])
        if name == "memlock":
            look.fact("memlock_kb", value, where, "procfs", match[0])
    _status(look)


def _status(look: Look) -> None:
    where = f"/proc/{look.host.pid or 'self'}/status"
    text = look.process("status") or ""
    effective = re.search(r"^CapEff:\s*([0-9a-f]+)", text, re.MULTILINE)
    if effective:
        bits = int(effective[1], 16)
        for name, bit in (
            ("ipc_lock", CAP_IPC_LOCK),
            ("sys_nice", CAP_SYS_NICE),
            ("sys_ptrace", CAP_SYS_PTRACE),
        ):
            look.fact(f"capability_{name}", bool(bits >> bit & 1), where, "procfs", effective[0])
    seccomp = re.search(r"^Seccomp:\s*(\d)", text, re.MULTILINE)
    if seccomp:
        look.fact(
            "seccomp", {"0": "off", "1": "strict", "2": "filter"}.get(seccomp[1]), where, "procfs", seccomp[0]
        )
    cpus = re.search(r"^Cpus_allowed_list:\s*(\S+)", text, re.MULTILINE)
    look.fact("cpus_allowed", cpus[1] if cpus else None, where, "procfs")


def shared_memory(look: Look) -> None:
    """Size of /dev/shm in bytes, by its mount: the size option, else half of the memory (the kernel's default)."""
    for line in (look.process("mounts") or look.text("/proc/mounts") or "").splitlines():
        fields = line.split()
        if len(fields) < 4 or fields[1] != "/dev/shm":  # noqa: S108  the mount of that name is what is looked for
            continue
        size = re.search(r"(?:^|,)size=(\d+)([kmg%]?)", fields[3])
        total = re.search(r"^MemTotal:\s+(\d+) kB", look.text("/proc/meminfo") or "", re.MULTILINE)
        memory = int(total[1]) * 1024 if total else None
        value = memory // 2 if memory else None
        if size and size[2] == "%":
            value = memory * int(size[1]) // 100 if memory else None
        elif size:
            value = int(size[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[size[2]]
        look.fact("limit:shm", value, "/proc/mounts", "procfs", line)
        look.fact("shm_bytes", value, "/proc/mounts", "procfs", line)


def control_group(look: Look) -> None:
    """Version of control groups, memory and CPU limit of the process's group (bytes, CPUs)."""
    unified = look.exists("/sys/fs/cgroup/cgroup.controllers")
    if not look.is_dir("/sys/fs/cgroup"):
        return
    look.fact("cgroup_version", 2 if unified else 1, "/sys/fs/cgroup", "sysfs")
    group = _group(look, unified)
    path = (
        f"/sys/fs/cgroup{group}/memory.max"
        if unified
        else f"/sys/fs/cgroup/memory{group}/memory.limit_in_bytes"
    )
    text = look.text(path) or look.text(
        "/sys/fs/cgroup/memory.max" if unified else "/sys/fs/cgroup/memory/memory.limit_in_bytes"
    )
    if text:
        limited = text.isdigit() and int(text) < _UNLIMITED
        look.fact("limit:memory", int(text) if limited else "unlimited", path, "cgroup", text)
    quota = look.text(f"/sys/fs/cgroup{group}/cpu.max") if unified else None
    if quota and quota.split()[0].isdigit():
        amount, period = quota.split()
        look.fact("limit:cpu", int(amount) / int(period), f"/sys/fs/cgroup{group}/cpu.max", "cgroup", quota)


def _group(look: Look, unified: bool) -> str:
    text = look.process("cgroup") or ""
    pattern = r"^0::(/.*)$" if unified else r"^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(/.*)$"
    match = re.search(pattern, text, re.MULTILINE)
    return "" if not match or ".." in match[1] or match[1] == "/" else match[1]
