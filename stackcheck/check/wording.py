"""Templates of rules filled with what was observed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from stackcheck.catalog.evaluate import Missing
from stackcheck.check.node import Node
from stackcheck.model.finding import FindingEvidence
from stackcheck.model.gpucode import Capability
from stackcheck.model.inventory import NOTHING, Evidence
from stackcheck.model.release import Source

_PLACEHOLDER = re.compile(r"\{([A-Za-z][A-Za-z0-9_.:/\-]*)\}")

_PLAIN = re.compile(r"[A-Za-z0-9_.,:+=@%/-][A-Za-z0-9_.,:+=@%/ -]*\Z")
_LONGEST = 160  # characters of a value inside a sentence
_LONGEST_EVIDENCE = 300  # and of one beside a finding


def filled(template: str, node: Node) -> str:
    """Return a template with `{driver}`, `{cuda.family_floor}`, `{env:NCCL_PROTO}` replaced by what is known here."""
    return " ".join(_PLACEHOLDER.sub(lambda m: _value_text(m[1], node), template).split())


def filled_value(value: Any, node: Node) -> Any:
    """Return a remedy's value with placeholders replaced; other values as they are."""
    return filled(value, node) if isinstance(value, str) and "{" in value else value


def is_filled(value: Any, node: Node) -> bool:
    """Whether everything that a remedy's value names is known here."""
    names = _PLACEHOLDER.findall(value) if isinstance(value, str) else ()
    return all(told(node.value(name)) for name in names)


def is_runnable(command: str, node: Node) -> bool:
    """Whether everything that a command to paste names is known here, and holds nothing that a shell would read."""
    return all(_PLAIN.match(told(node.value(name))) for name in _PLACEHOLDER.findall(command))


def _value_text(subject: str, node: Node) -> str:
    if subject == "gpu":
        return told(node.value("gpu.name")) or "this GPU"
    text = told(node.value(subject)) or f"(unknown {subject})"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def told(value: Any) -> str:
    """Return a value as people write it; nothing for a missing one."""
    if isinstance(value, Missing):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, frozenset):
        return ", ".join(sorted(map(str, value)))
    if isinstance(value, tuple) and not isinstance(value, Capability):
        return ", ".join(map(str, value)) or "none"
    return str(value)


def refs(table: Mapping[str, Source], keys: Iterable[str]) -> tuple[str, ...]:
    """Return the URLs and purls behind source keys; a key that stands in no table is one itself."""
    return tuple(table[k].ref if k in table else k for k in keys)


_PROBED = {"nvml": 400, "nvidia-smi": 400, "kernel-log": 400, "sysfs": 120}
"""Methods of probes whose raw text says more than the fact (which GPU, which event), and up to how many characters of it are shown.

The raw text of a pasted line is the line itself, and its place is told.
"""

_LINE = re.compile(r":\d+$")


def _which(subject: str, seen: Evidence | None, asked: frozenset[str]) -> str:
    """Return what the raw text of a probe adds to a fact, in brackets; of several events only those that were asked for."""
    if not subject.startswith("fact:") or seen is None or not seen.raw or _LINE.search(seen.where):
        return ""
    events = seen.raw.split(" | ")
    about = [e for e in events if any(f": {number}, " in e for number in asked)] or events
    return f" ({' | '.join(about)})" if len(seen.raw) <= _PROBED.get(seen.method, 0) else ""


def evidence_for(
    subjects: Iterable[str], node: Node, asked: Mapping[str, frozenset[str]] = NOTHING
) -> tuple[FindingEvidence, ...]:
    """Return the observed value of each subject that was observed, with where it stands; `asked` says which of several values matter."""
    found = []
    for subject in dict.fromkeys(subjects):
        value = node.value(subject)
        seen = node.evidence(subject)
        if isinstance(value, Missing) and seen is None:
            continue
        if value is Missing.ABSENT:
            text = "absent"
        elif subject == "gpu" and not isinstance(node.value("gpu.name"), Missing):
            text = told(node.value("gpu.name"))
        elif subject.startswith("log:") and seen is not None and seen.raw:
            text = seen.raw
        else:
            text = told(value)
            text = (
                text + _which(subject, seen, asked.get(subject, frozenset()))
                if text
                else (seen.raw if seen else "")
            )
        if ":" not in subject and "." not in subject:
            observations = node.observations.get(subject, ())
            if len({o.version for o in observations}) > 1:
                text = ", ".join(dict.fromkeys(o.version for o in observations if o.version))
        method, where = (seen.method, seen.where) if seen else ("", "")
        found.append(FindingEvidence(subject, text[:_LONGEST_EVIDENCE], method, where))
    return tuple(found)
