"""What the parts of an explanation share: the solved question, the component asked about, and choices in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from stackcheck.catalog.evaluate import Missing
from stackcheck.model.explanation import Reason
from stackcheck.model.release import Image
from stackcheck.solver.candidates import Candidate, Origin
from stackcheck.solver.domains import IMAGE, ImageCandidate, Universe
from stackcheck.solver.encode import Encoding, refs
from stackcheck.solver.narrate import fill
from stackcheck.solver.origins import FactOrigin, OriginKind
from stackcheck.solver.search import Solution

SOFT = "soft:"
"""Beginning of the names of the flags that say whether a soft rule is kept."""

TOLD = (OriginKind.WISH, OriginKind.REQUIRES, OriginKind.BUNDLE, OriginKind.RULE, OriginKind.GPU_ROW)
"""Kinds of facts in the order in which a person wants to hear them; what images hold is told in the image's own words."""


@dataclass(frozen=True, eq=False)
class PinContext:
    """One component of one solved question; a view for rules (`value`) over the stack."""

    encoding: Encoding
    solution: Solution
    component: str

    @cached_property
    def number(self) -> int:
        """The component's variable, or -1 if it was no choice."""
        return self.encoding.number.get(self.component, -1)

    @cached_property
    def universe(self) -> Universe:
        """The question's universe."""
        return self.encoding.universe

    @cached_property
    def background(self) -> frozenset[int]:
        """Origins that are never told."""
        return self.encoding.background()

    @cached_property
    def image(self) -> Image | None:
        """The image of the stack."""
        return self.universe.images[self.solution.values[self.encoding.number[IMAGE]]].image

    @cached_property
    def candidate(self) -> Candidate | None:
        """The chosen candidate; None for the image and for what was no choice."""
        return self.encoding.candidate(self.solution.values, self.component)

    def value(self, subject: str) -> Any:
        """Return what a subject means in this stack, or a `Missing`."""
        if subject in self.universe.constants:
            return self.universe.constants[subject]
        head, _, attribute = subject.partition(".")
        if head == IMAGE:
            return ImageCandidate(self.image).value(attribute)
        candidate = self.encoding.candidate(self.solution.values, head)
        return candidate.value(attribute) if candidate is not None else Missing.UNKNOWN

    def fact(self, origin: int) -> FactOrigin:
        """Return the fact behind an origin."""
        return self.encoding.origins[origin]

    def rank(self, origin: int) -> int:
        """Return the place of an origin's kind in the telling order."""
        kind = self.fact(origin).kind
        return TOLD.index(kind) if kind in TOLD else len(TOLD)

    def filled(self, fact: FactOrigin, values: Sequence[int], own_mask: int = 0) -> str:
        """Return a fact with the versions of a solution; `own_mask` puts other candidates in the component's place."""
        masks = {n: 1 << values[self.encoding.number[n]] for n in self.universe.domains}
        if own_mask:
            masks[self.component] = own_mask
        return fill(self.encoding, fact, masks)

    def image_reason(self, text: str, *, forces: bool = False) -> Reason:
        """Return a reason that rests on what is known of the image."""
        sources = refs(self.image.source_table, self.image.sources) if self.image else ()
        return Reason("image", text, sources, forces=forces)

    def choice(self, number: int, values: Sequence[int]) -> str:
        """Return a choice in words: `cuda 13.0`, `image pytorch:2.13.0`, `no image`; empty if there is nothing to say."""
        name = self.encoding.names[number]
        if name.startswith(SOFT):
            return ""
        if name == IMAGE:
            image = self.universe.images[values[number]].image
            return f"image {short(image)}" if image else "no image"
        candidate = self.encoding.candidate(values, name)
        if candidate is None or candidate.origin is Origin.ABSENT:
            return f"no {name}"
        if candidate.origin is Origin.UNSTATED or candidate.version is None:
            return ""
        # Of what an image holds, its own word for the version counts, not the build it was recognised as.
        return f"{name} {candidate.version if candidate.origin is Origin.IMAGE else candidate.text}"


def short(image: Image) -> str:
    """Return an image's last path component and tag."""
    return f"{image.repository.rpartition('/')[2]}:{image.tag}"
