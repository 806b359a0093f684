"""Schedulers on this node: Slurm with pyxis and enroot, Kubernetes; by files, by their programs only where no package tells."""

from __future__ import annotations

import re

from stackcheck_probes import sysdb, versions
from stackcheck_probes.elf import Elf, ElfError
from stackcheck_probes.interface import HostError
from stackcheck_probes.look import Look

_SLURM_ROOTS = ("/opt/slurm", "/usr/local/slurm", "/usr")
_PLUGSTACK = ("/etc/slurm/plugstack.conf.d/pyxis.conf", "/opt/slurm/etc/plugstack.conf.d/pyxis.conf",
              "/opt/slurm/etc/plugstack.conf", "/etc/slurm/plugstack.conf", "/etc/slurm-llnl/plugstack.conf.d/pyxis.conf")  # fmt: skip
_KUBELET = (
    "/var/lib/kubelet/config.yaml",
    "/etc/kubernetes/kubelet/kubelet-config.json",
    "/etc/kubernetes/kubelet/config.json",
)
_SLURM_CONF = (
    "/etc/slurm/slurm.conf",
    "/opt/slurm/etc/slurm.conf",
    "/run/slurm/conf/slurm.conf",  # what slurmd fetched, where the controller hands out the configuration
    "/etc/slurm-llnl/slurm.conf",
)
_WANTED = ("TaskPlugin", "ProctrackType", "SelectType", "MpiDefault", "HealthCheckProgram", "PropagateResourceLimits",
           "PropagateResourceLimitsExcept", "TopologyPlugin", "SwitchType")  # fmt: skip


def scheduler(look: Look) -> None:
    """Versions of Slurm, enroot and pyxis, and the settings that bear on GPU jobs."""
    look.looked_for("slurm", "pyxis", "enroot")
    packaged, _where = look.shared.once("sysdb", lambda: sysdb.installed(look.host))
    if not any(re.match(r"slurm(d|-client|-smd|-wlm)?$", name) for name in packaged):
        _program(
            look,
            "slurm",
            "slurmd",
            r"slurm\S* (\d+\.\d+\.\d+)",
            ("/opt/slurm/sbin/slurmd", "/usr/sbin/slurmd"),
        )
    if "enroot" not in packaged:
        _program(look, "enroot", "enroot", r"(\d+\.\d+\.\d+)", ("/usr/bin/enroot", "/usr/local/bin/enroot"))
    _pyxis(look)
    _slurm_conf(look)
    _kubelet(look)


def _program(look: Look, component: str, command: str, pattern: str, paths: tuple[str, ...]) -> None:
    path = next((one for one in paths if look.exists(one)), None)
    if path is None:
        return
    output = look.run(command, 2.0)
    match = re.search(pattern, output.out) if output else None
    look.component(component, match[1] if match else None, path, "command" if match else "file",
                   raw=output.out.strip()[:80] if output else "")  # fmt: skip


def _pyxis(look: Look) -> None:
    for configuration in _PLUGSTACK:
        match = re.search(
            r"^\s*(?:required|optional)\s+(/\S*spank_pyxis\.so)", look.text(configuration) or "", re.MULTILINE
        )
        if match is None:
            continue
        try:
            told = versions.PYXIS(Elf(look.host.files.map(match[1])), match[1])
        except (HostError, ElfError):
            told = None
        look.component("pyxis", told.version if told else None, match[1], told.method if told else "file",
                       raw=told.raw if told else configuration)  # fmt: skip
        return


def _slurm_conf(look: Look) -> None:
    for path in _SLURM_CONF:
        text = look.text(path)
        if text is None:
            continue
        for name in _WANTED:
            found = re.findall(rf"^\s*{name}\s*=\s*([^#\s]+)", text, re.MULTILINE | re.IGNORECASE)
            if found:
                look.fact(f"slurm_{name.lower()}", found[-1], path, "file", f"{name}={found[-1]}")
        return


def _kubelet(look: Look) -> None:
    """Policies of the kubelet; absent keys have its defaults (none) and are not reported."""
    for path in _KUBELET:
        text = look.text(path)
        if text is None:
            continue
        for key, fact in (("topologyManagerPolicy", "kubelet_topology_policy"), ("cpuManagerPolicy", "kubelet_cpu_policy"),
                          ("cgroupDriver", "kubelet_cgroup_driver")):  # fmt: skip
            match = re.search(rf'"?{key}"?\s*:\s*"?([\w-]+)"?', text)
            look.fact(fact, match[1] if match else None, path)
        return
