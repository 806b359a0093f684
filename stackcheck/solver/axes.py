"""The axes of a compatibility picture: releases of a component, GPUs, instance types or images, each as things a rule can look at.

An entry is a row or a column. It has one unit per variant (a build for a CPU architecture); a pairing of two entries is as good as
their best pair of units. A unit brings along what follows from it: the CUDA a torch build was made with, what a release pins exactly,
what an image holds. So a rule about driver and CUDA speaks about torch and driver too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.evaluate import Missing, parsed_range
from stackcheck.catalog.identify import match_build, match_release, parsed_version
from stackcheck.catalog.image_age import days, newest_first
from stackcheck.catalog.timeline import series_of
from stackcheck.model.errors import UsageError
from stackcheck.model.release import Component, Gpu, Image, Instance, Release
from stackcheck.solver.candidates import Candidate, Origin, released, shipped

AxisKind = Literal["component", "gpu", "instance", "image"]

ARCHES = ("x86_64", "aarch64")
_DEEPEST = 3  # steps from a release to what it pins, to what that pins ...


class Choice(Protocol):
    """What a head of a subject means on a unit: answers for the empty attribute and for named ones."""

    def value(self, attribute: str) -> Any:
        """Return the value, or a `Missing`."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """A thing with a name and attributes: a GPU, an instance type, an image, a CPU architecture."""

    name: Any
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def value(self, attribute: str) -> Any:
        """Return the name for the empty attribute, else the attribute, or unknown."""
        if not attribute:
            return self.name
        found = self.attributes.get(attribute)
        return Missing.UNKNOWN if found is None else found


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """One variant of an entry, with everything that rules may ask of it by head of the subject."""

    label: str
    holds: Mapping[str, Choice]
    arches: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A row or column: its label, what orders and groups it, and its variants."""

    id: str
    label: str
    group: str
    """The series it belongs to (2.11, branch 580, p5); folding keeps the newest of each."""
    date: str
    units: tuple[Unit, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Axis:
    """What stands along one side of the picture, newest first."""

    kind: AxisKind
    name: str
    title: str
    entries: tuple[Entry, ...]

    def folded(self) -> Axis:
        """Return the axis with the newest entry of each series alone."""
        newest: dict[str, Entry] = {}
        for entry in self.entries:
            newest.setdefault(entry.group, entry)
        return Axis(self.kind, self.name, self.title, tuple(newest.values()))


def axis(catalog: Catalog, name: str, *, without: Sequence[str] = ()) -> Axis:
    """Return the axis of that name: `gpu`, `instance`, `image`, `image:ngc`, or a component id or alias.

    `without` names components that units must not bring along, since they are the other axis.

    Raises:
        UsageError: nothing has that name.
    """
    head, _, family = name.strip().lower().partition(":")
    if head == "gpu":
        return Axis("gpu", "gpu", "GPU", tuple(gpu_entry(g) for g in catalog.gpus()))
    if head == "instance":
        return Axis(
            "instance", "instance", "instance type", tuple(_instance(catalog, i) for i in catalog.instances())
        )
    if head == "image":
        return _images(catalog, family, frozenset(without))
    component = catalog.component(name) or catalog.component(catalog.aliases.get(head.replace("_", "-"), ""))
    if component is None:
        near = catalog.nearest(name, (*catalog.component_ids, "gpu", "instance", "image"))
        raise UsageError(
            f"no axis {name[:60]!r}", fix=f"try {', '.join(near) or 'gpu, instance, image, torch'}"
        )
    entries = tuple(_release(catalog, component, r, frozenset(without)) for r in reversed(component.releases))
    return Axis("component", component.id, component.name, tuple(e for e in entries if e.units))


def axis_names(catalog: Catalog) -> tuple[str, ...]:
    """Return every name that `axis` takes for this catalog and that has entries."""
    families = dict.fromkeys(i.family for i in catalog.images)
    components = [c.id for c in catalog.components() if c.releases]
    return ("gpu", "instance", *(f"image:{f}" for f in families), *components)


# GPUs and instance types


def gpu_heads(gpu: Gpu) -> dict[str, Choice]:
    """Return what a GPU answers for."""
    heads: dict[str, Choice] = {"gpu": Fixed(gpu.id, {**gpu.attributes, "name": gpu.name})}
    arches = gpu.attributes.get("arch")
    if isinstance(arches, frozenset) and len(arches) == 1:
        heads["arch"] = Fixed(next(iter(arches)))
    return heads


def gpu_entry(gpu: Gpu) -> Entry:
    """Return the entry of a GPU."""
    arches = frozenset(map(str, gpu.attributes.get("arch") or ARCHES))
    return Entry(gpu.id, gpu.id, gpu.architecture, "", (Unit(gpu.id, gpu_heads(gpu), arches),), gpu.name)


def _instance(catalog: Catalog, instance: Instance) -> Entry:
    gpu = catalog.gpu(instance.gpu)
    attributes = {**instance.attributes, "family": instance.family, "gpu_count": instance.gpu_count}
    heads = gpu_heads(gpu) if gpu is not None else {}
    heads["instance"] = Fixed(instance.id, attributes)
    if instance.gpu_count is not None:
        heads["gpu_count"] = Fixed(instance.gpu_count)
    arch = instance.attributes.get("arch")
    if arch:
        heads["arch"] = Fixed(str(arch))
    arches = frozenset((str(arch),)) if arch else frozenset(ARCHES)
    unit = Unit(instance.id, heads, arches)
    return Entry(instance.id, instance.id, instance.family, "", (unit,), gpu.name if gpu else "")


# releases


def _release(catalog: Catalog, component: Component, release: Release, without: frozenset[str]) -> Entry:
    units: dict[str, Unit] = {}
    for arch in ARCHES:
        for candidate in released(_only(component, release), arch):
            key = candidate.text if candidate.build is None else f"{candidate.text}/{arch}"
            if key not in units:
                arches = frozenset((arch,)) if candidate.build else _arches(release)
                heads = _entailed(catalog, candidate, arch, without)
                units[key] = Unit(_unit_label(candidate), heads, arches)
    return Entry(
        release.version.text,
        release.version.text,
        series_of(release),
        release.date,
        tuple(units.values()),
        "yanked" if release.yanked else "",
    )


def _unit_label(candidate: Candidate) -> str:
    return candidate.text if candidate.build is None else f"{candidate.version}+{candidate.build.label}"


def _only(component: Component, release: Release) -> Component:

    return component._replace(releases=(release,))


def _arches(release: Release) -> frozenset[str]:
    known = release.attributes.get("arch")
    return known if isinstance(known, frozenset) and known else frozenset(ARCHES)


def _entailed(
    catalog: Catalog, candidate: Candidate, arch: str, without: frozenset[str]
) -> dict[str, Choice]:
    """Return a candidate and what follows from it, by component: what it pins, bundles, or was built with."""
    heads: dict[str, Choice] = {candidate.component: candidate}
    front = [candidate]
    for _ in range(_DEEPEST):
        following: list[Candidate] = []
        for one in front:
            for name, text in _pins(catalog, one):
                if name in heads or name in without:
                    continue
                other = _meant(catalog, name, text, arch)
                if other is not None:
                    heads[name] = other
                    following.append(other)
        front = following
    return heads


def _pins(catalog: Catalog, candidate: Candidate) -> list[tuple[str, str]]:
    """Return component and range of everything that comes with a candidate in one exact version."""
    found: list[tuple[str, str]] = []
    for row in candidate.requires or ():
        exact = row.range.startswith("==") and "," not in row.range and "|" not in row.range
        if exact and not (row.extra or row.optional or row.python) and row.component != "python":
            found.append((row.component, row.range))
    bundles = candidate.release.bundles if candidate.release else None
    found += [(name, f"=={version}") for name, version in (bundles or {}).items()]
    for row in catalog.policy.get("derive", ()):
        name, _, attribute = str(row["from"]).partition(".")
        value = candidate.value(attribute) if name == candidate.component else Missing.UNKNOWN
        if not isinstance(value, Missing):
            found.append((str(row["component"]), f"=={value}.*"))
    return found


def _meant(catalog: Catalog, name: str, text: str, arch: str) -> Candidate | None:
    """Return the newest release in a range, in the build that an installer takes, as a candidate."""
    component = catalog.component(name)
    bounds = parsed_range(text, component.scheme) if component else None
    if component is None or bounds is None:
        return None
    label = text.rpartition("+")[2] if "+" in text else ""
    for release in reversed(component.releases):
        if release.version in bounds or (label and release.version.text == text[2:].partition("+")[0]):
            candidates = released(_only(component, release), arch)
            named = [c for c in candidates if c.build is not None and c.build.label == label]
            return next(iter(named or candidates), None)
    return None


# images


def _images(catalog: Catalog, family: str, without: frozenset[str]) -> Axis:
    chosen = [i for i in catalog.images if not family or i.family == family]
    if not chosen:
        known = ", ".join(dict.fromkeys(i.family for i in catalog.images))
        raise UsageError(f"no images of family {family[:40]!r}", fix=f"families: {known}")
    places = newest_first(chosen, days(catalog, chosen))
    title = f"{family.upper()} image" if family else "image"
    entries = tuple(image_entry(catalog, chosen[p], without=without) for p in places)
    return Axis("image", f"image:{family}" if family else "image", title, entries)


def image_entry(catalog: Catalog, image: Image, *, without: frozenset[str] = frozenset()) -> Entry:
    """Return the entry of an image: it answers for everything it is known to hold."""
    arches = frozenset(image.arch) or frozenset(ARCHES)
    arch = ARCHES[0] if ARCHES[0] in arches else min(arches)
    heads: dict[str, Choice] = {"image": Fixed(image.name, image.attributes)}
    for name in (*image.contents, "os"):
        component = catalog.component(name)
        text = image.os if name == "os" else image.contents.get(name, "")
        candidate = shipped(component, text, image, arch) if component is not None and text else None
        if candidate is not None:
            heads[name] = candidate
    for name in image.absent:
        if name not in heads and name not in without:
            heads[name] = Candidate(name, Origin.ABSENT)
    short = image.repository.rpartition("/")[2]
    label = f"{short}:{image.tag}"
    return Entry(image.name, label, image.repository, image.date, (Unit(label, heads, arches),), image.family)


def gpu_of(catalog: Catalog, unit: Unit) -> Gpu | None:
    """Return the GPU of a unit that has one: itself, or that of the instance type."""
    head = unit.holds.get("gpu")
    return catalog.gpu(str(head.value(""))) if head is not None else None


def candidates_of(unit: Unit) -> Mapping[str, Candidate]:
    """Return what a unit holds of components that are there, by component."""
    return {n: c for n, c in unit.holds.items() if isinstance(c, Candidate) and c.version is not None}


def version_candidate(component: Component, text: str, arch: str) -> Candidate | None:
    """Return the candidate of a version as a person writes it: a release, else that version by range alone."""
    version = parsed_version(component, text)
    if version is None:
        return None
    release = match_release(component, version)
    build = match_build(release, version, arch, None) if release else None
    attributes = {**(release.attributes if release else {}), **(build.attributes if build else {})}
    return Candidate(component.id, Origin.RELEASE, version, release, build, attributes, None)
