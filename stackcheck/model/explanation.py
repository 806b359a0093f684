"""Why a stack holds a component in this version, and why not in a newer one: the answer of `stackcheck why`."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from stackcheck.model.stack import Pin, Target


class Verdict(enum.StrEnum):
    """Why a version was not taken."""

    EXCLUDED = "excluded"
    """Impossible, whatever else is chosen."""
    GIVEN = "given"
    """Possible, but not together with choices that come first."""
    LATER = "later"
    """Possible here too, and less preferred."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One fact, wish or preference, in words."""

    kind: str
    """`image`, `preference`, or the kind of an origin: `wish`, `requires`, `rule`, `gpu-row`, `bundle`."""
    text: str
    sources: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    """The ids that `stackcheck explain` knows, for rules."""
    forces: bool = False
    """Whether it takes part in ruling out what would be preferred; the others merely hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotTaken:
    """Versions, newest first, that were not taken for the same reasons."""

    versions: tuple[str, ...]
    verdict: Verdict
    reasons: tuple[Reason, ...]
    given: tuple[str, ...] = ()
    """The earlier choices on which the reasons rest: `image pytorch:2.13.0-cu133`, `cuda 13.0`."""
    cost: tuple[str, ...] = ()
    """What the best stack with the newest of them changes among the choices that come first."""
    ask: str = ""
    """The flag that asks for the newest of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One component of one stack explained; `pin` is None if the stack does not pin it."""

    target: Target
    component: str
    name: str = ""
    pin: Pin | None = None
    image: str = ""
    """The image of the stack, as `repository:tag`; empty if none."""
    reasons: tuple[Reason, ...] = ()
    newer: tuple[NotTaken, ...] = ()
    preferred: tuple[NotTaken, ...] = ()
    """Not newer, but earlier in the order of preference."""
    requirements: tuple[str, ...] = ()
    policy: str = ""
    data_version: str = ""
    notes: tuple[str, ...] = ()
