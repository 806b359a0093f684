"""A Slurm queue of an AWS ParallelCluster 3 configuration.

Format: https://docs.aws.amazon.com/parallelcluster/latest/ug/cluster-configuration-file-v3.html. Network, sizes and the custom AMI are
the cluster's own: placeholders in comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackcheck.export.quoting import comments, header, version, wanted, yaml
from stackcheck.model.stack import Stack

_NAME = re.compile(r"[^a-z0-9-]+", re.ASCII)
_ON_AMI = ("driver", "fabric-manager", "efa-installer", "cuda-toolkit", "nccl", "slurm", "pyxis", "enroot")
"""What a ParallelCluster AMI carries and a custom AMI would have to change."""
_FAMILIES = {
    "ubuntu": "ubuntu",
    "rhel": "rhel",
    "rocky": "rocky",
    "amazonlinux": "alinux",
    "amazon-linux": "alinux",
    "al": "alinux",
}


def render(stack: Stack) -> str:
    """Return the sections that the stack decides; merge them into a configuration."""
    target = stack.target
    name = _NAME.sub("-", target.gpu.lower())[:20].strip("-") or "gpu"
    lines = [*header(stack, "Queue"), *_pins(stack), *_image(stack), "Scheduling:", "  Scheduler: slurm"]
    lines += ["  SlurmQueues:", f"    - Name: {yaml(name)}", "      ComputeResources:"]
    lines += [f"        - Name: {yaml(name + '-nodes')}"]
    if target.instance:
        lines += [f"          InstanceType: {yaml(target.instance)}"]
    else:
        lines += ["          # InstanceType: ..."]
    lines += ["          # MinCount: ...", "          # MaxCount: ..."]
    if target.efa_interfaces:
        lines += ["          Efa:", "            Enabled: true"]
    lines += ["      # Networking:", '      #   SubnetIds: ["..."]']
    if target.efa_interfaces:
        lines += [
            "      #   PlacementGroup:",
            "      #     Enabled: true  # EFA wants its nodes close together",
        ]
    return "\n".join(lines) + "\n"


def _pins(stack: Stack) -> Iterator[str]:
    release = version(stack.pin("parallelcluster"))
    yield f"# pcluster version: {release}" if release else "# pcluster version: not part of the stack"
    found = [p for c in _ON_AMI if (p := stack.pin(c)) is not None and p.scope in ("host", "cluster")]
    if found:
        yield "# On the nodes; if the AMI of that release has others, build one: pcluster build-image"
    for pin in found:
        yield from comments(f"- {wanted(pin)}")


def _image(stack: Stack) -> Iterator[str]:
    name = os_name(version(stack.pin("os")))
    if name:
        yield from ("Image:", f"  Os: {yaml(name)}", "  # CustomAmi: ami-...")
    else:
        yield from ("# Image:", "#   Os: ...", "#   CustomAmi: ami-...")


def os_name(text: str) -> str:
    """Return ParallelCluster's word for an operating system: `22.04-ubuntu` is `ubuntu2204`; empty if it has none."""
    number, _, family = text.lower().partition("-")
    if not re.fullmatch(r"\d+(\.\d+)?", number, re.ASCII):
        family, _, number = text.lower().rpartition("-")
    major, _, minor = number.partition(".")
    if not re.fullmatch(r"\d+(\.\d+)?", number, re.ASCII) or family not in _FAMILIES:
        return ""
    if family == "ubuntu":
        return f"ubuntu{major}{minor}" if minor else ""
    return f"{_FAMILIES[family]}{major}"
