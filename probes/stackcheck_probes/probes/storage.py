"""File systems that feed the job: Lustre client and mounts, local NVMe in use or idle, mounts that do not answer."""

from __future__ import annotations

import re

from stackcheck_probes.look import Look
from stackcheck_probes.mounts import NETWORK, Guard, Mount, parse_mounts

LUSTRE_VERSIONS = ("/sys/fs/lustre/version", "/sys/module/lustre/version", "/proc/fs/lustre/version")
INSTANCE_STORE = "Amazon EC2 NVMe Instance Storage"
_TUNING = {
    "lustre_ptlrpcd_per_cpt_max": "/sys/module/ptlrpc/parameters/ptlrpcd_per_cpt_max",
    "lustre_credits": "/sys/module/ksocklnd/parameters/credits",
}


def mounts(look: Look) -> list[Mount]:
    """Return the mounts of the process asked about."""
    return list(parse_mounts(look.process("mounts") or look.text("/proc/mounts") or ""))


def storage(look: Look) -> None:
    """Lustre, other network file systems, local drives."""
    look.looked_for("lustre-client")
    found = mounts(look)
    for path in LUSTRE_VERSIONS:
        match = re.search(r"\d+\.\d+[\w.]*", look.text(path) or "")
        if match:
            look.component(
                "lustre-client", match[0], path, "sysfs", scope="host", raw=look.text(path) or "", loaded=True
            )
            break
    _lustre(look, [mount for mount in found if mount.kind == "lustre"])
    kinds = sorted({mount.kind for mount in found if mount.kind in NETWORK or mount.kind.startswith("fuse.")})
    look.fact("network_file_systems", kinds, "/proc/mounts", "procfs")
    home = look.host.environ.get("HOME", "")
    below = [mount for mount in found if home and (home + "/").startswith(mount.point.rstrip("/") + "/")]
    if below:
        look.fact(
            "home_file_system", max(below, key=lambda mount: len(mount.point)).kind, "/proc/mounts", "procfs"
        )
    _drives(look, found)
    guard = getattr(look.host.files, "guard", None)
    if look.host.live and isinstance(guard, Guard):
        look.fact("mounts_silent", guard.silent(), "/proc/mounts", "call")


def _lustre(look: Look, found: list[Mount]) -> None:
    if not found:
        return
    look.fact("lustre_mounts", len(found), "/proc/mounts", "procfs")
    options = [set(mount.options.split(",")) for mount in found]
    look.fact(
        "lustre_flock", all("flock" in one for one in options), "/proc/mounts", "procfs", found[0].options
    )
    slow = any("relatime" not in one and "noatime" not in one for one in options)
    look.fact("lustre_atime", slow, "/proc/mounts", "procfs", found[0].options)
    networks = sorted(
        {match[1] for mount in found for match in [re.search(r"@(tcp|efa|o2ib)\d*", mount.source)] if match}
    )
    look.fact("lustre_networks", networks, "/proc/mounts", "procfs")
    for fact, path in _TUNING.items():
        look.fact(fact, look.number(path), path, "sysfs")


def _drives(look: Look, found: list[Mount]) -> None:
    """Instance-store drives, and those with neither partition, holder (RAID, LVM) nor mount."""
    drives = [name for name in look.names("/sys/block") if re.fullmatch(r"nvme\d+n\d+", name)
              and (look.text(f"/sys/block/{name}/device/model") or "") == INSTANCE_STORE]  # fmt: skip
    if not look.is_dir("/sys/block"):
        return
    used = {mount.source for mount in found}
    idle = [name for name in drives if not look.names(f"/sys/block/{name}/holders")
            and not any(source.startswith(f"/dev/{name}") for source in used)
            and not any(part.startswith(f"{name}p") for part in look.names(f"/sys/block/{name}"))]  # fmt: skip
    look.fact("local_nvme_drives", len(drives), "/sys/block", "sysfs", " ".join(drives))
    look.fact("local_nvme_idle", len(idle), "/sys/block", "sysfs", " ".join(idle))
