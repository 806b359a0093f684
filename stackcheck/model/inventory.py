"""What was observed on a node or in a text, each thing with its evidence.

JSON shape: `stackcheck.inventory/1` (matrices/schema/inventory.schema.json). Versions stay texts here: which scheme orders them is the
catalog's knowledge. A component that was looked for and is not there is an empty tuple; one that nobody looked for is no key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

NOTHING: Mapping[str, Any] = {}
SCHEMA = "stackcheck.inventory/1"

CUT_OFF = ("stopped after ", "not started: ")
"""How the note of a probe begins that did not finish in its time, or was not begun."""

SOME_PROBES = "only some probes ran"
"""How the note begins that says which probes were chosen."""
LOG_UNREAD = "kernel messages could not be read"
"""How the note of the probe begins that looks for Xid errors."""

Scalar = str | int | float | bool | None
FactValue = Scalar | tuple[Scalar, ...]


class Evidence(NamedTuple):
    """Where an observation comes from: `method` (paste, elf, procfs ...), `where` (file:line or path), `raw` (the text itself)."""

    method: str = ""
    where: str = ""
    raw: str = ""


class Observation(NamedTuple):
    """One version of one component, as seen in one place."""

    version: str
    scope: str = ""
    path: str = ""
    loaded: bool | None = None
    evidence: Evidence = Evidence()
    attributes: Mapping[str, Any] = NOTHING
    """What the place itself says about the release: `{"targets": ["sm_90"], "flavour": "open"}`; wins over the catalog."""


class Text(NamedTuple):
    """A text that was pasted, kept for the catalog's line signatures; never part of the JSON."""

    name: str
    format: str
    content: str


class Note(NamedTuple):
    """Something that could not be looked at or understood, and why."""

    source: str
    text: str


class Inventory(NamedTuple):
    """Everything known about one node, container or environment."""

    subject: str = ""
    gpu_model: str | None = None
    gpu_count: int | None = None
    instance: str | None = None
    arch: str | None = None
    image: str | None = None
    components: Mapping[str, tuple[Observation, ...]] = NOTHING
    environment: Mapping[str, str] = NOTHING
    facts: Mapping[str, FactValue] = NOTHING
    """`memlock_kb`, or with a prefix `module:gdrdrv`, `service:nvidia-imex`, `limit:memlock`, `device:/dev/gdrdrv`, `log:ID`."""
    evidence: Mapping[str, Evidence] = NOTHING
    """Evidence of facts, environment and gpu, by subject: `env:NCCL_PROTO`, `fact:xid`, `module:gdrdrv`, `gpu`."""
    notes: tuple[Note, ...] = ()
    texts: tuple[Text, ...] = ()

    def merged(self, other: Inventory) -> Inventory:
        """Return what both say about the same node; every observation is kept, single values are this one's if it has them."""
        components = dict(self.components)
        for component, seen in other.components.items():
            mine = components.get(component, ())
            components[component] = mine + tuple(o for o in seen if o not in mine)
        return self._replace(
            subject=self.subject or other.subject,
            gpu_model=self.gpu_model or other.gpu_model,
            gpu_count=self.gpu_count if self.gpu_count is not None else other.gpu_count,
            instance=self.instance or other.instance,
            arch=self.arch or other.arch,
            image=self.image or other.image,
            components=components,
            environment={**other.environment, **self.environment},
            facts=_merged_facts(self.facts, other.facts),
            evidence={**other.evidence, **self.evidence},
            notes=self.notes + other.notes,
            texts=self.texts + other.texts,
        )


def _merged_facts(mine: Mapping[str, FactValue], other: Mapping[str, FactValue]) -> dict[str, FactValue]:
    facts: dict[str, FactValue] = dict(other)
    for name, value in mine.items():
        theirs = facts.get(name)
        if isinstance(value, tuple) and isinstance(theirs, tuple):
            value = value + tuple(v for v in theirs if v not in value)
        facts[name] = value
    return facts
