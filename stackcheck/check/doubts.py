"""What is said against the texts themselves: a GPU nobody knows, targets that exclude each other, one thing in two versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.meaning import CONTRADICTION, TWO_VERSIONS_FAMILY, UNKNOWN_GPU
from stackcheck.check.node import Node
from stackcheck.model.finding import Finding, FindingEvidence, Kind, Severity
from stackcheck.model.inventory import Inventory


def doubts(catalog: Catalog, inventory: Inventory, node: Node) -> list[Finding]:
    """Return findings about what the texts say of the node as a whole; each says what was judged nevertheless."""
    return [*_unknown_gpu(catalog, inventory), *_contradictions(inventory, node), *_two_versions(node)]


def _unknown_gpu(catalog: Catalog, inventory: Inventory) -> Iterator[Finding]:
    model = inventory.gpu_model
    if model and catalog.find_gpu(model) is None and catalog.board_capability(model) is None:
        yield Finding(
            id=UNKNOWN_GPU,
            kind=Kind.UNKNOWN_RELEASE,
            severity=Severity.INFO,
            subjects=("gpu",),
            title=f"nothing is known of the GPU {model}",
            evidence=(_seen(inventory, "gpu", model),),
            why="No matrix of it is in the data: nothing was held against the GPU, only the parts against each other.",
        )


def _contradictions(inventory: Inventory, node: Node) -> Iterator[Finding]:
    gpu, instance = node.gpu, node.instance
    told: list[tuple[str, str, str]] = []
    if gpu is not None and instance is not None and inventory.gpu_model and instance.gpu != gpu.id:
        told.append((f"{instance.id} has {instance.gpu}, not {gpu.id}", "instance", inventory.instance or ""))
    arch = inventory.arch and node.arch
    if arch and instance is not None and instance.attributes.get("arch") not in (None, arch):
        told.append((f"{instance.id} is {instance.attributes['arch']}, not {arch}", "arch", arch))
    elif arch and gpu is not None and arch not in (gpu.attributes.get("arch") or (arch,)):
        told.append((f"no {gpu.name} sits in a machine that is {arch}", "arch", arch))
    if told:
        evidence = (_seen(inventory, subject, value) for _, subject, value in told)
        yield Finding(
            id=CONTRADICTION,
            kind=Kind.CONFIG,
            severity=Severity.INFO,
            subjects=("gpu", "instance"),
            title=f"the texts contradict each other: {'; '.join(text for text, _, _ in told)}",
            evidence=(
                *((_seen(inventory, "gpu", inventory.gpu_model),) if inventory.gpu_model else ()),
                *evidence,
            ),
            why="They may be of two nodes. What they say of the GPU was judged for that GPU, what they say of the machine for that machine.",
        )


def _two_versions(node: Node) -> Iterator[Finding]:
    for name in node.catalog.policy.get("one_at_a_time", ()):
        told: Sequence[str] = sorted({v.text for v, _ in node.running(name)})
        if told:
            yield Finding(
                id=f"{TWO_VERSIONS_FAMILY}{name}",
                kind=Kind.VERSION_CONFLICT,
                severity=Severity.INFO,
                subjects=(name,),
                title=f"{name} is told in two versions: {', '.join(told[:4])}",
                evidence=tuple(
                    FindingEvidence(name, o.version, o.evidence.method, o.evidence.where)
                    for _, o in node.running(name)[:4]
                ),
                why="A node runs one at a time: the texts are of two nodes or of two boots, or a module and its libraries differ. The oldest was judged.",
            )


def _seen(inventory: Inventory, subject: str, value: str) -> FindingEvidence:
    evidence = inventory.evidence.get(subject)
    method, where = (evidence.method, evidence.where) if evidence else ("", "")
    return FindingEvidence(subject, value, method, where)
