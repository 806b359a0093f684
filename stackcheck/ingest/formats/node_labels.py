"""Labels of Kubernetes nodes that tell GPU, driver, CUDA and instance type, wherever they stand: JSON, YAML, `kubectl describe`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.interface import Line

Setter = Callable[[Draft, str, Line], None]


def _gpu(draft: Draft, value: str, line: Line) -> None:
    """`NVIDIA-H100-80GB-HBM3-SHARED`: blanks became hyphens, and sharing is marked."""
    shared = value.endswith("-SHARED")
    draft.gpu(
        value.removesuffix("-SHARED").replace("-", " ")
        if draft.context.gpu(value.replace("-", " "))
        else value.removesuffix("-SHARED"),
        line,
    )
    if shared:
        draft.fact("gpu_shared", True, line)


def _count(draft: Draft, value: str, line: Line) -> None:
    if value.isdigit() and len(value) < 5:
        draft.gpu(None, line, int(value))


def _driver(draft: Draft, value: str, line: Line) -> None:
    if re.fullmatch(r"\d{3,4}(?:\.\d{1,4}){1,3}", value):
        draft.component("driver", value, line, scope="host", loaded=True)


def _driver_cuda(draft: Draft, value: str, line: Line) -> None:
    if match := re.match(r"\d{1,2}\.\d{1,2}", value):
        draft.first_fact("driver_cuda", match[0], line)


def _instance(draft: Draft, value: str, line: Line) -> None:
    draft.single("instance", value, line)


def _arch(draft: Draft, value: str, line: Line) -> None:
    if value in ("amd64", "arm64"):
        draft.single("arch", "x86_64" if value == "amd64" else "aarch64", line)


def _kernel(draft: Draft, value: str, line: Line) -> None:
    draft.component("kernel", value, line, scope="host")


def _mig(draft: Draft, value: str, line: Line) -> None:
    draft.fact("mig_strategy", value, line)


def _replicas(draft: Draft, value: str, line: Line) -> None:
    if value.isdigit() and len(value) < 5 and int(value) > 1:
        draft.fact("gpu_shared", True, line)


def _clique(draft: Draft, value: str, line: Line) -> None:
    draft.first_fact("nvlink_clique", value, line)


LABELS: dict[str, Setter] = {
    "nvidia.com/gpu.product": _gpu,
    "nvidia.com/gpu.count": _count,
    "nvidia.com/gpu.replicas": _replicas,
    "nvidia.com/cuda.driver-version.full": _driver,
    "nvidia.com/cuda.runtime-version.full": _driver_cuda,
    "nvidia.com/mig.strategy": _mig,
    "nvidia.com/gpu.clique": _clique,
    "node.kubernetes.io/instance-type": _instance,
    "beta.kubernetes.io/instance-type": _instance,
    "kubernetes.io/arch": _arch,
    "feature.node.kubernetes.io/kernel-version.full": _kernel,
}


def label(draft: Draft, name: str, value: str, line: Line) -> None:
    """Record one label."""
    setter = LABELS.get(name)
    if setter and 0 < len(value) < 200:
        setter(draft, value, line)


def driver_from_parts(draft: Draft, labels: Mapping[str, Any], line: Line) -> None:
    """Older feature discovery splits the driver's version over three labels; the runtime version is the driver's CUDA."""
    if "nvidia.com/cuda.driver-version.full" not in labels:
        parts = [str(labels.get(f"nvidia.com/cuda.driver.{p}", "")) for p in ("major", "minor", "rev")]
        if parts[0].isdigit() and parts[1].isdigit():
            _driver(draft, ".".join(p for p in parts if p), line)
    if "nvidia.com/cuda.runtime-version.full" not in labels:
        major, minor = (str(labels.get(f"nvidia.com/cuda.runtime.{p}", "")) for p in ("major", "minor"))
        if major.isdigit() and minor.isdigit():
            _driver_cuda(draft, f"{major}.{minor}", line)
