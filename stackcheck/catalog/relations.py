"""The closed set of relations between two values. A new cause is a new row of data, never a new function here.

Each takes two known values and returns whether the relation holds, or None where the two cannot be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stackcheck.model.gpucode import Capability, covers, covers_natively
from stackcheck.model.version import Version

Holds = Callable[[Any, Any], bool | None]


def as_version(value: Any) -> Version | None:
    """Return a value that has an order as a dotted version: versions of both schemes, capabilities, numbers."""
    if isinstance(value, Version):
        if value.scheme == "dotted":
            return value
        text = ".".join(map(str, value.release)) + (f"-{value.local}" if value.local else "")
        return Version(text)
    if isinstance(value, Capability):
        return Version(str(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return Version(str(value))
    if isinstance(value, float):
        return Version(repr(value))
    if isinstance(value, str):
        try:
            return Version(value)
        except ValueError:
            return None
    return None


def _versions(left: Any, right: Any) -> tuple[Version, Version] | None:
    a, b = as_version(left), as_version(right)
    return None if a is None or b is None else (a, b)


def equal(left: Any, right: Any) -> bool | None:
    """The same value; of versions the numbers, suffixes only if both have one."""
    if isinstance(left, frozenset | str | bool) or isinstance(right, frozenset | str | bool):
        return bool(left == right)
    pair = _versions(left, right)
    if pair is None:
        return bool(left == right)
    a, b = pair
    if a.local and b.local:
        return a.key == b.key
    return a.public == b.public


def at_least(left: Any, right: Any) -> bool | None:
    """Left is the same or newer (larger)."""
    pair = _versions(left, right)
    return None if pair is None else pair[0].public >= pair[1].public


def at_most(left: Any, right: Any) -> bool | None:
    """Left is the same or older (smaller)."""
    pair = _versions(left, right)
    return None if pair is None else pair[0].public <= pair[1].public


def same_major(left: Any, right: Any) -> bool | None:
    """The first numbers are equal."""
    pair = _versions(left, right)
    return None if pair is None else pair[0].major == pair[1].major


def same_minor(left: Any, right: Any) -> bool | None:
    """The first two numbers are equal."""
    pair = _versions(left, right)
    return None if pair is None else pair[0].minor == pair[1].minor


def _as_set(value: Any) -> frozenset[Any]:
    return value if isinstance(value, frozenset) else frozenset((value,))


def overlap(left: Any, right: Any) -> bool | None:
    """The two sets share a member."""
    return bool(_as_set(left) & _as_set(right))


def within(left: Any, right: Any) -> bool | None:
    """The left value (or all of the left set) is in the right set; a version counts by its minor, `3.12`."""
    members = _as_set(right)
    if isinstance(left, Version):
        return bool({left.text, ".".join(map(str, left.minor))} & members)
    return _as_set(left) <= members


def _covers(left: Any, right: Any) -> bool | None:
    return covers(left, right) if isinstance(right, Capability) and isinstance(left, tuple) else None


def _covers_natively(left: Any, right: Any) -> bool | None:
    return covers_natively(left, right) if isinstance(right, Capability) and isinstance(left, tuple) else None


RELATIONS: Mapping[str, Holds] = {
    "equal": equal,
    "at_least": at_least,
    "at_most": at_most,
    "same_major": same_major,
    "same_minor": same_minor,
    "overlap": overlap,
    "within": within,
    "covers": _covers,
    "covers_natively": _covers_natively,
}
