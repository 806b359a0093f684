"""The catalog: everything the matrices say, read when first asked for, never changed.

A command that needs four components parses four files; `Catalog.everything()` reads all.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any, Protocol

from stackcheck.catalog import parse, parse_rule
from stackcheck.catalog.rulebook import Rulebook
from stackcheck.model.errors import MatrixError
from stackcheck.model.release import Component, Gpu, Image, Instance
from stackcheck.model.rule import TARGET_SUBJECTS, Rule, Signature

INDEX = "index.json"
BOARDS = "boards.json"
"""Names of components, made from the components by `stackcheck matrices index`."""


class Store(Protocol):
    """Where matrix files come from: a directory, a zip, a dictionary in a test."""

    @property
    def is_one_set(self) -> bool:
        """Whether all files are of one data set, so that its index covers them."""
        ...

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the sorted names of the JSON files below a folder."""
        ...

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        ...

    def read(self, name: str) -> Any:
        """Return the JSON value of a file."""
        ...

    def size(self, name: str) -> int:
        """Return the bytes of a file that is there."""
        ...

    def text(self, name: str) -> str:
        """Return a small text file, or an empty text."""
        ...


def normalised(name: str) -> str:
    """Return a name in the form in which aliases are compared: lower case, `-` for `_`, `.` and blanks."""
    return "-".join(name.lower().replace("_", "-").replace(".", "-").split())


class Catalog:
    """Immutable view of the matrices; see the module for how it reads."""

    def __init__(self, store: Store, overlay: str = "") -> None:
        """Read from `store` on demand; `overlay` is the name of what lies over its data set."""
        self._store = store
        self.overlay = overlay
        self._components: dict[str, Component | None] = {}
        self._gpus: dict[str, Gpu | None] = {}
        self._instances: dict[str, Instance | None] = {}

    @cached_property
    def version(self) -> str:
        """Calendar version of the data, e.g. 2026.11.29."""
        return self._store.text("VERSION")

    @property
    def edition(self) -> str:
        """The version, and the overlay without which an answer may be another."""
        return f"{self.version} + overlay {self.overlay}" if self.overlay else self.version

    @cached_property
    def component_ids(self) -> tuple[str, ...]:
        """All component ids, sorted."""
        return tuple(n.removesuffix(".json") for n in self._store.names("components"))

    def component(self, name: str) -> Component | None:
        """Return the component of this id, or None."""
        if name not in self._components:
            file = f"components/{name}.json"
            known = name in self.component_ids
            self._components[name] = (
                parse.component(self._store.read(file), f"matrices/{file}") if known else None
            )
        return self._components[name]

    def components(self) -> tuple[Component, ...]:
        """Return all components; reads every file."""
        return tuple(c for c in map(self.component, self.component_ids) if c is not None)

    @cached_property
    def gpu_ids(self) -> tuple[str, ...]:
        """All GPU ids, sorted."""
        return tuple(n.removesuffix(".json") for n in self._store.names("gpus"))

    def gpu(self, name: str) -> Gpu | None:
        """Return the GPU of this id, or None."""
        if name not in self._gpus:
            file = f"gpus/{name}.json"
            known = name in self.gpu_ids
            self._gpus[name] = parse.gpu(self._store.read(file), f"matrices/{file}") if known else None
        return self._gpus[name]

    def gpus(self) -> tuple[Gpu, ...]:
        """Return all GPUs."""
        return tuple(g for g in map(self.gpu, self.gpu_ids) if g is not None)

    def find_gpu(self, name: str) -> Gpu | None:
        """Return the GPU known under this id, alias or marketing name ("NVIDIA H100 80GB HBM3"), or None."""
        wanted = normalised(name).partition("-mig-")[0]  # a slice of a GPU is named after the whole
        if wanted in self.gpu_ids:
            return self.gpu(wanted)
        return self._gpu_names.get(wanted) or self._gpu_names.get(wanted.removeprefix("nvidia-"))

    @cached_property
    def gpu_names(self) -> Mapping[str, str]:
        """Every name under which a GPU is known, in lower case, to its id."""
        return {a.lower(): g.id for g in self.gpus() for a in (g.id, g.name, *g.aliases)}

    @cached_property
    def _gpu_names(self) -> Mapping[str, Gpu]:
        names: dict[str, Gpu] = {}
        for gpu in self.gpus():
            for alias in (gpu.id, gpu.name, *gpu.aliases):
                names.setdefault(normalised(alias), gpu)
                names.setdefault(normalised(alias).removeprefix("nvidia-"), gpu)
        return names

    def board_capability(self, name: str) -> str | None:
        """Return the compute capability of a board that has no file of its own ("NVIDIA GeForce RTX 5090"), or None."""
        wanted = normalised(name)
        for word in self._board_prefixes.get("left_out", ()):
            wanted = wanted.removeprefix(f"{word}-")
        for form in (wanted, *(f"{word}-{wanted}" for word in self._board_prefixes.get("implied", ()))):
            fitting = [known for known in self._boards if form == known or form.startswith(f"{known}-")]
            if fitting:
                return self._boards[max(fitting, key=len)]
        return None

    @cached_property
    def _board_file(self) -> Mapping[str, Any]:
        body: Mapping[str, Any] = self._store.read(BOARDS) if self._store.exists(BOARDS) else {}
        return body

    @property
    def _board_prefixes(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._board_file.get("prefixes") or {}
        return found

    @cached_property
    def _boards(self) -> Mapping[str, str]:
        rows = self._board_file.get("boards", ())
        return {normalised(n): str(row["capability"]) for row in rows for n in row["names"]}

    @cached_property
    def instance_ids(self) -> tuple[str, ...]:
        """All instance type ids, sorted."""
        return tuple(n.removesuffix(".json") for n in self._store.names("instances"))

    def instance(self, name: str) -> Instance | None:
        """Return the instance type of this id, or None; SageMaker puts `ml.` before the name of EC2."""
        name = name.removeprefix("ml.")
        if name not in self._instances:
            file = f"instances/{name}.json"
            known = name in self.instance_ids
            self._instances[name] = (
                parse.instance(self._store.read(file), f"matrices/{file}") if known else None
            )
        return self._instances[name]

    def instances(self) -> tuple[Instance, ...]:
        """Return all instance types."""
        return tuple(i for i in map(self.instance, self.instance_ids) if i is not None)

    @cached_property
    def images(self) -> tuple[Image, ...]:
        """All images of all families."""
        found: list[Image] = []
        for name in self._store.names("images"):
            if "/" in name:
                found.extend(parse.images(self._store.read(f"images/{name}"), f"matrices/images/{name}"))
        return tuple(found)

    def find_image(self, reference: str) -> Image | None:
        """Return the image that a reference means: full, public, or `repository:tag` with any registry and region before it."""
        wanted = reference.strip().partition("@")[0]
        if not wanted:
            return None
        tail = "/".join(wanted.split("/")[-2:])
        short = wanted.rpartition("/")[2]
        best: Image | None = None
        for image in self.images:
            names = [image.name, image.reference, image.public_reference]
            names += [f"{image.repository}:{t}" for t in image.other_tags]
            if wanted in names:
                return image
            if best is None and any(
                n and (n.endswith(f"/{tail}") or n.rpartition("/")[2] == short) for n in names
            ):
                best = image
        return best

    @cached_property
    def families(self) -> Mapping[str, Any]:
        """What each image family implies (images/families.json)."""
        body = self._store.read("images/families.json") if self._store.exists("images/families.json") else {}
        return dict(body.get("families", body))

    def told_by_tag(self, reference: str) -> Mapping[str, str]:
        """Return what an image's tag itself says is inside, by component: the rows `tags` of images/families.json that fit."""
        name = reference.strip().partition("@")[0]
        rows = [row for family in self.families.values() for row in family.get("tags", ())]
        try:
            fitting = [(row, found) for row in rows if (found := re.search(row["pattern"], name))]
            return {c: found.expand(text) for row, found in fitting for c, text in row["contents"].items()}
        except (re.error, IndexError) as fault:
            raise MatrixError(
                f"images/families.json: what a tag tells cannot be read: {fault}",
                fix="see `stackcheck matrices lint`",
            ) from fault

    @cached_property
    def rulebook(self) -> Rulebook:
        """The rules and advisories, parsed on demand."""
        return Rulebook(self._store, self.rule_index)

    @property
    def rule_index(self) -> Mapping[str, Any]:
        """What index.json says about the files of rules; empty if there is none that covers all of the data."""
        found: Mapping[str, Any] = self._index.get("rules") or {}
        return found

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """All rules and advisories, sorted by id."""
        return self.rulebook.all()

    def stack_rules(self, components: Collection[str]) -> tuple[Rule, ...]:
        """Return the rules that can fire on a stack of these components, sorted by id."""

        def known(subject: str) -> bool:
            head = subject.partition(".")[0]
            return ":" not in subject and (head in components or head in TARGET_SUBJECTS)

        return self.rulebook.about(known, stacks_only=True)

    def rule(self, name: str) -> Rule | None:
        """Return the rule or advisory of this id, or None."""
        return self.rulebook.rule(name)

    @cached_property
    def signatures(self) -> tuple[Signature, ...]:
        """All line signatures."""
        found: list[Signature] = []
        for name in self._store.names("signatures"):
            found.extend(
                parse_rule.signatures(self._store.read(f"signatures/{name}"), f"matrices/signatures/{name}")
            )
        return tuple(found)

    @cached_property
    def policy(self) -> Mapping[str, Any]:
        """The resolver's defaults and orders (policy.json)."""
        body: Mapping[str, Any] = self._store.read("policy.json")
        return body

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """Every name under which a component is known, normalised, to its id.

        Taken from index.json where the data set has one that covers all of it: reading every component for its names would cost each
        check more than the check itself.
        """
        index = self._index.get("aliases")
        return index if index is not None else self.gathered_aliases()

    def gathered_aliases(self) -> dict[str, str]:
        """Return the aliases read from the components themselves; what index.json is made of."""
        names: dict[str, str] = {}
        for component in self.components():
            for alias in (component.id, component.name, *component.aliases):
                names.setdefault(normalised(alias), component.id)
            for package in component.packages:
                names.setdefault(normalised(package.rpartition("/")[2]), component.id)
        names.update({i: i for i in self.component_ids})
        return dict(sorted(names.items()))

    @cached_property
    def _index(self) -> Mapping[str, Any]:
        if not self._store.is_one_set or not self._store.exists(INDEX):
            return {}
        body: Mapping[str, Any] = self._store.read(INDEX)
        return body

    def nearest(self, name: str, among: tuple[str, ...]) -> tuple[str, ...]:
        """Return up to three known names that look like `name`, best first."""
        import difflib  # only when somebody mistyped

        return tuple(difflib.get_close_matches(normalised(name), among, n=3, cutoff=0.5))
