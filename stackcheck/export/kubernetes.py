"""A Kubernetes pod that asks for whole nodes of the stack's instance type.

Formats: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/, the device plug-ins' resource names, and for EFA
https://docs.aws.amazon.com/eks/latest/userguide/node-efa.html. Counts come from the instance type; what is not known is a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackcheck.export.quoting import (
    REGION,
    comments,
    header,
    no_reference,
    node_comments,
    plain,
    reference,
    variables,
    yaml,
)
from stackcheck.model.stack import Stack

_ARCH_LABELS = {"x86_64": "amd64", "aarch64": "arm64"}
_LABEL = re.compile(r"[^a-z0-9-]+", re.ASCII)


def render(stack: Stack) -> str:
    """Return the pod."""
    lines = [
        *header(stack, "Pod"),
        *node_comments(stack),
        "apiVersion: v1",
        "kind: Pod",
        "metadata:",
        f"  name: {yaml(_name(stack))}",
        "spec:",
        "  restartPolicy: Never",
        *_selector(stack),
        "  containers:",
        '    - name: "main"',
        *_image(stack),
        '      # command: ["..."]',
        *_environment(stack),
        *_resources(stack),
        "      securityContext:",
        "        capabilities:",
        '          add: ["IPC_LOCK"]  # RDMA registers memory, which must stay locked',
        "      volumeMounts:",
        "        - name: shm",
        "          mountPath: /dev/shm",
        "  volumes:",
        "    - name: shm  # NCCL and data loaders share memory there; the default of 64 MiB is too small",
        "      emptyDir:",
        "        medium: Memory",
        '        # sizeLimit: "..."  # counts against the memory of the pod',
    ]
    return "\n".join(lines) + "\n"


def _name(stack: Stack) -> str:
    return _LABEL.sub("-", f"stack-{stack.target.gpu}".lower())[:60].strip("-")


def _selector(stack: Stack) -> Iterator[str]:
    target = stack.target
    labels = {
        "kubernetes.io/arch": _ARCH_LABELS.get(target.arch, ""),
        "node.kubernetes.io/instance-type": target.instance or "",
    }
    if any(labels.values()):
        yield "  nodeSelector:"
    for label, value in labels.items():
        if value:
            yield f"    {label}: {yaml(value)}"


def _image(stack: Stack) -> Iterator[str]:
    ref = reference(stack)
    if not ref:
        yield from comments(no_reference(stack), "      ")
        yield "      # image: ..."
        return
    if REGION in ref:
        yield f"      # put the region of the registry in place of {REGION}"
    yield f"      image: {yaml(ref)}"


def _environment(stack: Stack) -> Iterator[str]:
    pairs = list(variables(stack.environment))
    if pairs:
        yield "      env:"
    for name, value in pairs:
        held = stack.image.environment.get(name) if stack.image else None
        if held is not None and plain(held) != value:
            yield from comments(f"the image sets {name}={held}", " " * 8)
        yield f"        - name: {yaml(name)}"
        # a dollar sign and parenthesis would be read as a reference to another variable
        yield f"          value: {yaml(value.replace('$(', '$$('))}"


def _resources(stack: Stack) -> Iterator[str]:
    target = stack.target
    yield "      resources:"
    if target.gpu_count or target.efa_interfaces:
        yield "        limits:"
    for resource, count in (
        ("nvidia.com/gpu", target.gpu_count),
        ("vpc.amazonaws.com/efa", target.efa_interfaces),
    ):
        if count:
            yield f"          {resource}: {count}"
        elif count is None:
            yield f"          # {resource}: ...  # how many the node has is not known here"
    if target.efa_interfaces:
        yield '          # hugepages-2Mi: "5120Mi"  # as in the EFA guide; asks for a memory and CPU request as well'
        yield '          # memory: "..."'
        yield '          # cpu: "..."'
