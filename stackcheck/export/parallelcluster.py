"""A Slurm queue of an AWS ParallelCluster 3 configuration.

Format: https://docs.aws.amazon.com/parallelcluster/latest/ug/cluster-configuration-file-v3.html. Network, sizes and the custom AMI are
the cluster's own: placeholders in comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackcheck.export.quoting import comments, header, version, yaml
from stackcheck.model.stack import Stack

_NAME = re.compile(r"[^a-z0-9-]+", re.ASCII)
_ON_AMI = ("driver", "fabric-manager", "efa-installer", "cuda-toolkit", "nccl", "slurm", "pyxis", "enroot")
"""What a ParallelCluster AMI carries and a custom AMI would have to change."""


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
    found = [p for c in _ON_AMI if (p := stack.pin(c)) is not None and p.origin in ("host", "")]
    if found:
        yield "# On the nodes; if the AMI of that release has others, build one: pcluster build-image"
    for pin in found:
        yield from comments(
            f"- {pin.component} {pin.version}" + (f" (accepts {pin.accepts})" if pin.accepts else "")
        )


def _image(stack: Stack) -> Iterator[str]:
    name = os_name(version(stack.pin("os")))
    if name:
        yield from ("Image:", f"  Os: {yaml(name)}", "  # CustomAmi: ami-...")
    else:
        yield from ("# Image:", "#   Os: ...", "#   CustomAmi: ami-...")


def os_name(text: str) -> str:
    """Return ParallelCluster's word for an operating system (`ubuntu-22.04` is `ubuntu2204`), or empty if it has none."""
    match = re.fullmatch(
        r"(ubuntu|rhel|rocky|al|alinux|amazon-linux|amzn)[-_ ]?(\d+)(?:\.(\d+))?", text.lower()
    )
    if match is None:
        return ""
    family, major, minor = match.groups()
    if family == "ubuntu":
        return f"ubuntu{major}{minor}" if minor else ""
    return f"{family if family in ('rhel', 'rocky') else 'alinux'}{major}"
