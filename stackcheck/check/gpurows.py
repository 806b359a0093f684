"""Rows of a GPU's compatibility matrix that say broken or degraded about what is installed."""

from __future__ import annotations

from stackcheck.catalog.evaluate import parsed_range
from stackcheck.check.node import Node
from stackcheck.check.wording import evidence_for, refs
from stackcheck.model.finding import Finding, Kind, Remedy, Severity
from stackcheck.model.release import GpuRow

_WORDS = {"broken": "does not work", "degraded": "runs below its speed", "caveat": "works with a caveat"}
_SEVERITY = {"broken": Severity.ERROR, "degraded": Severity.WARNING, "caveat": Severity.INFO}


def gpu_row_findings(node: Node) -> list[Finding]:
    """Return a finding for each component whose first matching row on this GPU is no good."""
    if node.gpu is None:
        return []
    found: list[Finding] = []
    for name in dict.fromkeys(row.component for row in node.gpu.rows):
        seen = node.seen(name)
        if seen is None or seen.version is None:
            continue
        row = _first_row(node, name)
        if row is not None and row.grade in _SEVERITY:
            found.append(_finding(row, node))
    return found


def _first_row(node: Node, name: str) -> GpuRow | None:
    seen = node.seen(name)
    assert node.gpu is not None and seen is not None and seen.version is not None  # noqa: S101, PT018
    for row in node.gpu.rows:
        if row.component == name:
            bounds = parsed_range(row.range, seen.version.scheme)
            if bounds is not None and seen.version in bounds:
                return row
    return None


def _is_another_build(node: Node, name: str) -> bool:
    """Whether a release is here in none of the builds that were published: the table speaks of those."""
    seen = node.seen(name)
    return seen is not None and seen.release is not None and bool(seen.release.builds) and seen.build is None


def _finding(row: GpuRow, node: Node) -> Finding:
    assert node.gpu is not None  # noqa: S101
    kinds = node.catalog.policy["gpu_row_kind"]
    kind = Kind(kinds.get(row.component, kinds["default"]))
    severity = _SEVERITY[row.grade]
    another = row.grade == "broken" and _is_another_build(node, row.component)
    if another:
        severity = Severity.WARNING
    good = [
        r.range for r in node.gpu.rows if r.component == row.component and r.grade in ("supported", "tested")
    ]
    component = node.catalog.component(row.component)
    name = component.name if component else row.component
    seen = node.seen(row.component)
    version = seen.observation.version if seen else ""
    word = "has no published build that works" if another else _WORDS[row.grade]
    remedies = tuple(Remedy(f"Take {name} {r}", {row.component: r}) for r in good[:2])
    return Finding(
        id=f"gpu-{node.gpu.id}-{row.component}",
        kind=Kind.SILENT_SLOWDOWN
        if severity is Severity.WARNING and kind is Kind.ARCH_NOT_COMPILED
        else kind,
        severity=severity,
        subjects=(row.component, "gpu"),
        title=f"{name} {version} {word} on {node.gpu.name}",
        evidence=evidence_for((row.component, "gpu"), node),
        why=row.why,
        remedy=remedies,
        sources=refs(node.gpu.sources, row.sources),
    )
