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
NCCL_FILES = ("/etc/nccl.conf",)


def wanted(name: str) -> bool:
    """Tell whether a variable says anything about the stack (and is no secret)."""
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


def environment(look: Look) -> None:
    """Variables of the process, then those of NCCL's configuration files, which the process's own win over."""
    where = look.host.environ_where
    method = "procfs" if where.startswith("/proc/") else "environ"
    for name, value in look.host.environ.items():
        if wanted(name):
            look.seen.variable(name, value, where, method)
    files = [look.host.environ.get("NCCL_CONF_FILE") or "", *NCCL_FILES]
    home = look.host.environ.get("HOME")
    if home and "NCCL_CONF_FILE" not in look.host.environ:
        files.insert(0, f"{home}/.nccl.conf")
    known = set(look.host.environ)
    for path in files:
        if path.startswith("/"):
            known |= _nccl_file(look, path, known)


def _nccl_file(look: Look, path: str, known: set[str]) -> set[str]:
    text = look.text(path)
    if text is None:
        return set()
    settings = parse_nccl_conf(text)
    summary = "; ".join(f"{name}={value}" for name, value in sorted(settings.items()))
    look.fact(f"file:{path}", summary, path)
    for name, value in settings.items():
        if name not in known and wanted(name):
            look.seen.variable(name, value, path, "nccl.conf", f"{name}={value}")
    return set(settings)


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
