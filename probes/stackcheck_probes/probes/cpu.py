"""Processor, memory and kernel settings that make a healthy node slow without a word."""

from __future__ import annotations

import re
from collections import Counter

from stackcheck_probes.look import Look

CPU = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"
THP = "/sys/kernel/mm/transparent_hugepage"


def processor(look: Look) -> None:
    """Frequency governor (none in most virtual machines), idle states, NUMA nodes and balancing, clock source."""
    governors = Counter(
        filter(None, (look.text(f"{path}/cpufreq/scaling_governor") for path in _sample(look)))
    )
    if governors:
        names = sorted(governors)
        look.fact(
            "cpu_governor",
            ", ".join(names),
            f"{CPU}/cpu*/cpufreq/scaling_governor",
            "sysfs",
            str(dict(governors)),
        )
        look.fact("cpu_frequency_driver", look.text(f"{CPU}/cpu0/cpufreq/scaling_driver"),
                  f"{CPU}/cpu0/cpufreq/scaling_driver", "sysfs")  # fmt: skip
    _idle(look)
    if look.is_dir(NODE):
        nodes = [name for name in look.names(NODE) if re.fullmatch(r"node\d+", name)]
        with_cpus = [name for name in nodes if look.text(f"{NODE}/{name}/cpulist")]
        look.fact("numa_nodes", len(with_cpus) or len(nodes), NODE, "sysfs")
        look.fact("numa_nodes_without_cpu", len(nodes) - len(with_cpus), NODE, "sysfs")
    for name, path in (("numa_balancing", "/proc/sys/kernel/numa_balancing"),
                       ("nmi_watchdog", "/proc/sys/kernel/nmi_watchdog")):  # fmt: skip
        look.fact(name, look.number(path), path, "procfs")
    path = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    look.fact("clocksource", look.text(path), path, "sysfs")


def _sample(look: Look) -> list[str]:
    """Return some processors, spread evenly: settings differ by socket, not by thread."""
    names = [name for name in look.names(CPU) if re.fullmatch(r"cpu\d+", name)]
    names.sort(key=lambda name: int(name[3:]))
    return [f"{CPU}/{name}" for name in names[:: max(1, len(names) // 16)]]


def _idle(look: Look) -> None:
    directory = f"{CPU}/cpu0/cpuidle"
    states = [name for name in look.names(directory) if name.startswith("state")]
    if states:
        enabled = [look.text(f"{directory}/{name}/name") or name for name in states
                   if look.number(f"{directory}/{name}/disable") in (0, None)]  # fmt: skip
        look.fact("cpu_idle_states", enabled, directory, "sysfs")
    look.fact("intel_idle_max_cstate", look.number("/sys/module/intel_idle/parameters/max_cstate"),
              "/sys/module/intel_idle/parameters/max_cstate", "sysfs")  # fmt: skip


def memory(look: Look) -> None:
    """Memory, swap, huge pages, transparent huge pages, allocation settings."""
    values = parse_meminfo(look.text("/proc/meminfo") or "")
    names = {"memory_kb": "MemTotal", "hugepages_total": "HugePages_Total", "hugepages_free": "HugePages_Free",
             "hugepage_kb": "Hugepagesize", "swap_kb": "SwapTotal"}  # fmt: skip
    for fact, key in names.items():
        look.fact(fact, values.get(key), "/proc/meminfo", "procfs")
    if "SwapTotal" in values and "SwapFree" in values:
        look.fact("swap_used_kb", values["SwapTotal"] - values["SwapFree"], "/proc/meminfo", "procfs")
    if "HugePages_Total" in values:
        look.fact("limit:hugepages", values["HugePages_Total"], "/proc/meminfo", "procfs")
    for fact, name in (("thp", "enabled"), ("thp_defrag", "defrag")):
        chosen = re.search(r"\[([\w+-]+)\]", look.text(f"{THP}/{name}") or "")
        look.fact(fact, chosen[1] if chosen else None, f"{THP}/{name}", "sysfs")
    for fact, path in (("vm_zone_reclaim_mode", "/proc/sys/vm/zone_reclaim_mode"),
                       ("vm_overcommit_memory", "/proc/sys/vm/overcommit_memory"),
                       ("file_max", "/proc/sys/fs/file-max")):  # fmt: skip
        look.fact(fact, look.number(path), path, "procfs")
    line = look.text("/proc/cmdline") or ""
    match = re.search(r"\binit_on_alloc=([01])\b", line)
    if match:
        look.fact("init_on_alloc", match[1] == "1", "/proc/cmdline", "procfs", match[0])
        return
    path = f"/boot/config-{look.text('/proc/sys/kernel/osrelease') or ''}"
    built = re.search(
        r"^(?:# )?CONFIG_INIT_ON_ALLOC_DEFAULT_ON(?:=y| is not set)$", look.text(path) or "", re.MULTILINE
    )
    look.fact(
        "init_on_alloc_default",
        not built[0].startswith("#") if built else None,
        path,
        "file",
        built[0] if built else "",
    )


def parse_meminfo(text: str) -> dict[str, int]:
    """Return the numbers of /proc/meminfo (kB where it says so)."""
    return {match[1]: int(match[2]) for match in re.finditer(r"^(\w+):\s+(\d+)", text, re.MULTILINE)}
