"""Whether the node is a container (or an image), and which kind: decides the scope of what is found."""

from __future__ import annotations

from stackcheck_probes.host import Host
from stackcheck_probes.interface import HostError


def container_kind(host: Host) -> str | None:
    """Return ``docker``, ``podman``, ``enroot``, ``apptainer``, ``kubernetes``, ``lxc``, ``image`` (files only) or None."""
    exists = host.files.exists
    environ = host.environ
    if exists("/run/secrets/kubernetes.io") or "KUBERNETES_SERVICE_HOST" in environ:
        return "kubernetes"
    for path, kind in (
        ("/.dockerenv", "docker"),
        ("/run/.containerenv", "podman"),
        ("/.singularity.d", "apptainer"),
    ):
        if exists(path):
            return kind
    # enroot locks the root it starts from, and gave an imported image a start script (its own variables stay outside)
    if "ENROOT_ROOTFS" in environ or (exists("/.lock") and exists("/etc/rc")):
        return "enroot"
    declared = environ.get("container")
    if declared:
        return declared
    if not host.live and not exists("/proc/version") and not exists("/proc/sys/kernel/osrelease"):
        return "image"
    return _from_cgroup(host)


def _from_cgroup(host: Host) -> str | None:
    try:
        text = host.process("cgroup").decode("utf-8", "replace")
    except HostError:
        return None
    for mark, kind in (
        ("kubepods", "kubernetes"),
        ("/docker", "docker"),
        ("libpod", "podman"),
        ("/lxc", "lxc"),
    ):
        if mark in text:
            return kind
    return None


def is_container(host: Host) -> bool:
    """Tell whether the files of the node are those of a container or image."""
    return container_kind(host) is not None
