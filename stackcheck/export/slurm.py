"""A batch script for Slurm with the pyxis plug-in and enroot.

Formats: https://slurm.schedmd.com/sbatch.html, https://github.com/NVIDIA/pyxis, and enroot's image names
`[USER@][REGISTRY#]IMAGE[:TAG]` (https://github.com/NVIDIA/enroot/blob/master/doc/cmd/import.md). Nodes, tasks and CPUs are the job's
own business; GPUs per node come from the instance type, if it is known.
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
    shell,
    variables,
)
from stackcheck.model.stack import Stack

_NODES = (
    "# NODES is for you to fill in; until then sbatch refuses the script",
    "#SBATCH --nodes=NODES",
    "# one task per GPU where the program takes its rank from Slurm (SLURM_PROCID, SLURM_LOCALID) or from PMI (srun --mpi=list",
    "# names what the cluster has); one per node where a launcher such as torchrun starts the others",
    "##SBATCH --ntasks-per-node=...",
)
_RENDEZVOUS = (
    "# a program that meets at MASTER_ADDR and MASTER_PORT needs the first node of the job and a port that is free there:",
    '# export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
    "# export MASTER_PORT=...",
)
_NAME = re.compile(r"[^A-Za-z0-9_.-]+", re.ASCII)


def render(stack: Stack) -> str:
    """Return the script; directives come first, as sbatch stops reading them at the first command."""
    target = stack.target
    lines = [
        "#!/bin/bash",
        *header(stack, "Batch job"),
        f"#SBATCH --job-name={_NAME.sub('-', target.gpu)[:40]}",
    ]
    lines += ["##SBATCH --partition=...", *_NODES]
    lines += [
        f"#SBATCH --gpus-per-node={target.gpu_count}" if target.gpu_count else "##SBATCH --gpus-per-node=..."
    ]
    lines += [
        "#SBATCH --exclusive",
        "",
        "set -eu",
        "",
        *node_comments(stack),
        *_variables(stack),
        "",
        *_RENDEZVOUS,
        *_image(stack),
    ]
    return "\n".join(lines) + "\n"


def _variables(stack: Stack) -> Iterator[str]:
    pairs = list(variables(stack.environment))
    if pairs:
        yield ""
    for name, value in pairs:
        yield f"export {name}={shell(value)}"
    held = [n for n, _ in pairs if stack.image and n in stack.image.environment]
    yield from comments(
        f"the image sets {', '.join(held)} too; --container-env makes these win" if held else ""
    )


def _image(stack: Stack) -> Iterator[str]:
    ref = reference(stack)
    yield ""
    if stack.image and stack.image.digest and ref:
        yield from comments(f"the digest read for this tag: {plain(stack.image.digest)}")
    if not ref:
        yield from comments(no_reference(stack))
        yield ': "${IMAGE:?set IMAGE to a container image or a squash file}"'
    else:
        name = enroot_name(ref.partition("@")[0])
        if REGION in name:
            yield ': "${AWS_REGION:?set AWS_REGION to the region of the registry}"'
        yield f'IMAGE="{name.replace(REGION, "${AWS_REGION}")}"'
    yield '# MOUNTS="/fsx:/fsx"    what the job reads and writes, SOURCE:TARGET[,...]'
    yield 'srun --container-image="$IMAGE" \\'
    yield '    ${MOUNTS:+--container-mounts="$MOUNTS"} \\'
    names = [n for n, _ in variables(stack.environment) if stack.image and n in stack.image.environment]
    if names:
        yield f"    --container-env={','.join(names)} \\"
    yield '    "$@"'


def enroot_name(reference: str) -> str:
    """Return an image reference in enroot's form: a `#` stands between the registry and the image.

    The first part of a reference is a registry if it holds a dot or a colon or is `localhost`, as in Docker.
    """
    first, slash, rest = reference.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return f"{first}#{rest}"
    return reference
