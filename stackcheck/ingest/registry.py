"""All formats, the most specific first: the one list behind `--format`, help texts and the order of parsing."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple, Protocol, cast

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.interface import Context, SourceText
from stackcheck.model.inventory import Inventory


class FormatModule(Protocol):
    """What a module in `formats/` holds; `interface.py` tells how to write one."""

    def sniff(self, text: str) -> float:
        """Return how sure it is, 0 to 1, that `text` holds this format."""
        ...

    def read(self, draft: Draft) -> None:
        """Read the open lines of `draft.source` into the draft."""
        ...


class Format(NamedTuple):
    """A format and where its ingester lives; an `Ingester` that imports its module when a text holds one of the anchors.

    `whole` formats are documents (JSON, XML, TOML) that need every line; the others read line by line and may see a long,
    repetitive log in shortened form.
    """

    format: str
    title: str
    module: str
    anchors: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Endings of file names that hint at the format when no anchor occurs."""
    commands: tuple[str, ...] = ()
    """Words of a command whose output is of this format when no anchor occurs."""
    whole: bool = False

    def _load(self) -> FormatModule:
        return cast("FormatModule", import_module(f"stackcheck.ingest.formats.{self.module}"))

    def hinted(self, text: str, name: str, command: str) -> bool:
        """Whether it is worth importing the module for this text."""
        return any(a in text for a in self.anchors) or self._expected(name, command)

    def words(self) -> Iterator[str]:
        """Yield what the text of a piece is searched for by this format: its anchors, and the literals of a table that always counts."""
        if self.anchors != _ALWAYS:
            yield from self.anchors
        else:
            yield from getattr(self._load(), "WORDS", ())

    def _expected(self, name: str, command: str) -> bool:
        return (bool(self.names) and name.lower().endswith(self.names)) or (
            bool(command) and any(c in command for c in self.commands)
        )

    def sniff(self, text: str, name: str, command: str = "") -> float:
        """Return how sure it is, 0 to 1, that `text` from file `name`, printed by `command`, holds this format."""
        return max(self._load().sniff(text), 0.3 if self._expected(name, command) else 0.0)

    def parse(self, source: SourceText, context: Context) -> Inventory:
        """Return what the lines say; see `Ingester.parse`."""
        draft = Draft(source, context)
        self._load().read(draft)
        return draft.inventory()


_ALWAYS = ("",)  # cheap, and its lines have no literal in common

INGESTERS: tuple[Format, ...] = (
    Format("inventory-json", "inventory JSON", "inventory_document", ("stackcheck.inventory", "stackcheck.report"), whole=True),
    Format("lock", "stackcheck lock", "lock_document", ("stackcheck.stack", '"alternatives"'), whole=True),
    Format("image-config", "docker or OCI image configuration", "image_config", ('"Env"',), whole=True),
    Format("kubernetes-nodes", "kubectl get nodes -o json", "kubernetes_nodes", ('"Node"', '"nodeInfo"'), whole=True),
    Format("package-json", "pip list or conda list as JSON", "package_json", ('"version"',), whole=True),
    Format("nvidia-smi-xml", "nvidia-smi -q -x", "nvidia_smi_xml", ("<nvidia_smi_log", "DOCTYPE nvidia_smi_log"), whole=True),
    Format("uv-lock", "uv.lock", "uv_lock", ("[[package]]",), whole=True),
    Format("pylock", "pylock.toml", "pylock", ("[[packages]]",), whole=True),
    Format("nccl-log", "NCCL log", "nccl_log", ("NCCL ", "NET/", "TUNER/", "nccl==", "libfabric:", "bus bandwidth")),
    Format("collect-env", "collect_env of PyTorch, vLLM or SGLang", "collect_env",
           ("PyTorch", "Nvidia driver version", "[pip3] ", "[conda] ", "CUDA runtime version", "CUDA Driver Version")),
    Format("nvidia-smi-q", "nvidia-smi -q", "nvidia_smi_q",
           ("NVSMI LOG", "Attached GPUs", "Product Name  ", "Remapped Rows", "Clocks Event Reasons", "Clocks Throttle Reasons",
            "Persistence Mode  ", "Power Readings", "ECC Errors", "Max Clocks", "ECC Mode", "MIG Mode", "PCIe Generation",
            "Recovery Action", "Fabric")),
    Format("nvidia-smi-topo", "nvidia-smi topo -m", "nvidia_smi_topo", ("GPU0",)),
    Format("nvidia-smi-nvlink", "nvidia-smi nvlink -s", "nvidia_smi_nvlink", ("Link 0: ",)),
    Format("nvidia-smi-query", "nvidia-smi --query-gpu", "nvidia_smi_query", ("driver_version", "compute_cap", "index, ", "name, "),
           commands=("--query-gpu",)),
    Format("nvidia-smi", "nvidia-smi", "nvidia_smi_table",
           ("NVIDIA-SMI", "Driver Version", "GPU 0: ", "UUID: GPU-", "NVML library version", "MIG "), commands=("nvidia-smi",)),
    Format("shell", "shell session", "shell", ("cannot access", "could not be found", "unit file state", "Active: ", " run ", "srun ", "mpirun ", "torchrun ", "python", "vllm ", "launch", "deepspeed "), commands=_ALWAYS),
    Format("efa-packages", "EFA installer package list", "efa_packages", ("EFA installer version",),
           names=("efa_installed_packages",), commands=("efa_installed_packages",)),
    Format("rdma-ports", "ibstat or ibv_devinfo", "rdma_ports", ("hca_id:", "CA '")),
    Format("fi-info", "fi_info", "fi_info", ("fi_getinfo", "provider: ", "libfabric: ", "fi_info: ")),
    Format("ds-report", "ds_report", "ds_report", ("DeepSpeed", "deepspeed info", "torch cuda version")),
    Format("kernel-log", "kernel log", "kernel_log",
           ("NVRM", "Linux version ", "Xid", "Elastic Fabric Adapter", "EFA NV Peermem", "module license", "Out of memory", "oom-kill",
            "Unknown symbol", "no symbol version", "disagrees about version", "has fallen off the bus", "AER: ", "gdrdrv:",
            "available PCIe bandwidth", "Memory cgroup out of memory", "API mismatch", "IB device registered", "Kernel command line",
            "taints", "recovery action changed")),
    Format("dockerfile", "Dockerfile", "dockerfile", ("FROM ",)),
    Format("kubernetes", "Kubernetes manifest or description", "kubernetes_text",
           ("apiVersion:", "nvidia.com/", "kubernetes.io/", "OOMKilled", "value: ", "Limits:", "limits:", "Environment:", "environment:", "amazonaws.com/efa")),
    Format("deployments", "charts, images and kernel modules in lists and values", "deployments",
           ("APP VERSION", "IMAGE ID", ": installed", "version:", "tag:"), commands=("dkms", "helm", "docker images", "crictl images")),
    Format("conda-list", "conda list", "conda_list", ("packages in environment", "conda-forge", "pytorch", "nvidia", "pypi", "_0", "Build"),
           commands=("conda list", "mamba list")),
    Format("pip-list", "pip list", "pip_list", _ALWAYS),
    Format("pip-freeze", "pip freeze", "pip_freeze", ("==", " @ ")),
    Format("requirements", "requirements or pip's messages", "requirements",
           (">=", "<=", "~=", "!=", "<", ">", "==", ".whl", "Successfully installed", "already satisfied", "you have ")),
    Format("loader-errors", "traceback or loader error", "loader_errors", _ALWAYS),
    Format("libraries", "list of shared libraries", "libraries", (".so",)),
    Format("system-packages", "packages of the operating system", "system_packages",
           ("ii  ", ".x86_64", ".aarch64", ".noarch", "[installed", ") ")),
    Format("server-log", "log of an engine or library", "server_log", _ALWAYS),
    Format("system", "operating system", "system", _ALWAYS),
    Format("env", "environment variables", "env", ("=", "setenv ")),
    Format("free-text", "free text", "free_text", _ALWAYS),
)  # fmt: skip
"""In order of precedence: a line belongs to the first format that takes it."""


def find(format_id: str) -> Format | None:
    """Return the format of this id, or None."""
    return next((f for f in INGESTERS if f.format == format_id), None)
