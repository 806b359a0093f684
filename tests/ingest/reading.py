"""Names the tests know, and short ways to read a text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stackcheck.ingest import ingest
from stackcheck.ingest.interface import normal
from stackcheck.ingest.read import read_file
from stackcheck.model.inventory import Inventory

SAMPLES = Path(__file__).with_name("samples")

_NAMES = {
    "nccl": "libnccl libnccl2 nvidia-nccl nvidia-nccl-cu12 nvidia-nccl-cu13",
    "cudnn": "libcudnn libcudnn9 nvidia-cudnn nvidia-cudnn-cu12 nvidia-cudnn-cu13",
    "cublas": "libcublas nvidia-cublas nvidia-cublas-cu12",
    "cuda": "cudart libcudart cuda-cudart nvidia-cuda-runtime nvidia-cuda-runtime-cu12",
    "cuda-toolkit": "nvcc ptxas cuda-nvcc",
    "cuda-compat": "",
    "nvjitlink": "libnvjitlink nvidia-nvjitlink nvidia-nvjitlink-cu12",
    "nvshmem": "libnvshmem libnvshmem3 nvidia-nvshmem-cu12 nvidia-nvshmem-cu13",
    "driver": "modules/linux-modules-nvidia nvidia-driver nvidia.ko libcuda libnvidia-ml libnvidia-compute",
    "fabric-manager": "nvidia-fabricmanager",
    "torch": "pytorch",
    "torchvision": "",
    "triton": "pytorch-triton",
    "flash-attn": "flash_attn",
    "flashinfer": "flashinfer-python",
    "transformer-engine": "transformer_engine",
    "transformers": "",
    "vllm": "",
    "sglang": "",
    "sgl-kernel": "sglang-kernel",
    "jax": "",
    "jaxlib": "",
    "deepspeed": "",
    "libfabric": "libfabric-aws libfabric1-aws libfabric-aws-bin libfabric-aws-dev",
    "efa-driver": "efa",
    "efa-installer": "",
    "aws-ofi-nccl": "libnccl-ofi",
    "openmpi": "openmpi40-aws openmpi50-aws",
    "rdma-core": "libibverbs1 ibverbs-providers",
    "gdrcopy": "libgdrapi",
    "gdrdrv": "",
    "dcgm": "datacenter-gpu-manager dcgmi",
    "dcgm-exporter": "image/dcgm-exporter",
    "enroot": "",
    "lustre-client": "",
    "gpu-operator": "",
    "karpenter": "",
    "nvidia-container-toolkit": "image/toolkit",
    "nvidia-device-plugin": "image/k8s-device-plugin",
    "parallelcluster": "pcluster",
    "nixl": "nixl-cu13",
    "ucx": "libucx",
    "python": "",
    "glibc": "",
    "kernel": "",
    "os": "",
    "kubernetes": "kubelet",
}
ALIASES: Mapping[str, str] = {
    normal(name): component for component, names in _NAMES.items() for name in (component, *names.split())
}
GPU_NAMES: Mapping[str, str] = {
    "b200": "b200",
    "nvidia b200": "b200",
    "b300": "b300",
    "nvidia b300 sxm6 ac": "b300",
    "h100": "h100",
    "nvidia h100 80gb hbm3": "h100",
    "h200": "h200",
    "a100": "a100",
    "a100-sxm4-80gb": "a100",
    "l40s": "l40s",
}


def read_text(*texts: str, forced_format: str | None = None, name: str = "paste.txt") -> Inventory:
    """Return the inventory of texts, each a file of its own: the first is called `name`."""
    pairs = [(name if i == 0 else f"{i}-{name}", text) for i, text in enumerate(texts)]
    return ingest(pairs, aliases=ALIASES, gpu_names=GPU_NAMES, forced_format=forced_format)


def versions(inventory: Inventory, component: str) -> set[str]:
    """Return the versions seen of a component."""
    return {o.version for o in inventory.components.get(component, ())}


def read_sample(*names: str) -> Inventory:
    """Return the inventory of samples, read as files of one node."""
    pairs = [(name, read_file(SAMPLES / name)) for name in names]
    return ingest(pairs, aliases=ALIASES, gpu_names=GPU_NAMES)


def attributes(inventory: Inventory, component: str) -> dict[str, Any]:
    """Return the attributes of the only observation of a component."""
    (seen,) = inventory.components[component]
    return dict(seen.attributes)
