"""What a person asks of the resolver, before it meets the catalog."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

from stackcheck.model.errors import UsageError

_NOTHING: Mapping[str, Any] = {}

Policy = Literal["newest", "tested", "stable"]
ImageChoice = Literal["dlc", "ngc", "upstream", "any", "none"]

_SPEC = re.compile(
    r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?\s*((?:===|==|!=|<=|>=|~=|<|>).*)?\s*\Z"
)


_ALMOST = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)(?:\s*[=:@]\s*|\s+)v?([0-9][A-Za-z0-9.+*_-]*)\s*\Z")
_SEVERAL = re.compile(r"[^\s,\[\]]+(?:\[[^\]]*\])?[^\s,]*")


class Wish(NamedTuple):
    """One requirement of the user: a component in a range, and the flag it came from."""

    component: str
    range: str = ""
    extras: tuple[str, ...] = ()
    flag: str = "--with"
    absent: bool = False
    """Whether the component must not be there."""

    @property
    def told(self) -> str:
        """The requirement as one would say it."""
        return f"no {self.component}" if self.absent else self.text

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


def request_to_json(request: Request) -> dict[str, Any]:
    """Return a request as a lock records it, so that it can be asked again word for word."""
    return {
        "gpu": request.gpu or None,
        "instance": request.instance,
        "arch": request.arch,
        "framework": [w.text for w in request.frameworks],
        "with": [w.text for w in request.wishes if not w.absent and w.flag != "--python"],
        "without": [w.component for w in request.wishes if w.absent],
        "host": [w.text for w in request.host],
        "images": request.images,
        "image": request.image,
        "python": request.python,
        "policy": request.policy,
    }


def request_from_json(body: Mapping[str, Any]) -> Request:
    """Return the request of a lock.

    Raises:
        UsageError: a requirement in it is none.
        KeyError, TypeError: a part of it is missing or has another form.
    """
    without = (Wish(component=str(name), absent=True, flag="--without") for name in body["without"])
    return Request(
        gpu=str(body["gpu"] or ""),
        instance=body["instance"],
        arch=body["arch"],
        frameworks=tuple(parse_wish(str(t), flag="--framework") for t in body["framework"]),
        wishes=(*(parse_wish(str(t), flag="--with") for t in body["with"]), *without),
        host=tuple(parse_wish(str(t), flag="--host") for t in body["host"]),
        images=_one_of(body["images"], get_args(ImageChoice), "images"),
        image=body["image"],
        python=body["python"],
        policy=_one_of(body["policy"], get_args(Policy), "policy"),
    )


def _one_of(value: Any, allowed: tuple[Any, ...], name: str) -> Any:
    if value not in allowed:
        msg = f"{name} {str(value)[:40]!r}, which is none of {', '.join(allowed)}"
        raise TypeError(msg)
    return value


def parse_wish(text: str, *, flag: str) -> Wish:
    """Return the wish of `torch==2.11.0`, `verl[vllm]`, `cuda>=13` or `aws-ofi-nccl` (any version).

    The component's name is taken as written; the caller maps aliases and checks the range against the scheme.

    Raises:
        UsageError: the text has another form.
    """
    match = _SPEC.match(text)
    if match is None or len(text) > 500:
        raise UsageError(f"{flag} {text[:80]!r} is no requirement", fix=_meant(text[:500], flag))
    name, extras, bounds = match.groups()
    return Wish(
        component=name,
        extras=tuple(e.strip() for e in (extras or "").split(",") if e.strip()),
        range=(bounds or "").strip(),
        flag=flag,
    )


def _meant(text: str, flag: str) -> str:
    """Return what to write instead of a text that is no requirement."""
    almost = _ALMOST.match(text)
    if almost is not None:
        return f"did you mean {almost[1]}=={almost[2]}?"
    several = _SEVERAL.findall(text)
    if len(several) > 1 and all(_SPEC.match(part) and part[0].isalpha() for part in several):
        quoted = (f"'{part}'" if set(part) & set("<>[*") else part for part in several[:3])
        shown = " ".join(f"{flag} {part}" for part in quoted)
        return f"give {flag} once for each: {shown}{' ...' if several[3:] else ''}"
    return "write for example torch==2.11.0 or 'cuda>=13'"
