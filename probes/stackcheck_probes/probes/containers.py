"""The container around the process, or the container runtimes of the host, and how they hand GPUs to containers."""

from __future__ import annotations

import json
import re

from stackcheck_probes.look import Look

_RUNTIME_CONFIG = "/etc/nvidia-container-runtime/config.toml"
_CONTAINERD = "/etc/containerd/config.toml"
_CDI = ("/etc/cdi", "/var/run/cdi", "/run/cdi")
_CGROUP_DRIVER = r"(?m)^\s*SystemdCgroup\s*=\s*(true|false)"
_CDI_DRIVER = r"lib(?:cuda|nvidia-ml)\.so\.(\d+\.\d+(?:\.\d+)?)"
CDI_LIMIT = 4 << 20


def containers(look: Look) -> None:
    """Runtime registration of the NVIDIA toolkit, its mode, driver version pinned in CDI files, control-group driver."""
    config = look.text(_RUNTIME_CONFIG)
    if config is not None:
        mode = re.search(r'^\s*mode\s*=\s*"([\w-]+)"', config, re.MULTILINE)
        look.fact("nvidia_runtime_mode", mode[1] if mode else "auto", _RUNTIME_CONFIG)
        cgroups = re.search(r"^\s*no-cgroups\s*=\s*(true|false)", config, re.MULTILINE)
        look.fact("nvidia_runtime_no_cgroups", cgroups[1] == "true" if cgroups else None, _RUNTIME_CONFIG)
    _docker(look)
    text = look.text(_CONTAINERD)
    match = re.search(_CGROUP_DRIVER, text or "")
    if match:
        look.fact("cgroup_driver", "systemd" if match[1] == "true" else "cgroupfs", _CONTAINERD)
    if text:
        # the toolkit registers itself in a file of its own since containerd merges them
        more = [path for path in look.children("/etc/containerd/conf.d") if path.endswith(".toml")]
        texts = {_CONTAINERD: text, **{path: look.text(path) or "" for path in more}}
        where = [path for path, content in texts.items() if "nvidia-container-runtime" in content]
        look.fact("containerd_nvidia_runtime", bool(where), (where or [_CONTAINERD])[0])
    _cdi(look)


def _docker(look: Look) -> None:
    text = look.text("/etc/docker/daemon.json")
    if text is None:
        return
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        look.note("/etc/docker/daemon.json: no valid JSON")
        return
    if not isinstance(loaded, dict):
        return
    runtimes = loaded.get("runtimes")
    look.fact(
        "docker_nvidia_runtime",
        isinstance(runtimes, dict) and "nvidia" in runtimes,
        "/etc/docker/daemon.json",
    )
    if isinstance(loaded.get("default-runtime"), str):
        look.fact("docker_default_runtime", loaded["default-runtime"], "/etc/docker/daemon.json")
    options = loaded.get("exec-opts")
    for option in options if isinstance(options, list) else ():
        name, _equals, value = str(option).partition("=")
        if name == "native.cgroupdriver":
            look.fact("docker_cgroup_driver", value, "/etc/docker/daemon.json")


def _cdi(look: Look) -> None:
    """The driver version whose files a CDI specification names: stale after a driver update."""
    for directory in _CDI:
        for name in look.names(directory):
            if "nvidia" in name and name.endswith((".yaml", ".json")):
                path = f"{directory}/{name}"
                versions = sorted(set(re.findall(_CDI_DRIVER, look.text(path, CDI_LIMIT) or "")))
                if versions:
                    look.fact("cdi_driver_version", ", ".join(versions), path)
