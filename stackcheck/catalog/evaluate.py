"""The one evaluator of rules, used by the solver's encoding and by check alike.

Truth has three values: True, False, and None for unknown. Connectives are Kleene's. What a subject means on one
candidate, one stack or one inventory is the business of a `View`.
"""

from __future__ import annotations

import enum
import re
from functools import lru_cache
from typing import Any, Protocol

from stackcheck.catalog.relations import RELATIONS, as_version
from stackcheck.model.gpucode import Capability
from stackcheck.model.ranges import Range
from stackcheck.model.rule import (
    AllOf,
    AnyOf,
    Bounds,
    Condition,
    InRange,
    Is,
    Matches,
    Not,
    NotTest,
    OneOf,
    Relation,
    Rule,
    Term,
    Test,
)
from stackcheck.model.version import Scheme, Version

Truth = bool | None


class Missing(enum.Enum):
    """Why a subject has no value."""

    UNKNOWN = "nobody looked, or no fact says"
    ABSENT = "looked for, and not there"


class View(Protocol):
    """What subjects mean here."""

    def value(self, subject: str) -> Any:
        """Return the value of a subject, or a `Missing`."""
        ...


@lru_cache(maxsize=8192)
def parsed_range(text: str, scheme: Scheme) -> Range | None:
    """Return the range of `text`, or None if it is none of this scheme."""
    try:
        return Range(text, scheme)
    except ValueError:
        return None


def lies_in(version: Version, text: str) -> bool:
    """Whether a version lies in the range of `text`; in none, if that is no range of its scheme."""
    bounds = parsed_range(text, version.scheme)
    return bounds is not None and version in bounds


@lru_cache(maxsize=1024)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)


def truth(condition: Condition, view: View) -> Truth:
    """Return whether a condition holds in `view`, or None if the facts do not say."""
    match condition:
        case Term(subject, test):
            return passes(test, view.value(subject))
        case Relation(name, left, right):
            a, b = view.value(left), view.value(right)
            if isinstance(a, Missing) or isinstance(b, Missing):
                return None
            return RELATIONS[name](a, b)
        case Not(part):
            inner = truth(part, view)
            return None if inner is None else not inner
        case AllOf(parts):
            return _conjunction(parts, view)
        case AnyOf(parts):
            return _disjunction(parts, view)


def _conjunction(parts: tuple[Condition, ...], view: View) -> Truth:
    result: Truth = True
    for part in parts:
        inner = truth(part, view)
        if inner is False:
            return False
        if inner is None:
            result = None
    return result


def _disjunction(parts: tuple[Condition, ...], view: View) -> Truth:
    result: Truth = False
    for part in parts:
        inner = truth(part, view)
        if inner is True:
            return True
        if inner is None:
            result = None
    return result


def fires(rule: Rule, view: View) -> bool:
    """Whether a rule fires: when is true, unless is not true, require is false or missing."""
    if truth(rule.when, view) is not True:
        return False
    if rule.unless is not None and truth(rule.unless, view) is True:
        return False
    return rule.require is None or truth(rule.require, view) is False


def passes(test: Test, value: Any) -> Truth:
    """Return whether a value passes a test; a missing value passes none but `false`, which asks for absence."""
    if isinstance(test, Is) and isinstance(test.value, bool) and not isinstance(value, bool):
        if value is Missing.UNKNOWN:
            return None
        return (value is not Missing.ABSENT) is test.value
    if isinstance(value, Missing):
        return None
    match test:
        case Is(expected):
            return _equals(value, expected)
        case InRange(text):
            return _in_range(text, value)
        case OneOf(texts):
            return _one_of(texts, value)
        case Matches(pattern):
            return any(_pattern(pattern).search(t) for t in _texts(value))
        case NotTest(inner):
            result = passes(inner, value)
            return None if result is None else not result
        case Bounds():
            return _in_bounds(test, value)


def _equals(value: Any, expected: bool | float) -> Truth:
    if isinstance(value, str):
        return value == str(expected) or (
            isinstance(expected, bool) and value.lower() == str(expected).lower()
        )
    return bool(value == expected)


def _in_range(text: str, value: Any) -> Truth:
    if isinstance(value, Capability):
        value = Version(str(value))
    if isinstance(value, Version):
        bounds = parsed_range(text, value.scheme)
        return None if bounds is None else value in bounds
    if isinstance(value, str):
        return value == text
    if isinstance(value, frozenset | tuple):
        return text in _texts(value)
    as_number = as_version(value)
    if as_number is not None:
        bounds = parsed_range(text, "dotted")
        return str(value) == text if bounds is None else as_number in bounds
    return None


def _one_of(texts: frozenset[str], value: Any) -> Truth:
    return any(t in texts for t in _texts(value))


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, frozenset | tuple) and not isinstance(value, Capability):
        return tuple(str(v) for v in value)
    return (str(value),)


def _in_bounds(bounds: Bounds, value: Any) -> Truth:
    if isinstance(value, frozenset | tuple) and not isinstance(value, Capability):
        results = [_in_bounds(bounds, v) for v in value]
        return True if True in results else (None if not results or None in results else False)
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return (
        (bounds.minimum is None or number >= bounds.minimum)
        and (bounds.maximum is None or number <= bounds.maximum)
        and (bounds.above is None or number > bounds.above)
        and (bounds.below is None or number < bounds.below)
    )
