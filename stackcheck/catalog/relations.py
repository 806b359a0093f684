"""The closed set of relations between two values. A new cause is a new row of data, never a new function here.

Each relation prepares a value once and then compares prepared values; comparing returns whether the relation holds, or None where
the two cannot be compared. The two steps are apart because the solver compares every value of one component with every value of another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from stackcheck.model.gpucode import Capability, covers, covers_natively
from stackcheck.model.version import Version


class Kind(NamedTuple):
    """One relation: how to prepare a value, and how to compare two prepared ones."""

    prepare: Callable[[Any], Any]
    compare: Callable[[Any, Any], bool | None]
    key: Callable[[Any], Any] | None = None
    """If given: two prepared values that are both versions are related exactly if their keys are equal."""
    suffixed: bool = False
    """The key alone does not decide where both versions have a suffix."""
    order: int = 0
    """1 or -1: two versions are related exactly if left is at least (at most) right by their public keys."""

    def __call__(self, left: Any, right: Any) -> bool | None:
        """Return whether the relation holds between two raw values."""
        return self.compare(self.prepare(left), self.prepare(right))


_REVISION = re.compile(r"v?[\d.]+-\d")


@lru_cache(maxsize=8192)
def _dotted(text: str) -> Version | None:
    try:
        return Version(text)
    except ValueError:
        return None


def as_version(value: Any) -> Version | None:
    """Return a value that has an order as a dotted version: versions of both schemes, capabilities, numbers."""
    if isinstance(value, Version):
        if value.scheme == "dotted":
            return value
        text = ".".join(map(str, value.release)) + (f"-{value.local}" if value.local else "")
        return _dotted(text)
    if isinstance(value, bool):
        return None
    return _dotted(str(value)) if isinstance(value, Capability | int | float | str) else None


def _ordered(value: Any) -> Any:
    """A version as it is, in its own scheme; another value that has an order as a dotted version; anything else as it is."""
    if isinstance(value, Version | frozenset | str | bool):
        return value
    version = as_version(value)
    return value if version is None else version


def _pair(left: Any, right: Any) -> tuple[Version, Version] | None:
    """Two values as versions of one scheme, or None if one has no order."""
    if isinstance(left, Version) and isinstance(right, Version) and left.scheme == right.scheme:
        return left, right
    a, b = as_version(left), as_version(right)
    return None if a is None or b is None else (a, b)


def _equal(left: Any, right: Any) -> bool | None:
    if not isinstance(left, Version) and not isinstance(right, Version):
        return bool(left == right)
    pair = _pair(left, right)
    if pair is None:
        return None
    a, b = pair
    return a.key == b.key if _counts(a) and _counts(b) else a.public == b.public


def _counts(version: Version) -> bool:
    """Whether a suffix is more than the revision of a package: that of 2.4.0amzn1.0 is, that of 580.95.05-0ubuntu1 is not."""
    return bool(version.local) and not _REVISION.match(
        version.text[len(".".join(map(str, version.release))) :]
    )


def _at_least(left: Any, right: Any) -> bool | None:
    pair = _pair(left, right)
    return None if pair is None else pair[0].public >= pair[1].public


def _at_most(left: Any, right: Any) -> bool | None:
    pair = _pair(left, right)
    return None if pair is None else pair[0].public <= pair[1].public


def _same_major(left: Any, right: Any) -> bool | None:
    pair = _pair(left, right)
    return None if pair is None else pair[0].major == pair[1].major


def _same_minor(left: Any, right: Any) -> bool | None:
    pair = _pair(left, right)
    return None if pair is None else pair[0].minor == pair[1].minor


def _members(value: Any) -> frozenset[Any]:
    """A set or list as it is; a version as its text and its minor, `3.12`; any other value alone."""
    if isinstance(value, frozenset | tuple):
        return frozenset(value)
    if isinstance(value, Version):
        return frozenset((value.text, ".".join(map(str, value.minor))))
    return frozenset((value,))


def _overlap(left: frozenset[Any], right: frozenset[Any]) -> bool | None:
    return bool(left & right)


def _as_is(value: Any) -> Any:
    return value


def _within(left: Any, right: Any) -> bool | None:
    members = _members(right)
    if isinstance(left, Version):
        return bool(_members(left) & members)
    return _members(left) <= members


def _covers(left: Any, right: Any) -> bool | None:
    return covers(left, right) if isinstance(right, Capability) and isinstance(left, tuple) else None


def _covers_natively(left: Any, right: Any) -> bool | None:
    return covers_natively(left, right) if isinstance(right, Capability) and isinstance(left, tuple) else None


RELATIONS: Mapping[str, Kind] = {
    "equal": Kind(_ordered, _equal, key=lambda v: v.public, suffixed=True),
    "at_least": Kind(_ordered, _at_least, order=1),
    "at_most": Kind(_ordered, _at_most, order=-1),
    "same_major": Kind(_ordered, _same_major, key=lambda v: v.major),
    "same_minor": Kind(_ordered, _same_minor, key=lambda v: v.minor),
    "overlap": Kind(_members, _overlap),
    "within": Kind(_as_is, _within),
    "covers": Kind(_as_is, _covers),
    "covers_natively": Kind(_as_is, _covers_natively),
}
