"""What the Resolve screen's fields say, as a request; and a way out of a conflict written back into the fields."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from stackcheck.model.stack import Change
from stackcheck.solver.request import ImageChoice, Policy, Request, Wish, parse_wish

_APART = re.compile(r"\s+(?=[A-Za-z])|;")


@dataclass(frozen=True, slots=True)
class Form:
    """The fields as typed."""

    target: str = "b200"
    frameworks: str = ""
    pins: str = ""
    without: str = ""
    policy: Policy = "newest"
    images: ImageChoice = "any"

    def changed(self, **fields: Any) -> Form:
        """Return the form with other fields."""
        return replace(self, **fields)


def words(text: str) -> list[str]:
    """Return the requirements in a field: `torch==2.11.0 cuda>=13,<14` are two."""
    return [w.strip().rstrip(",") for w in _APART.split(text) if w.strip().rstrip(",")]


def request_of(form: Form, instances: Iterable[str]) -> Request:
    """Return the request that the fields describe.

    Raises:
        UsageError: a requirement cannot be read.
    """
    target = form.target.strip().lower()
    is_instance = target in set(instances) or "." in target
    pins = [parse_wish(w, flag="--with") for w in words(form.pins)]
    pins += [parse_wish(w, flag="--without")._replace(absent=True) for w in words(form.without)]
    return Request(
        gpu="" if is_instance else target,
        instance=target if is_instance else None,
        frameworks=tuple(parse_wish(w, flag="--framework") for w in words(form.frameworks)),
        wishes=tuple(pins),
        images=form.images,
        policy=form.policy,
    )


def with_change(form: Form, change: Change) -> Form:
    """Return the form with one requirement replaced by what a way out of a conflict says, or dropped."""
    dropped = change.to.startswith("leave ")
    flag_of, _, text_of = (
        change.requirement.rpartition(" ")
        if change.requirement.startswith("--")
        else ("", "", change.requirement)
    )

    def mended(text: str, flag: str) -> str:
        kept: list[str] = []
        for word in words(text):
            wish: Wish = parse_wish(word, flag=flag)
            if wish.text == text_of and flag_of in ("", flag):
                if not dropped:
                    kept.append(change.to)
            else:
                kept.append(word)
        return " ".join(kept)

    return replace(
        form,
        frameworks=mended(form.frameworks, "--framework"),
        pins=mended(form.pins, "--with"),
        without=mended(form.without, "--without"),
    )
