"""The environment that decides behaviour, from the process asked about and from the files that act like it."""

from __future__ import annotations

from stackcheck_probes.interface import HostError
from stackcheck_probes.look import Look

PREFIXES = (
    "NCCL_", "FI_", "OFI_", "EFA_", "CUDA_", "UCX_", "NVSHMEM_", "TORCH_", "TRITON_", "VLLM_", "SGLANG", "SGL_", "SLURM_",
    "NVIDIA_", "RDMAV_", "NVTE_", "NVTX_", "PYTORCH_", "NIXL_", "GDRCOPY_", "FLASHINFER_", "OMPI_", "PMIX_", "XLA_",
    "CUDNN_", "CUBLAS", "IBV_", "MLX5_", "CUFILE_", "USE_", "RAY_", "MEGATRON_", "DS_",
)  # fmt: skip
NAMES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT", "OMP_NUM_THREADS", "CONDA_PREFIX", "VIRTUAL_ENV", "PYTHONPATH",
         "PYTHONHOME", "MALLOC_CONF", "LIBRARY_PATH")  # fmt: skip
SECRET_WORDS = (
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "CREDENTIAL",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "AUTH",
)
SLURM_PERSONAL = ("NODELIST", "USER", "ACCOUNT", "NAME", "SUBMIT", "HOST", "ADDR", "_ID", "DIR", "UID", "GID", "PARTITION",
                  "RESERVATION", "COMMENT", "CLUSTER", "_PORT", "KEY", "QOS")  # fmt: skip
NCCL_FILES = ("/etc/nccl.conf",)


def wanted(name: str) -> bool:
    """Tell whether a variable says anything about the stack (and is no secret, and names nobody)."""
    if name.startswith("SLURM_") and any(word in name for word in SLURM_PERSONAL):
        return False
    return (name in NAMES or name.startswith(PREFIXES)) and not any(
        word in name.upper() for word in SECRET_WORDS
    )


def parse_nccl_conf(text: str) -> dict[str, str]:
    """Return the assignments of an nccl.conf: NAME=value lines, ``#`` begins a comment.

    Format: https://github.com/NVIDIA/nccl/blob/master/docs/userguide/source/env.rst
    """
    result: dict[str, str] = {}
    for line in text.splitlines():
        name, equals, value = line.split("#", 1)[0].strip().partition("=")
        if equals and name.strip():
            result[name.strip()] = value.strip()
    return result


def nccl_files(look: Look) -> list[str]:
    """Return the configuration files NCCL reads, the one that wins first."""
    chosen = look.host.environ.get("NCCL_CONF_FILE", "")
    home = look.host.environ.get("HOME", "")
    own = [chosen] if chosen else [f"{home}/.nccl.conf"]
    return [path for path in (*own, *NCCL_FILES) if path.startswith("/")]


def effective(look: Look) -> dict[str, str]:
    """Return the variables NCCL would see: the process's own, then those of its files."""
    result: dict[str, str] = {}
    for path in reversed(nccl_files(look)):
        result.update(parse_nccl_conf(look.text(path) or ""))
    result.update(look.host.environ)
    return result


def environment(look: Look) -> None:
    """Variables of the process, then those of NCCL's configuration files, which the process's own win over."""
    where = look.host.environ_where
    if look.host.environ_refused:
        look.note(f"{look.host.environ_refused}; the environment of the probe is judged instead")
    method = "procfs" if where.startswith("/proc/") else "environ"
    for name, value in look.host.environ.items():
        if wanted(name):
            look.seen.variable(name, value, where, method)
    known = set(look.host.environ)
    for path in nccl_files(look):
        text = look.text(path)
        settings = parse_nccl_conf(text or "")
        if text is not None:
            summary = "; ".join(f"{name}={value}" for name, value in sorted(settings.items()))
            look.fact(f"file:{path}", summary, path)
        for name, value in settings.items():
            if name not in known and wanted(name):
                look.seen.variable(name, value, path, "nccl.conf", f"{name}={value}")
        known |= set(settings)
    system_environment(look)


def system_environment(look: Look) -> None:
    """Settings in /etc/environment that a login shell would have and this process has not."""
    try:
        text = look.host.files.read("/etc/environment").decode("utf-8", "replace")
    except HostError:
        return
    settings = {name: value.strip("\"'") for name, value in parse_nccl_conf(text).items() if wanted(name)}
    if settings:
        look.fact(
            "file:/etc/environment",
            "; ".join(f"{k}={v}" for k, v in sorted(settings.items())),
            "/etc/environment",
        )
