"""All exports, in the order in which help shows them."""

from __future__ import annotations

from stackcheck.export.interface import Exporter
from stackcheck.model.errors import UsageError
from stackcheck.model.stack import Stack

EXPORTERS: tuple[Exporter, ...] = (
    Exporter(
        "lock",
        "the stack as JSON, to commit and to read again with --lock",
        "stackcheck.lock.json",
        "stackcheck.export.lock",
    ),
    Exporter(
        "constraints",
        "constraints for pip and uv: pip install -c FILE ...",
        "constraints.txt",
        "stackcheck.export.constraints",
    ),
    Exporter(
        "overrides",
        "overrides for uv, for packages that declare something else",
        "overrides.txt",
        "stackcheck.export.overrides",
    ),
    Exporter(
        "dockerfile",
        "a Dockerfile that adds what the image lacks",
        "Dockerfile",
        "stackcheck.export.dockerfile",
    ),
    Exporter(
        "slurm", "a batch script for Slurm with pyxis and enroot", "job.sbatch", "stackcheck.export.slurm"
    ),
    Exporter("kubernetes", "a Kubernetes pod", "pod.yaml", "stackcheck.export.kubernetes"),
    Exporter(
        "parallelcluster",
        "a queue of an AWS ParallelCluster configuration",
        "parallelcluster.yaml",
        "stackcheck.export.parallelcluster",
    ),
    Exporter(
        "hyperpod",
        "a lifecycle script for SageMaker HyperPod nodes",
        "on_create_stack.sh",
        "stackcheck.export.hyperpod",
    ),
    Exporter("env", "the environment variables, for a shell to read", "env.sh", "stackcheck.export.env"),
    Exporter(
        "image",
        "the image reference alone, for a script: one line, exit 2 if there is none",
        "image.txt",
        "stackcheck.export.image",
    ),
    Exporter(
        "markdown", "a table to paste into an issue or a wiki", "table.md", "stackcheck.export.markdown"
    ),
)


def exporter(name: str) -> Exporter:
    """Return the export of that name.

    Raises:
        UsageError: there is none; the message names the nearest.
    """
    for known in EXPORTERS:
        if known.name == name:
            return known
    from difflib import get_close_matches

    names = [known.name for known in EXPORTERS]
    near = get_close_matches(name, names, n=1) or names
    raise UsageError(f"no export {name[:40]!r}", fix=f"try {', '.join(near)}")


def export(name: str, stack: Stack) -> str:
    """Return a stack in the form of that name.

    Raises:
        UsageError: there is no such export, the stack has no such form, or it is a conflict: nothing half-true is ever written.
    """
    chosen = exporter(name)
    if not stack.solved:
        raise UsageError(
            f"no {name} can be written: there is no stack", fix="change a requirement as the conflict says"
        )
    refusal = chosen.refusal(stack)
    if refusal:
        raise UsageError(f"no {name} can be written: {refusal}", fix="choose another export")
    return chosen.render(stack)
