"""Daemons that must run beside the driver, by their control groups; no bus call, no process started."""

from __future__ import annotations

import re

from stackcheck_probes.look import Look

SERVICES = ("nvidia-fabricmanager", "nvidia-persistenced", "nvidia-imex", "nvidia-dcgm", "nvlsm", "irqbalance", "slurmd",
            "containerd", "docker", "kubelet", "nvidia-cdi-refresh", "amazon-ssm-agent", "munge")  # fmt: skip
_HIERARCHIES = ("/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified")
_UNITS = ("/usr/lib/systemd/system", "/lib/systemd/system", "/etc/systemd/system")


def services(look: Look) -> None:
    """Report ``active``, ``inactive`` (unit there, no process) or ``not-found``, where systemd runs and can be seen."""
    root = next((path for path in _HIERARCHIES if look.is_dir(f"{path}/system.slice")), None)
    if root is None or not look.exists("/run/systemd/system"):
        return
    # a unit may name another slice: kubelet and containerd run in runtime.slice of the EKS AMIs
    others = [
        f"{root}/{name}"
        for name in look.names(root)
        if name.endswith(".slice") and name not in ("system.slice", "user.slice")
    ]
    slices = [f"{root}/system.slice", *others]
    for service in SERVICES:
        directory = next((path for path in slices if look.exists(f"{path}/{service}.service")), slices[0])
        processes = look.text(f"{directory}/{service}.service/cgroup.procs")
        if (processes is None and look.exists(f"{directory}/{service}.service")) or processes:
            state = "active"
        elif any(look.exists(f"{unit}/{service}.service") for unit in _UNITS):
            state = "inactive"
        else:
            state = "not-found"
        look.fact(f"service:{service}", state, f"{directory}/{service}.service", "cgroup")
    remove_ipc(look)


def remove_ipc(look: Look) -> None:
    """Report whether systemd removes a user's shared memory at logout (its default is yes)."""
    texts = [
        look.text(path)
        for path in ("/etc/systemd/logind.conf", *sorted(look.children("/etc/systemd/logind.conf.d")))
    ]
    found = [
        value
        for text in texts
        for value in re.findall(r"^\s*RemoveIPC\s*=\s*(\w+)", text or "", re.MULTILINE)
    ]
    value = found[-1].lower() if found else "yes"
    look.fact("remove_ipc", value in ("yes", "true", "1", "on"), "/etc/systemd/logind.conf", "file",
              f"RemoveIPC={found[-1]}" if found else "RemoveIPC not set")  # fmt: skip
