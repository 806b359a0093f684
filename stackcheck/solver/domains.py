"""Which choices a question has, their candidates, and the order of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.evaluate import Missing, truth
from stackcheck.catalog.parse_rule import condition
from stackcheck.model.release import Component, Gpu, Image, Instance
from stackcheck.model.version import Version
from stackcheck.solver.candidates import (
    Candidate,
    Origin,
    absent,
    asked,
    newest_first,
    released,
    same_shipment,
    shipped,
    unstated,
)
from stackcheck.solver.request import Request, Wish
from stackcheck.solver.shelf import ImageCandidate, Shelf

IMAGE = "image"


class Choice(Protocol):
    """A candidate of any variable: answers what a subject means on it."""

    def value(self, attribute: str) -> Any:
        """Return the value of the empty attribute (the thing itself) or of a named one."""
        ...


class Universe:
    """The components in play for one request, with their candidates in order of preference."""

    def __init__(
        self,
        catalog: Catalog,
        request: Request,
        gpu: Gpu,
        instance: Instance | None,
        arch: str,
        *,
        most_images: int | None = None,
        without_images: frozenset[str] = frozenset(),
    ) -> None:
        """Gather what the request can touch: what is wanted, asked for, and all that those may require.

        Images named in `without_images` are left out. With `most_images`, only that many of the best images take part; `shelf.is_cut` says whether any were left out.
        """
        self.catalog = catalog
        self.request = request
        self.gpu = gpu
        self.instance = instance
        self.arch = arch
        self.policy: Mapping[str, Any] = catalog.policy
        self.extras: dict[str, frozenset[str]] = {}
        for wish in request.all_wishes:
            self.extras[wish.component] = self.extras.get(wish.component, frozenset()) | frozenset(
                wish.extras
            )
        self.needed: dict[str, None] = {}
        """Components that must be there, in the order they became known."""
        self.optional: dict[str, None] = {}
        self.unknown_wishes: set[str] = set()
        """Components asked for in a version that no matrix knows."""
        self._gather_wanted()
        self.shelf = Shelf(
            catalog, request, instance, arch, self.is_contained, gpu=gpu, without=without_images
        )
        self.images = self.shelf.candidates(most_images)
        self.domains: dict[str, Sequence[Choice]] = {IMAGE: self.images}
        self.held: dict[str, list[Candidate | None]] = {}
        """By component: for each image candidate what it holds of it, if a source says so."""
        self._close()

    @cached_property
    def constants(self) -> dict[str, Any]:
        """What the target fixes, by subject; a missing instance type leaves its subjects unknown."""
        fixed: dict[str, Any] = {"gpu": self.gpu.id, "arch": self.arch}
        fixed.update({f"gpu.{name}": value for name, value in self.gpu.attributes.items()})
        if self.instance is not None:
            fixed["instance"] = self.instance.id
            fixed["instance.family"] = self.instance.family
            fixed["instance.gpu_count"] = fixed["gpu_count"] = self.instance.gpu_count
            fixed.update({f"instance.{name}": value for name, value in self.instance.attributes.items()})
        return {name: value for name, value in fixed.items() if value is not None}

    def value(self, subject: str) -> Any:
        """Return the value of a constant subject (this makes the universe a view for conditions on the target)."""
        if subject == IMAGE:
            return Missing.ABSENT if self.request.images == "none" and not self.request.image else "an image"
        return self.constants.get(subject, Missing.UNKNOWN)

    @cached_property
    def told_in_depth(self) -> frozenset[str]:
        """Components whose held-back releases are explained by a search: what was asked for, and what decides the rest."""
        return frozenset((*(w.component for w in self.request.all_wishes), *self.policy["must_be_known"]))

    def _gather_wanted(self) -> None:
        for wish in self.request.all_wishes:
            if not wish.absent:
                self.needed[wish.component] = None
        for row in self.policy["wanted"]:
            where = "matrices/policy.json"
            if "when" in row and truth(condition(row["when"], where), self) is not True:
                continue
            if "unless" in row and truth(condition(row["unless"], where), self) is True:
                continue
            if self.catalog.component(row["component"]) is None:
                continue
            if row["component"] not in self.needed:
                (self.optional if row.get("optional") else self.needed)[row["component"]] = None

    def _close(self) -> None:
        """Add domains for everything reachable by requirements and bundles."""
        pending = [*self.needed, *self.optional]
        while pending:
            name = pending.pop(0)
            if name in self.domains:
                continue
            component = self.catalog.component(name)
            if component is None:
                continue
            domain = self._domain(component)
            self.domains[name] = domain
            reached: dict[str, None] = {}
            for candidate in domain:
                for requirement in candidate.requires or ():
                    if not requirement.optional and self._extra_wanted(name, requirement.extra):
                        reached[requirement.component] = None
            pending.extend(sorted(r for r in reached if r not in self.domains))

    def _extra_wanted(self, component: str, extra: str) -> bool:
        return not extra or extra in self.extras.get(component, ())

    def _wishes_for(self, component: str) -> list[Wish]:
        return [w for w in self.request.all_wishes if w.component == component and not w.absent]

    def _domain(self, component: Component) -> tuple[Candidate, ...]:
        must = component.id in self.needed
        in_images = self._shipped(component) if self.is_contained(component) else []
        candidates: list[Candidate] = [] if must else [absent(component.id)]
        candidates += in_images
        asked_for = self._wishes_for(component.id)
        known_only = bool(asked_for) or component.id in self.policy["must_be_known"]
        if self.is_contained(component) and not known_only and any(c.image is not None for c in self.images):
            candidates.append(unstated(component.id))
        candidates += self._ordered(component, released(component, self.arch))
        known = {c.text for c in candidates} | {c.version.text for c in candidates if c.version}
        for wish in asked_for:
            exact = wish.range.removeprefix("===").removeprefix("==").strip()
            if wish.range.startswith("==") and "*" not in exact and "," not in exact and "|" not in exact:
                unknown = Version(exact, component.scheme)
                if exact not in known and not any(c.version == unknown for c in candidates):
                    candidates.append(asked(component, exact))
                    self.unknown_wishes.add(component.id)
        if component.scope == "host" and self.unknown_wishes and component.id not in self.unknown_wishes:
            candidates.append(
                unstated(component.id)
            )  # what goes with a version that nobody knows is not known either
        if not candidates:
            candidates.append(absent(component.id))
        return tuple(candidates)

    def _shipped(self, component: Component) -> list[Candidate]:
        """Return what the images hold of a component, newest first, and note which image holds which."""
        by_text: dict[tuple[str, str], Candidate | None] = {}
        found: list[Candidate] = []
        held: list[Candidate | None] = []
        releases = {r.version: r for r in component.releases}
        name = component.id
        for image, contents in self._image_contents:
            text = contents.get(name)
            if not text or image is None:
                held.append(None)
                continue
            key = (text, contents.get("cuda", ""))
            if key not in by_text:
                candidate = shipped(component, text, image, self.arch, releases)
                twin = next((f for f in found if candidate is not None and same_shipment(candidate, f)), None)
                if candidate is not None and twin is None:
                    found.append(candidate)
                by_text[key] = twin or candidate
            held.append(by_text[key])
        self.held[name] = held
        return newest_first(found)

    @cached_property
    def _image_contents(self) -> list[tuple[Image | None, Mapping[str, str]]]:
        """Each image candidate with what it holds."""
        nothing: Mapping[str, str] = {}
        return [
            (c.image, self.shelf.contents(c.image) if c.image is not None else nothing) for c in self.images
        ]

    def _ordered(self, component: Component, candidates: list[Candidate]) -> list[Candidate]:
        """Order releases by the policy; a lock's version first, what cannot be installed or is not known well last."""
        kept = self.request.keep.get(component.id)
        preferred: Sequence[str] = self.policy["prefer"].get(component.id, ())
        branch_order: Sequence[str] = self.policy["driver_branch_order"]
        tested = self._tested_versions(component) if self.request.policy == "tested" else frozenset()
        stable = self.request.policy == "stable"
        as_of = self.catalog.version.replace(".", "-")

        def rank(item: tuple[int, Candidate]) -> tuple[Any, ...]:
            position, candidate = item
            release = candidate.release
            text = candidate.version.text if candidate.version else ""
            branch = candidate.attributes.get("branch_type")
            return (
                kept not in (candidate.text, text) if kept else False,
                bool(release and release.yanked),
                candidate.requires is None,
                bool(release and release.eol and release.eol < as_of),
                preferred.index(text) if text in preferred else len(preferred),
                bool(tested) and text not in tested,
                branch_order.index(branch) if branch in branch_order else 0,
                bool(release and (release.prerelease or release.version.is_prerelease)),
                bool(stable and release and not _settled(release.date, as_of)),
                position,
            )

        return [c for _, c in sorted(enumerate(candidates), key=rank)]

    def _tested_versions(self, component: Component) -> frozenset[str]:
        """Versions that some vendor image or machine image ships."""
        seen = {i.contents[component.id] for i in self.catalog.images if component.id in i.contents}
        for name in ("dlami", "hyperpod", "eks-ami", "ecs-gpu-ami", "efa-installer"):
            holder = self.catalog.component(name)
            for release in holder.releases if holder else ():
                if release.bundles and component.id in release.bundles:
                    seen.add(release.bundles[component.id])
        return frozenset(seen)

    def is_contained(self, component: Component) -> bool:
        """Whether an image brings its own copy of this component."""
        return component.scope == "container" or component.id in self.policy["image_brings"]

    def order(self) -> list[str]:
        """Return the components in decision order: what is avoided if it can be, the image, what was asked for, then the policy's
        list, then the rest."""
        first: Iterable[str] = self.policy["decide_first"]
        asked_for: Iterable[str] = [w.component for w in self.request.frameworks]
        listed: Iterable[str] = self.policy["decide"]
        ordered: dict[str, None] = dict.fromkeys([*first, IMAGE, *asked_for, *listed, *sorted(self.domains)])
        return [name for name in ordered if name in self.domains]


def _settled(date: str, as_of: str) -> bool:
    """Whether a release had a month to show its faults: its month is not the data's month; an unknown date says nothing against it."""
    return date[:7] < as_of[:7]


__all__ = ["IMAGE", "Choice", "ImageCandidate", "Origin", "Universe"]
