"""Components that only the distribution's packages know: services of the driver, container toolkit, schedulers, file systems."""

from __future__ import annotations

import re

from stackcheck_probes import sysdb
from stackcheck_probes.look import Look

_NAMES = (
    ("fabric-manager", r"(?:cuda-drivers-|nvidia-)fabric-?manager(?:-\d+)?$"),
    ("nvlsm", r"nvlsm$"),
    ("imex", r"nvidia-imex(?:-\d+)?$"),
    ("dcgm", r"datacenter-gpu-manager(?:-\d+-core)?$"),
    ("dcgm-exporter", r"(?:nvidia-)?dcgm-exporter$"),
    ("nvidia-container-toolkit", r"nvidia-container-toolkit$"),
    ("gdrdrv", r"gdrdrv-dkms$|gdrcopy-kmod$"),
    ("lustre-client", r"lustre-client(?:-modules-aws|-utils)?$|kmod-lustre-client$"),
    ("mlnx-ofed", r"mlnx-ofed-kernel-dkms$|mlnx-ofa_kernel$|doca-ofed$"),
    ("slurm", r"slurm(?:d|-client|-smd|-wlm|-slurmd)?$"),
    ("enroot", r"enroot$"),
    ("pyxis", r"nvslurm-plugin-pyxis$"),
    ("efa-driver", r"efa$|efa-dkms$"),
    ("openmpi", r"openmpi[45]0-aws$"),
    ("prometheus", r"prometheus$"),
    ("node-exporter", r"prometheus-node-exporter$"),
    ("grafana", r"grafana$"),
)
_RUNTIMES = (
    "containerd",
    "containerd.io",
    "docker-ce",
    "docker.io",
    "docker",
    "moby-engine",
    "podman",
    "cri-o",
    "nerdctl",
)
MODULES = {"gdrdrv": "gdrdrv", "efa-driver": "efa", "lustre-client": "lustre", "mlnx-ofed": "mlx5_core"}
HOST_ONLY = ("fabric-manager", "nvlsm", "imex", "gdrdrv", "efa-driver", "lustre-client", "mlnx-ofed")


def system_packages(look: Look) -> None:
    """Report these components as the package database records them, and the container runtimes."""
    found, where = look.shared.once("sysdb", lambda: sysdb.installed(look.host))
    if not found:
        return
    look.looked_for(
        *(component for component, _pattern in _NAMES if component not in ("efa-driver", "openmpi", "gdrdrv"))
    )
    scope = look.seen.scope
    any_of_them = re.compile("|".join(f"(?:{pattern})" for _component, pattern in _NAMES))
    ours = {name: version for name, version in found.items() if any_of_them.match(name)}
    for component, pattern in _NAMES:
        versions = {
            sysdb.release(version): (name, f"{name} {version}")
            for name, version in sorted(
                ours.items()
            )  # of a meta package and the real one the real one counts: nvidia-* is last
            if re.match(pattern, name)
        }
        for version, (name, raw) in sorted(versions.items()):
            if scope == "container" and component in HOST_ONLY:
                continue  # an image's database says nothing about the host's kernel modules and services
            if component in MODULES and look.is_dir("/sys/module"):
                _not_loaded(look, component, version, where, raw)
                continue
            attributes = {"system_package": name} if component in HOST_ONLY else {}
            look.component(component, version, where, "package-database", raw=raw, attributes=attributes)
    runtimes = [f"{name} {sysdb.release(found[name])}" for name in _RUNTIMES if name in found]
    look.fact("container_runtimes", runtimes, where, "package-database")


def _not_loaded(look: Look, component: str, version: str, where: str, raw: str) -> None:
    """Report a kernel module that is installed and not loaded as a fact: a component of the running kernel it is not."""
    if not look.exists(f"/sys/module/{MODULES[component]}"):
        look.fact(f"{component.replace('-', '_')}_installed", version, where, "package-database", raw)
