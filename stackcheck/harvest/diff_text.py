"""Proposals as a text that a reviewer reads: what would be written first, then what a person has to decide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from stackcheck.harvest.packages import Remark
from stackcheck.harvest.reconcile import Kind, Proposal
from stackcheck.model.release import Requirement

_SIGN = {
    Kind.NEW: "+",
    Kind.FILLED: "+",
    Kind.CHANGED: "~",
    Kind.VANISHED: "-",
    Kind.CONTRADICTING: "!",
    Kind.UNLISTED: "?",
}
_MEANING = {
    Kind.NEW: "new releases",
    Kind.FILLED: "holes that upstream fills",
    Kind.CHANGED: "changed upstream",
    Kind.VANISHED: "no longer upstream",
    Kind.CONTRADICTING: "contradicts the reviewed value; both are kept",
    Kind.UNLISTED: "upstream says more than the reviewed data lists; not written",
}
_MOST = 40  # lines of one kind


def text_of(proposals: Sequence[Proposal], remarks: Sequence[Remark], *, verbose: bool = False) -> str:
    """Return the difference as lines, grouped by what it means."""
    lines: list[str] = []
    for kind in Kind:
        group = [p for p in proposals if p.kind is kind]
        if not group:
            continue
        shown = group if verbose else group[:_MOST]
        lines.append(f"{len(group)} {_MEANING[kind]}")
        lines += [f"  {_SIGN[kind]} {line}" for p in shown for line in _lines(p)]
        if len(shown) < len(group):
            lines.append(f"  ... {len(group) - len(shown)} more (--verbose)")
    if remarks:
        lines.append(f"{len(remarks)} not read")
        lines += [
            f"  . {r.component} {r.release}: {r.text}" for r in (remarks if verbose else remarks[:_MOST])
        ]
    return "\n".join(lines or ["nothing new: upstream says what the matrices say"])


def _lines(proposal: Proposal) -> Iterable[str]:
    head = f"{proposal.component} {proposal.release}: {proposal.field}"
    if proposal.kind is Kind.CONTRADICTING:
        yield f"{head}: ours {_value(proposal.ours)}, upstream {_value(proposal.theirs)} [{proposal.source}]"
    elif (
        isinstance(proposal.theirs, tuple) and proposal.theirs and isinstance(proposal.theirs[0], Requirement)
    ):
        yield f"{head} [{proposal.source}]"
        yield from (f"    {_value(row)}" for row in proposal.theirs)
    else:
        yield f"{head} {_value(proposal.theirs)} [{proposal.source}]"


def _value(value: Any) -> str:
    if isinstance(value, Requirement):
        conditions = [
            f"[{value.extra}]" if value.extra else "",
            f"python {value.python}" if value.python else "",
        ]
        conditions += ["/".join(value.arch), "if there" if value.optional else ""]
        return " ".join(p for p in (value.component, value.range, *conditions) if p)
    if isinstance(value, tuple):
        return ", ".join(map(_value, value)) or "none"
    return "nothing" if value is None else str(value)


def json_of(proposals: Sequence[Proposal], remarks: Sequence[Remark]) -> dict[str, Any]:
    """Return the difference as `stackcheck.harvest/1`."""
    return {
        "schema": "stackcheck.harvest/1",
        "proposals": [
            {
                "kind": str(p.kind),
                "component": p.component,
                "release": p.release,
                "field": p.field,
                "ours": p.ours,
                "theirs": _plain(p.theirs),
                "source": p.source,
                "read": p.date,
                "extractor": p.extractor,
                "file": p.detail or None,
            }
            for p in proposals
        ],
        "unread": [{"component": r.component, "release": r.release or None, "why": r.text} for r in remarks],
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Requirement):
        return {k: v for k, v in value._asdict().items() if v}
    return [_plain(v) for v in value] if isinstance(value, tuple) else value
