"""The whole check: signatures, rules, packages, GPU rows, ranking, remedies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stackcheck.catalog.catalog import Catalog
from stackcheck.check.consistent_set import pointing_to, with_consistent_set
from stackcheck.check.doubts import doubts
from stackcheck.check.gpurows import gpu_row_findings
from stackcheck.check.image import unknown_image
from stackcheck.check.node import Node
from stackcheck.check.packages import package_findings
from stackcheck.check.ranking import folded
from stackcheck.check.remedies import proved
from stackcheck.check.rules import rule_findings
from stackcheck.check.signatures import with_log_facts
from stackcheck.check.wording import evidence_for
from stackcheck.model.finding import Finding, Kind, Report, Severity
from stackcheck.model.inventory import Inventory


def check(catalog: Catalog, inventory: Inventory, *, accept: Mapping[str, str] | None = None) -> Report:
    """Return the findings on an inventory, worst and root cause first.

    `accept` maps finding ids to the reason why somebody lives with them; those are kept apart and do not count.
    """
    if inventory.texts:  # a probed node has none, and needs no signature read
        aside = (tuple(catalog.policy.get(key, ())) for key in ("harmless", "passing_frames"))
        inventory = with_log_facts(inventory, catalog.signatures, *aside)
    found = findings_of(catalog, inventory)

    def recheck(changed: Inventory) -> Sequence[Finding]:
        return findings_of(catalog, changed)

    proven = [proved(f, inventory, catalog, recheck, found) for f in found]
    mended, one_set = with_consistent_set(proven, inventory, catalog, recheck)
    ranked = folded(mended, catalog)
    if one_set is not None:
        ranked = pointing_to(one_set, ranked, inventory, catalog, recheck)
    reasons = accept or {}
    accepted = tuple(f._replace(accepted=reasons[f.id]) for f in ranked if f.id in reasons)
    return Report(
        subject=inventory.subject,
        inventory=inventory,
        findings=tuple(f for f in ranked if f.id not in reasons),
        accepted=accepted,
    )


def findings_of(catalog: Catalog, inventory: Inventory) -> Sequence[Finding]:
    """Return all findings, unranked and with unproved remedies."""
    node = Node(catalog, inventory)
    return [
        *rule_findings(node),
        *package_findings(node),
        *gpu_row_findings(node),
        *unknown_releases(node),
        *unknown_image(catalog, inventory),
        *doubts(catalog, inventory, node),
    ]


def unknown_releases(node: Node) -> list[Finding]:
    """Return one finding about versions that no matrix knows: they took part by range alone."""
    unknown = [
        name
        for name in sorted(node.observations.keys() - set(node.catalog.policy.get("landmarks", ())))
        if (seen := node.seen(name)) is not None
        and seen.version is not None
        and seen.release is None
        and seen.component.releases
        and seen.version.public > seen.component.releases[-1].version.public
    ]
    if not unknown:
        return []
    told = ", ".join(f"{n} {node.observations[n][0].version}" for n in unknown)
    return [
        Finding(
            id="unknown-release",
            kind=Kind.UNKNOWN_RELEASE,
            severity=Severity.INFO,
            subjects=tuple(unknown),
            title=f"newer than the matrices know: {told}",
            evidence=evidence_for(unknown, node),
            why=f"The data of {node.catalog.version} ends before these releases; they were judged by ranges alone.",
            sources=(),
        )
    ]
