"""An inventory under construction: bounded values, evidence for each, lines claimed as they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackcheck.ingest.interface import Context, Line, SourceText
from stackcheck.model.inventory import Evidence, FactValue, Inventory, Note, Observation, Scalar

VALUE_LIMIT = 200  # characters of a version, name or path
ENVIRONMENT_LIMIT = 4096
RAW_LIMIT = 300
LIST_LIMIT = 512  # members of a list fact, and observations of one component

PASTE = "paste"
MENTION = "mention"
"""Method of what stands in free text; it gives way to what a program printed about the same component."""


class Draft:
    """Collects what one ingester reads out of one piece of text."""

    def __init__(self, source: SourceText, context: Context, *, method: str = PASTE) -> None:
        """Start empty; `method` goes into the evidence of everything added."""
        self.source = source
        self.context = context
        self.method = method
        self.gpu_model: str | None = None
        self.gpu_count: int | None = None
        self.instance: str | None = None
        self.arch: str | None = None
        self.image: str | None = None
        self.subject = ""
        self.components: dict[str, dict[tuple[Any, ...], Observation]] = {}
        self.env: dict[str, str] = {}
        self.facts: dict[str, FactValue] = {}
        self.evidence: dict[str, Evidence] = {}
        self.notes: list[Note] = []
        self.unknown_packages = 0
        self.adopted: Inventory | None = None
        self.shared = False
        self.state: dict[str, str] = {}

    def claim(self, line: Line) -> None:
        """Use a line up; where `shared` is set, only say that something in it was understood."""
        if self.shared:
            self.source.touch(line.number)
        else:
            self.source.claim(line.number)

    def evidence_of(self, line: Line) -> Evidence:
        """Claim a line and return it as evidence."""
        self.claim(line)
        return Evidence(self.method, self.source.where(line.number), line.text.strip()[:RAW_LIMIT])

    def component(
        self,
        component: str,
        version: str,
        line: Line,
        *,
        scope: str = "",
        path: str = "",
        loaded: bool | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        """Add one version of a component; the same version at the same path is added once."""
        version = version.strip()[:VALUE_LIMIT]
        evidence = self.evidence_of(line)
        copies = self.components.setdefault(component, {})
        key = (version, path, loaded, tuple(sorted((attributes or {}).items(), key=str)).__repr__())
        if key not in copies and len(copies) < LIST_LIMIT:
            copies[key] = Observation(
                version=version,
                scope=scope,
                path=path[:VALUE_LIMIT],
                loaded=loaded,
                evidence=evidence,
                attributes=dict(attributes or {}),
            )

    def package(
        self,
        name: str,
        version: str,
        line: Line,
        *,
        scope: str = "",
        path: str = "",
        attributes: Mapping[str, Any] | None = None,
    ) -> bool:
        """Add an installed package under the component its name belongs to; return whether there is one."""
        component = self.context.package(name)
        self.claim(line)
        if component is None:
            self.unknown_packages += 1
            return False
        known: dict[str, Any] = {"package": name[:VALUE_LIMIT], **(attributes or {})}
        line_of_cuda = name.rpartition("-cu")[2]
        if len(line_of_cuda) == 2 and line_of_cuda.isdecimal() and len(name) > 5:
            known.setdefault("cuda_major", int(line_of_cuda))
        self.component(component, version, line, scope=scope, path=path, attributes=known)
        return True

    def absent(self, component: str, line: Line) -> None:
        """Say that a component was looked for and is not there."""
        self.source.claim(line.number)
        self.components.setdefault(component, {})

    def environment(self, name: str, value: str, line: Line) -> None:
        """Set a variable; a second, different value is told in the fact `env_differs`, and the later one counts."""
        value = value[:ENVIRONMENT_LIMIT]
        if name in self.env and self.env[name] != value:
            self.add("env_differs", name, line)
        elif len(self.env) >= LIST_LIMIT:
            self.claim(line)
            return
        self.env[name] = value
        self.evidence[f"env:{name}"] = self.evidence_of(line)

    def fact(self, name: str, value: Scalar, line: Line) -> None:
        """Set a fact to a single value; a later one replaces it."""
        if isinstance(value, str):
            value = value.strip()[:VALUE_LIMIT]
        self.facts[name] = value
        self.evidence[name if ":" in name else f"fact:{name}"] = self.evidence_of(line)

    def first_fact(self, name: str, value: Scalar, line: Line) -> None:
        """Set a fact unless it is set."""
        if name in self.facts:
            self.claim(line)
        else:
            self.fact(name, value, line)

    def add(self, name: str, value: Scalar, line: Line) -> None:
        """Add a member to a list fact; evidence is that of the first."""
        if isinstance(value, str):
            value = value.strip()[:VALUE_LIMIT]
        members = self.facts.get(name)
        seen = members if isinstance(members, tuple) else ()
        evidence = self.evidence_of(line)
        if value not in seen and len(seen) < LIST_LIMIT:
            self.facts[name] = (*seen, value)
            self.evidence.setdefault(name if ":" in name else f"fact:{name}", evidence)

    def gpu(self, model: str | None, line: Line, count: int | None = None) -> None:
        """Say which GPU, and how many; the first model and the largest count stay."""
        evidence = self.evidence_of(line)
        if model and self.gpu_model is None:
            self.gpu_model = " ".join(model.split())[:VALUE_LIMIT]
            self.evidence["gpu"] = evidence
        if count is not None and 0 <= count <= 4096:
            self.gpu_count = max(count, self.gpu_count or 0)
            self.evidence.setdefault("gpu", evidence)

    def single(self, name: str, value: str, line: Line) -> None:
        """Set `instance`, `arch`, `image` or `subject`, unless it is set."""
        evidence = self.evidence_of(line)
        if not getattr(self, name):
            setattr(self, name, value.strip()[:VALUE_LIMIT])
            self.evidence[name] = evidence

    def note(self, text: str, line: Line | None = None) -> None:
        """Add a note for people."""
        where = self.source.name if line is None else self.source.where(line.number)
        if len(self.notes) < LIST_LIMIT:
            self.notes.append(Note(where, text[:RAW_LIMIT]))

    def adopt(self, inventory: Inventory) -> None:
        """Take over a whole inventory, which has its own evidence."""
        self.adopted = inventory if self.adopted is None else self.adopted.merged(inventory)

    def _say_that_the_driver_names_the_gpu(self) -> None:
        """A report that the driver itself answered for names a GPU: that driver evidently knows the board."""
        drivers = self.components.get("driver", {}).values()
        told_by = next((o.evidence for o in drivers if o.loaded and "part" not in o.attributes), None)
        if self.gpu_model and told_by is not None:
            self.facts.setdefault("driver_names_gpu", True)
            self.evidence.setdefault("fact:driver_names_gpu", told_by)

    def inventory(self) -> Inventory:
        """Return what was collected."""
        self._say_that_the_driver_names_the_gpu()
        own = Inventory(
            subject=self.subject,
            gpu_model=self.gpu_model,
            gpu_count=self.gpu_count,
            instance=self.instance,
            arch=self.arch,
            image=self.image,
            components={c: tuple(seen.values()) for c, seen in self.components.items()},
            environment=dict(self.env),
            facts=dict(self.facts),
            evidence=dict(self.evidence),
            notes=tuple(self.notes),
        )
        return own if self.adopted is None else self.adopted.merged(own)
