"""What a person asks of the resolver, before it meets the catalog."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from stackcheck.model.errors import UsageError

_NOTHING: Mapping[str, Any] = {}

Policy = Literal["newest", "tested", "stable"]
ImageChoice = Literal["dlc", "ngc", "upstream", "any", "none"]

_SPEC = re.compile(
    r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?\s*((?:===|==|!=|<=|>=|~=|<|>).*)?\s*\Z"
)


class Wish(NamedTuple):
    """One requirement of the user: a component in a range, and the flag it came from."""

    component: str
    range: str = ""
    extras: tuple[str, ...] = ()
    flag: str = "--with"
    absent: bool = False
    """Whether the component must not be there."""

    @property
    def text(self) -> str:
        """The requirement as it would be typed."""
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        return f"{self.component}{extras}{self.range}"


class Request(NamedTuple):
    """Everything that decides an answer; two equal requests over the same catalog have the same answer."""

    gpu: str
    instance: str | None = None
    arch: str | None = None
    frameworks: tuple[Wish, ...] = ()
    wishes: tuple[Wish, ...] = ()
    host: tuple[Wish, ...] = ()
    """Exact versions of what is on the node and cannot change."""
    images: ImageChoice = "any"
    image: str | None = None
    python: str | None = None
    policy: Policy = "newest"
    keep: Mapping[str, str] = _NOTHING
    """Versions of an earlier lock that are preferred where they still fit."""

    @property
    def all_wishes(self) -> tuple[Wish, ...]:
        """Every requirement, frameworks first, in the order given."""
        return self.frameworks + self.wishes + self.host


def parse_wish(text: str, *, flag: str) -> Wish:
    """Return the wish of `torch==2.11.0`, `verl[vllm]`, `cuda>=13` or `aws-ofi-nccl` (any version).

    The component's name is taken as written; the caller maps aliases and checks the range against the scheme.

    Raises:
        UsageError: the text has another form.
    """
    match = _SPEC.match(text)
    if match is None or len(text) > 500:
        raise UsageError(
            f"{flag} {text[:80]!r} is no requirement", fix="write for example torch==2.11.0 or 'cuda>=13'"
        )
    name, extras, bounds = match.groups()
    return Wish(
        component=name,
        extras=tuple(e.strip() for e in (extras or "").split(",") if e.strip()),
        range=(bounds or "").strip(),
        flag=flag,
    )
