"""An inventory as a view for rules: what each subject means on this node, and where that was seen."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from stackcheck.catalog.catalog import Catalog, normalised
from stackcheck.catalog.evaluate import Missing
from stackcheck.catalog.identify import local_attributes, match_build, match_release, parsed_version
from stackcheck.catalog.parse import ATTRIBUTE_TYPES
from stackcheck.check.image import image_contents
from stackcheck.model.gpucode import Capability
from stackcheck.model.inventory import Evidence, Inventory, Observation
from stackcheck.model.release import Build, Component, Gpu, Image, Instance, Release
from stackcheck.model.rule import head_of
from stackcheck.model.version import Version, cudnn_from_code, nccl_from_code

_FACT_PREFIXES = ("log", "limit", "module", "service", "device", "file")
_LISTS = ("targets", "strings", "ints")
_WORDS = {
    "enabled": True,
    "on": True,
    "yes": True,
    "true": True,
    "disabled": False,
    "off": False,
    "no": False,
    "false": False,
}
_CODINGS: Mapping[str, Callable[[int], str]] = {"cudnn": cudnn_from_code, "nccl": nccl_from_code}

# `9.0`, `sm_100`, `sm_103a`, `121`
_CAPABILITY = re.compile(r"(?:sm_?)?(\d{1,2})\.?(\d)[af]?\Z", re.IGNORECASE)


class Seen:
    """One component as it counts on this node: the observation that matters, and the release and build it means."""

    def __init__(
        self,
        component: Component,
        observation: Observation,
        cuda: str | None,
        arch: str | None,
        lent: Mapping[str, Any] | None = None,
        numbered_by: str = "",
    ) -> None:
        """Identify an observation; a version that cannot be parsed leaves everything unknown.

        Which build of a release it is follows from its label or CUDA; the index's default one is meant only by what was installed as
        a package. `lent` are attributes that something else on the node told: the list of architectures that torch printed. `numbered_by`
        is an attribute whose value is the major version by which the thing is known too: the driver branch of a compat library.
        """
        self.component = component
        self.observation = observation
        self._lent = lent or {}
        self.version: Version | None = (
            parsed_version(component, observation.version) if observation.version else None
        )
        self.release: Release | None = match_release(component, self.version) if self.version else None
        self.is_numbered_otherwise = False
        if self.release is None and self.version is not None and numbered_by:
            major = self.version.major
            self.release = next(
                (r for r in component.releases if r.attributes.get(numbered_by) == major), None
            )
            self.is_numbered_otherwise = self.release is not None
        self.build: Build | None = None
        if self.release is not None and self.version is not None:
            wanted = _cuda_of(observation) or cuda
            self.build = self._build(self.release, self.version, arch, wanted)

    @property
    def is_published(self) -> bool:
        """Whether it is, as far as one can see, the release that its project published: no vendor's build, no bare claim."""
        if self.version is None or self.version.is_prerelease:
            return False
        if self.version.local and self.component.scheme == "pep440" and self.build is None:
            return False
        return (
            bool(self.observation.attributes.get("package"))
            or self.observation.evidence.method != "inventory"
        )

    def _build(self, release: Release, version: Version, arch: str | None, cuda: str | None) -> Build | None:
        published = bool(version.local or self.observation.attributes.get("package"))
        if not published and not cuda:
            return None
        build = match_build(release, version, arch, cuda)
        if build is not None and not published and not {"cuda", "cuda_major"} & build.attributes.keys():
            return None  # the default without CUDA is not what runs beside CUDA
        return build

    @cached_property
    def attributes(self) -> Mapping[str, Any]:
        """What is known of it: the release's facts, the build's over them, what the place itself says over both."""
        known: dict[str, Any] = {}
        if self.release is not None:
            known.update(self.release.attributes)
            if self.build is None and self.release.builds:
                known.update(_agreed(self.release.builds))
        elif self.version is not None and not self.version.is_prerelease:
            known.update(self._agreed_by_prefix(self.version))
        if self.build is not None:
            known.update(self.build.attributes)
        if self.version is not None:
            known.update(local_attributes(self.component, self.version))
        known.update(self._observed())
        return known

    def _agreed_by_prefix(self, version: Version) -> dict[str, Any]:
        """Return what all releases agree on whose version begins with a shorter one: `12.8` of 12.8.0, 12.8.1."""
        length = len(version.release)
        matching = [r for r in self.component.releases if r.version.release[:length] == version.release]
        if not matching:
            return {}
        first, *others = matching
        return {n: v for n, v in first.attributes.items() if all(o.attributes.get(n) == v for o in others)}

    def _observed(self) -> dict[str, Any]:
        observed: dict[str, Any] = {}
        for name, value in {**self.observation.attributes, **self._lent}.items():
            kind = self.component.attribute_types.get(name)
            if kind is None:
                observed[name] = frozenset(map(str, value)) if isinstance(value, list | tuple) else value
                continue
            if isinstance(value, str) and kind in _LISTS:
                value = value.replace(",", " ").split()
            try:
                observed[name] = ATTRIBUTE_TYPES[kind](value)
            except (ValueError, TypeError, AttributeError, OverflowError):  # whatever a document holds there
                continue
        return observed


def _cuda_of(observation: Observation) -> str | None:
    cuda = observation.attributes.get("cuda")
    return str(cuda) if cuda else None


def _agreed(builds: tuple[Build, ...]) -> dict[str, Any]:
    """Return the attributes that every build of a release has in common."""
    first, *others = builds
    return {n: v for n, v in first.attributes.items() if all(o.attributes.get(n) == v for o in others)}


class Node:
    """What subjects mean on one node; a `View` for the evaluator."""

    def __init__(self, catalog: Catalog, inventory: Inventory) -> None:
        """Hold `inventory` against `catalog`."""
        self.catalog = catalog
        self.inventory = inventory
        self._seen: dict[str, Seen | None] = {}
        self._known: dict[str, bool] = {}

    @cached_property
    def observations(self) -> Mapping[str, tuple[Observation, ...]]:
        """Observations by component id, with aliases resolved and what follows from others added."""
        known: dict[str, tuple[Observation, ...]] = {}
        for name, seen in self.inventory.components.items():
            known_id = name in self.catalog.component_ids
            component_id = name if known_id else self.catalog.aliases.get(normalised(name), name)
            known[component_id] = known.get(component_id, ()) + tuple(
                self._read(component_id, o) for o in seen
            )
        known |= image_contents(self.catalog, self.inventory, self.image, known)
        for row in self.catalog.policy.get("derive", ()):
            self._derive(known, row["component"], row["from"])
        return known

    def _read(self, component_id: str, observation: Observation) -> Observation:
        """Return an observation in the words of the matrices: integer codes as versions, attributes as the matrices spell them."""
        coding = _CODINGS.get(self.catalog.policy.get("version_codes", {}).get(component_id, ""))
        if coding is not None and observation.version.isdecimal() and 4 <= len(observation.version) <= 9:
            observation = observation._replace(version=coding(int(observation.version)))
        told_by = self.catalog.policy.get("told_by", {}).get(component_id)
        if told_by is not None:
            observation = self._translated(component_id, observation, told_by)
        words = self.catalog.policy.get("attribute_words", {})
        if not words.keys() & observation.attributes.keys():
            return observation
        spelt = {
            n: words.get(n, {}).get(v, v) if isinstance(v, str) else v
            for n, v in observation.attributes.items()
        }
        return observation._replace(attributes=spelt)

    def _translated(self, component_id: str, observation: Observation, attribute: str) -> Observation:
        """Return an observation whose version counts something else than the component's releases do: libstdc++ by its GCC.

        It means the newest release that is not newer in that attribute; if it is older than all known, the version is left out.
        """
        component = self.catalog.component(component_id)
        seen = parsed_version(component, observation.version) if component and observation.version else None
        if component is None or seen is None or seen.major <= component.releases[-1].version.major:
            return observation
        fitting = [
            r
            for r in component.releases
            if isinstance(of := r.attributes.get(attribute), Version) and of.public <= seen.public
        ]
        return observation._replace(version=fitting[-1].version.text if fitting else "")

    def _derive(self, known: dict[str, tuple[Observation, ...]], target: str, source: str) -> None:
        name, _, attribute = source.partition(".")
        if target in known or not known.get(name):
            return
        component = self.catalog.component(name)
        if component is None:
            return
        first = _primary(known[name])
        value = Seen(component, first, None, self.arch).attributes.get(attribute)
        local_says = bool(component) and first.version.partition("+")[2]
        if value is not None and local_says:
            method = Evidence("derived", first.evidence.where, f"{name} {first.version}")
            known[target] = (Observation(version=str(value), evidence=method, scope="container"),)

    @cached_property
    def gpu(self) -> Gpu | None:
        """The GPU model, by name or by instance type; None if neither is known."""
        if self.inventory.gpu_model:
            found = self.catalog.find_gpu(self.inventory.gpu_model)
            if found is not None:
                return found
        return self.catalog.gpu(self.instance.gpu) if self.instance else None

    @cached_property
    def instance(self) -> Instance | None:
        """The instance type, if the inventory names one that is known."""
        return self.catalog.instance(self.inventory.instance) if self.inventory.instance else None

    @cached_property
    def image(self) -> Image | None:
        """The image, if the inventory names one that is known."""
        return self.catalog.find_image(self.inventory.image) if self.inventory.image else None

    @cached_property
    def arch(self) -> str | None:
        """The CPU architecture, said or implied by instance type or GPU."""
        if self.inventory.arch:
            return {"amd64": "x86_64", "arm64": "aarch64"}.get(self.inventory.arch, self.inventory.arch)
        if self.instance and self.instance.attributes.get("arch"):
            return str(self.instance.attributes["arch"])
        kinds = self.gpu.attributes.get("arch") if self.gpu else None
        return str(next(iter(kinds))) if isinstance(kinds, frozenset) and len(kinds) == 1 else None

    def seen(self, component_id: str) -> Seen | None:
        """Return a component as it counts here, or None if it was not seen."""
        if component_id not in self._seen:
            observations = self.observations.get(component_id)
            component = self.catalog.component(component_id) if observations else None
            found = None
            if observations and component is not None:
                cuda = None
                if component_id != "cuda" and self.observations.get("cuda"):
                    cuda = _primary(self.observations["cuda"]).version
                found = Seen(
                    component,
                    self._counting(component_id, observations),
                    cuda,
                    self.arch,
                    self._lent(component_id, observations),
                    self.catalog.policy.get("numbered_by", {}).get(component_id, ""),
                )
            self._seen[component_id] = found
        return self._seen[component_id]

    def _counting(self, component_id: str, observations: tuple[Observation, ...]) -> Observation:
        """Return the observation that counts, whatever the order of the texts where a node runs one version at a time."""
        running = self.running(component_id)
        return min(running, key=lambda r: r[0].key)[1] if running else _primary(observations)

    def running(self, component_id: str) -> tuple[tuple[Version, Observation], ...]:
        """Return the observations of what a node runs in one version at a time, if it is such a thing and several are told."""
        component = self.catalog.component(component_id)
        if component is None or component_id not in self.catalog.policy.get("one_at_a_time", ()):
            return ()
        read = [
            (version, o)
            for o in self.observations.get(component_id, ())
            if "part" not in o.attributes
            and o.version
            and (version := parsed_version(component, o.version)) is not None
        ]
        loaded = [r for r in read if r[1].loaded]
        kept = loaded or [r for r in read if r[1].loaded is None]
        return tuple(kept) if len({v.public for v, _ in kept}) > 1 else ()

    def _lent(self, component_id: str, observations: tuple[Observation, ...]) -> dict[str, Any]:
        """Return the attributes that facts tell of a component, by the policy's table; only of the one copy there is."""
        if len({o.version for o in observations}) > 1:
            return {}
        lent: dict[str, Any] = {}
        for row in self.catalog.policy.get("lend", ()):
            if row["component"] == component_id:
                value = self.value(row["from"])
                if not isinstance(value, Missing):
                    lent.setdefault(row["attribute"], value)
        return lent

    def knows(self, subject: str) -> bool:
        """Whether a subject has a value here, be it that it is absent."""
        if subject not in self._known:
            self._known[subject] = self.value(subject) is not Missing.UNKNOWN
        return self._known[subject]

    def value(self, subject: str) -> Any:
        """Return what a subject means here, or a `Missing`."""
        prefix, colon, rest = subject.partition(":")
        if colon:
            return self._fact(prefix, rest, subject)
        head, _, attribute = subject.partition(".")
        match head:
            case "gpu":
                return self._gpu(attribute)
            case "instance":
                return self._instance(attribute)
            case "image":
                return self._image(attribute)
            case "arch":
                return self.arch or Missing.UNKNOWN
            case "gpu_count":
                count = self.inventory.gpu_count
                return Missing.UNKNOWN if count is None else count
        return self._component(head, attribute)

    def _fact(self, prefix: str, rest: str, subject: str) -> Any:
        if prefix == "env":
            return self.inventory.environment.get(rest, self._unset())
        names = (subject,) if prefix in _FACT_PREFIXES else (rest, subject)
        for name in names:
            if name in self.inventory.facts:
                value = self.inventory.facts[name]
                if prefix == "fact" and isinstance(value, str):
                    value = _WORDS.get(value.strip().lower(), value)
                return Missing.ABSENT if value is None else value
        return Missing.UNKNOWN

    def _unset(self) -> Missing:
        whole = self.inventory.facts.get("environment_complete")
        return Missing.ABSENT if whole is True else Missing.UNKNOWN

    def _gpu(self, attribute: str) -> Any:
        if self.gpu is None:
            if attribute == "capability":
                return self._capability
            if attribute in self.catalog.policy.get("shared_by_capability", ()):
                return self._of_capability(attribute)
            return self._board[0] if self._board and attribute in ("", "name") else Missing.UNKNOWN
        if not attribute:
            return self.gpu.id
        return self.gpu.name if attribute == "name" else self.gpu.attributes.get(attribute, Missing.UNKNOWN)

    def _of_capability(self, attribute: str) -> Any:
        """What all GPUs of the same compute capability that have rows agree on."""
        values = {
            gpu.attributes.get(attribute)
            for gpu in self.catalog.gpus()
            if gpu.attributes.get("capability") == self._capability
        }
        value = values.pop() if len(values) == 1 else None
        return Missing.UNKNOWN if value is None else value

    @cached_property
    def _capability(self) -> Any:
        """The compute capability of a GPU that has no rows of its own, by the facts that the policy names or by its model."""
        for subject in self.catalog.policy.get("gpu_capability", ()):
            value = self.value(subject)
            if isinstance(value, str) and (match := _CAPABILITY.match(value)):
                return Capability(int(match[1]), int(match[2]))
        return Capability.parse(self._board[1]) if self._board else Missing.UNKNOWN

    @cached_property
    def _board(self) -> tuple[str, str] | None:
        """Name and compute capability of a GPU that has no rows of its own, but whose model is known."""
        model = self.inventory.gpu_model
        capability = self.catalog.board_capability(model) if model else None
        return (model, capability) if model and capability else None

    def _instance(self, attribute: str) -> Any:
        if self.instance is None:
            return Missing.UNKNOWN
        if attribute == "family":
            return self.instance.family
        if attribute == "gpu_count":
            return self.instance.gpu_count if self.instance.gpu_count is not None else Missing.UNKNOWN
        return self.instance.attributes.get(attribute, Missing.UNKNOWN) if attribute else self.instance.id

    def _image(self, attribute: str) -> Any:
        if self.image is not None:
            return self.image.attributes.get(attribute, Missing.UNKNOWN) if attribute else self.image.name
        return self.inventory.image if self.inventory.image and not attribute else Missing.UNKNOWN

    def _component(self, name: str, attribute: str) -> Any:
        observations = self.observations.get(name)
        if observations is None:
            return Missing.UNKNOWN
        if not observations:
            return Missing.ABSENT
        if attribute == "copies":
            return len({o.version for o in observations if o.version})
        if attribute == "pin":
            return self._pin(name)
        if attribute == "packages":
            return frozenset(
                normalised(str(o.attributes["package"])) for o in observations if o.attributes.get("package")
            )
        seen = self.seen(name)
        if seen is None:
            return Missing.UNKNOWN
        if attribute == "local":
            return seen.version.local if seen.version else Missing.UNKNOWN
        if attribute:
            return seen.attributes.get(attribute, Missing.UNKNOWN)
        return seen.version if seen.version is not None else _present(seen)

    def _pin(self, name: str) -> Any:
        """Return how the metadata of something installed here pins a component (`nvidia-nccl-cu13==2.30.7`), if one way only."""
        pins = {
            str(pin)
            for observations in self.observations.values()
            for o in observations
            for pin in o.attributes.get("pins") or ()
        }
        of_it = [
            p
            for p in pins
            if self.catalog.aliases.get(normalised(p.partition("==")[0]), p.partition("==")[0]) == name
        ]
        return of_it[0] if len(of_it) == 1 else Missing.UNKNOWN

    def evidence(self, subject: str) -> Evidence | None:
        """Return where a subject was seen."""
        head = head_of(subject)
        known = self.inventory.evidence.get(head)
        if known is not None:
            return known
        observations = self.observations.get(head)
        if observations:
            return _primary(observations).evidence
        if head in ("instance", "arch", "image"):
            return self.inventory.evidence.get("gpu")
        return None


def _present(seen: Seen) -> Any:
    """A component that is there in a version nobody can read: present, but in no range."""
    return seen.observation.version or "present"


def _primary(observations: tuple[Observation, ...]) -> Observation:
    """Return the observation that counts: what is loaded, then what sits in the container, then what came first."""

    def rank(item: tuple[int, Observation]) -> tuple[bool, bool, bool, int]:
        position, seen = item
        return (seen.loaded is not True, not seen.version, seen.scope == "host", position)

    return min(enumerate(observations), key=rank)[1]
