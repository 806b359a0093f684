"""Findings and the report of a check (`stackcheck.report/1`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from stackcheck.model.inventory import CUT_OFF, LOG_UNREAD, NOTHING, SOME_PROBES, Inventory
from stackcheck.model.inventory_json import inventory_to_json
from stackcheck.model.kinds import Grade, Kind, Severity

__all__ = [
    "Finding",
    "FindingEvidence",
    "Grade",
    "Kind",
    "Remedy",
    "Report",
    "Severity",
    "finding_to_json",
    "report_to_json",
]

SCHEMA = "stackcheck.report/1"


class FindingEvidence(NamedTuple):
    """One observed value behind a finding."""

    subject: str
    value: str
    method: str = ""
    where: str = ""


class Remedy(NamedTuple):
    """One change that removes a finding; `sets` maps subjects to a range, a value, or None for unset."""

    text: str
    sets: Mapping[str, Any] = NOTHING
    proved: bool = False
    """Applied to the inventory and checked again: the finding was gone and nothing worse had come."""
    run: str = ""
    """A command to paste, if one does it."""


class Finding(NamedTuple):
    """One thing a maintainer would say about this node."""

    id: str
    kind: Kind
    severity: Severity
    subjects: tuple[str, ...]
    title: str
    evidence: tuple[FindingEvidence, ...] = ()
    why: str = ""
    impact: str = ""
    remedy: tuple[Remedy, ...] = ()
    sources: tuple[str, ...] = ()
    consequences: tuple[Finding, ...] = ()
    """Findings that would not be there without this one."""
    symptom: str = ""
    """What a person sees or a program prints where this is so; formats without a place of their own for it have it as `impact`."""
    accepted: str = ""
    """The reason given with --accept; an accepted finding does not count."""


class Report(NamedTuple):
    """What a check says about one inventory, worst first."""

    subject: str
    inventory: Inventory
    findings: tuple[Finding, ...]
    accepted: tuple[Finding, ...] = ()

    def count(self, severity: Severity) -> int:
        """How many findings have this severity."""
        return sum(f.severity is severity for f in self.findings)

    @property
    def doubt(self) -> str:
        """Why silence does not mean that all is well; empty if what was seen can be judged."""
        notes = self.inventory.notes
        late = list(dict.fromkeys(n.source for n in notes if n.text.startswith(CUT_OFF)))
        if late:
            told = [f"{len(late)} probe{'s' if len(late) > 1 else ''} did not finish: {', '.join(late)}"]
        else:
            told = [self._blind] if self._blind else []
        told += dict.fromkeys(n.text for n in notes if n.text.startswith(SOME_PROBES))
        if self._is_gpu_node and any(n.text.startswith(LOG_UNREAD) for n in notes):
            told.append("the kernel log could not be read, Xid errors are unknown")
        return "; ".join(told)

    @property
    def unread(self) -> int:
        """How many notes are about something that could not be read or understood."""
        return sum(not n.text.startswith(SOME_PROBES) for n in self.inventory.notes)

    @property
    def _blind(self) -> str:
        """Why there was nothing to judge, if there was not."""
        seen = self.inventory
        if seen.facts.get("gpu_count_pci") == 0 and not seen.gpu_model:
            return "no NVIDIA GPU was seen"
        told = seen.components or seen.environment or seen.facts or seen.image or seen.gpu_count is not None
        return "" if told or self.findings or self.accepted else "nothing in it could be judged"

    @property
    def _is_gpu_node(self) -> bool:
        """Whether GPUs were seen, and not out of a container, whose kernel log is its host's: a model may be what an image is judged for."""
        facts = self.inventory.facts
        seen = (self.inventory.gpu_count, facts.get("gpu_count_pci"))
        is_host = facts.get("container") in (None, "none")
        return is_host and any(isinstance(n, int) and n > 0 for n in seen)


def finding_to_json(finding: Finding) -> dict[str, Any]:
    """Return the JSON object of one finding, with the contract's keys first."""
    body: dict[str, Any] = {
        "id": finding.id,
        "kind": str(finding.kind),
        "severity": str(finding.severity),
        "subjects": list(finding.subjects),
        "title": finding.title,
        "evidence": [
            {"subject": e.subject, "value": e.value, "method": e.method, "where": e.where}
            for e in finding.evidence
        ],
        "why": finding.why,
        "remedy": [_remedy_to_json(r) for r in finding.remedy],
        "sources": list(finding.sources),
    }
    if finding.impact:
        body["impact"] = finding.impact
    if finding.consequences:
        body["consequences"] = [finding_to_json(c) for c in finding.consequences]
    if finding.accepted:
        body["accepted"] = finding.accepted
    return body


def _remedy_to_json(remedy: Remedy) -> dict[str, Any]:
    body: dict[str, Any] = {"text": remedy.text, "set": dict(remedy.sets)}
    if remedy.run:
        body["run"] = remedy.run
    if remedy.proved:
        body["proved"] = True
    return body


def report_to_json(report: Report) -> dict[str, Any]:
    """Return the JSON object of a report."""
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "subject": report.subject,
        "inventory": inventory_to_json(report.inventory),
        "findings": [finding_to_json(f) for f in report.findings],
        "summary": {str(s): report.count(s) for s in Severity},
    }
    if report.doubt:
        body["doubt"] = report.doubt
    if report.accepted:
        body["accepted"] = [finding_to_json(f) for f in report.accepted]
    return body
