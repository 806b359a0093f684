"""Ranges of versions: `>=2.19,<2.21 || ==2.30.7`.

`,` is and, `||` is or. The operators are those of PEP 440 (`==2.4.*` and `~=` included), with one rule for both schemes:
an operand without local label or suffix compares without it (`==2.4.1` holds for 2.4.1+cu121, `>=1.22` for 1.22.0amzn4.0).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from stackcheck.model.version import Scheme, Version, _strip

_CLAUSE = re.compile(r"\s*(===|==|!=|<=|>=|~=|<|>)\s*([^\s,|]+)\s*\Z")
_LONGEST: Final = 2_000  # characters

Check = Callable[[Version], bool]


class Range:
    """A union of conjunctions of version clauses; immutable, printed as it was written."""

    __slots__ = ("_alternatives", "operands", "scheme", "text")

    def __init__(self, text: str, scheme: Scheme = "dotted") -> None:
        """Parse `text`; an empty text holds for every version.

        Raises:
            ValueError: a clause is malformed or an operand is no version of the scheme.
        """
        if len(text) > _LONGEST:
            msg = f"range of {len(text)} characters"
            raise ValueError(msg)
        self.text = text.strip()
        self.scheme = scheme
        operands: list[Version] = []
        alternatives: list[tuple[Check, ...]] = []
        for part in self.text.split("||"):
            clauses = [c for c in part.split(",") if c.strip()]
            if not clauses and self.text not in ("", "*"):
                msg = f"empty clause in range {text!r}"
                raise ValueError(msg)
            alternatives.append(
                () if self.text == "*" else tuple(_clause(c, scheme, operands) for c in clauses)
            )
        self._alternatives = tuple(alternatives)
        self.operands = tuple(operands)

    def __contains__(self, version: Version) -> bool:
        for clauses in self._alternatives:
            for check in clauses:
                if not check(version):
                    break
            else:
                return True
        return False

    @property
    def is_any(self) -> bool:
        """Whether every version is in it by construction."""
        return self.text in ("", "*")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Range) and (self.text, self.scheme) == (other.text, other.scheme)

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Range({self.text!r}, {self.scheme!r})"


def _clause(text: str, scheme: Scheme, operands: list[Version]) -> Check:
    match = _CLAUSE.match(text)
    if match is None:
        msg = f"not a version clause: {text.strip()[:80]!r} (write for example >=2.4,<3)"
        raise ValueError(msg)
    operator, operand = match[1], match[2]
    if operand.endswith(".*"):
        if operator not in ("==", "!="):
            msg = f"{operator} cannot take a wildcard: {text.strip()[:80]!r}"
            raise ValueError(msg)
        bound = Version(operand[:-2], scheme)
        operands.append(bound)
        prefix, epoch = bound.release, _epoch(bound)
        if operator == "==":
            return lambda v: _has_prefix(v, prefix) and _epoch(v) == epoch
        return lambda v: not (_has_prefix(v, prefix) and _epoch(v) == epoch)
    bound = Version(operand, scheme)
    operands.append(bound)
    if operator == "~=":
        if len(bound.release) < 2:
            msg = f"~= needs at least two numbers: {text.strip()[:80]!r}"
            raise ValueError(msg)
        prefix, epoch = bound.release[:-1], _epoch(bound)
        return lambda v: (
            _view(v, bound) >= _view(bound, bound) and _has_prefix(v, prefix) and _epoch(v) == epoch
        )
    return _OPERATORS[operator](bound)


def _epoch(version: Version) -> int:
    return int(version.key[0]) if version.scheme == "pep440" else 0


def _view(version: Version, bound: Version) -> tuple[object, ...]:
    """The key to compare: with the local label or suffix only if the bound has one."""
    return version.key if bound.local else version.public


def _has_prefix(version: Version, prefix: tuple[int, ...]) -> bool:
    release = version.release
    if len(release) < len(prefix):
        release = release + (0,) * (len(prefix) - len(release))
    return release[: len(prefix)] == prefix


def _same_final(version: Version, bound: Version) -> bool:
    """Whether `bound` is a final release and `version` a pre- or post-release of it."""
    if bound.is_prerelease or bound.is_post or _epoch(version) != _epoch(bound):
        return False
    return _strip(version.release) == _strip(bound.release)


def _equal(bound: Version) -> Check:
    key, public = bound.key, bound.public
    return (lambda v: v.key == key) if bound.local else (lambda v: v.public == public)


def _not_equal(bound: Version) -> Check:
    return lambda v: _view(v, bound) != _view(bound, bound)


def _less(bound: Version) -> Check:
    # PEP 440: `<3.0` leaves out the pre-releases of 3.0, `<3.0.post1` those of that post-release.
    def check(v: Version) -> bool:
        if not v.public < bound.public:
            return False
        if not v.is_prerelease or bound.is_prerelease or _epoch(v) != _epoch(bound):
            return True
        same_post = not bound.is_post or v.key[3] == bound.key[3]
        return not (same_post and _strip(v.release) == _strip(bound.release))

    if bound.scheme == "pep440":
        return check
    return lambda v: _view(v, bound) < _view(bound, bound)


def _greater(bound: Version) -> Check:
    # PEP 440: `>2.4` leaves out 2.4.post1 and 2.4+local.
    def check(v: Version) -> bool:
        if not v.public > bound.public:
            return False
        return not (v.is_post and _same_final(v, bound))

    if bound.scheme == "pep440":
        return check
    return lambda v: _view(v, bound) > _view(bound, bound)


def _at_most(bound: Version) -> Check:
    key, public = bound.key, bound.public
    return (lambda v: v.key <= key) if bound.local else (lambda v: v.public <= public)


def _at_least(bound: Version) -> Check:
    key, public = bound.key, bound.public
    return (lambda v: v.key >= key) if bound.local else (lambda v: v.public >= public)


_OPERATORS: dict[str, Callable[[Version], Check]] = {
    "==": _equal,
    "===": _equal,
    "!=": _not_equal,
    "<": _less,
    ">": _greater,
    "<=": _at_most,
    ">=": _at_least,
}
