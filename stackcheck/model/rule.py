"""Rules as values: conditions over subjects, the closed set of relations, remedies. The language: docs/rules.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from stackcheck.model.kinds import Grade, Kind, Severity
from stackcheck.model.release import NOTHING, Source

PREFIXES = ("env", "fact", "log", "limit", "module", "service", "device", "file")
"""Subjects that are observations of a node, not things with releases."""


TARGET_SUBJECTS = frozenset({"gpu", "instance", "arch", "image", "gpu_count"})
"""Subjects that say what a stack is for; no component has such a name."""


class InRange(NamedTuple):
    """A version (or capability) lies in a range; on a string subject: equals the text."""

    text: str


class Is(NamedTuple):
    """Present or absent (components, gpu, env, log), or equal to this boolean or number."""

    value: bool | int | float


class OneOf(NamedTuple):
    """One of these texts; on a set-valued attribute: shares one."""

    texts: frozenset[str]


class Matches(NamedTuple):
    """A regular expression is found in the text."""

    pattern: str


class Bounds(NamedTuple):
    """A number within bounds; `minimum` and `maximum` included, `above` and `below` not."""

    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None


class NotTest(NamedTuple):
    """Known, and the test is false."""

    test: Test


Test = InRange | Is | OneOf | Matches | Bounds | NotTest


class Term(NamedTuple):
    """One subject and the test it must pass."""

    subject: str
    test: Test


class Relation(NamedTuple):
    """A relation between two subjects; `name` is one of the closed set in `stackcheck.catalog.relations`."""

    name: str
    left: str
    right: str


class AllOf(NamedTuple):
    """All parts hold."""

    parts: tuple[Condition, ...]


class AnyOf(NamedTuple):
    """At least one part holds."""

    parts: tuple[Condition, ...]


class Not(NamedTuple):
    """The part is false."""

    part: Condition


Condition = Term | Relation | AllOf | AnyOf | Not


class RemedyTemplate(NamedTuple):
    """A remedy whose texts may name observed values in braces."""

    text: str
    sets: Mapping[str, Any]
    run: str = ""
    when: Condition | None = None
    """The remedy is told only where this holds."""


class Rule(NamedTuple):
    """Fires when `when` is true, `unless` is not true and `require` is false (or missing)."""

    id: str
    kind: Kind
    severity: Severity
    grade: Grade
    subjects: tuple[str, ...]
    title: str
    when: Condition
    unless: Condition | None = None
    require: Condition | None = None
    why: str = ""
    symptom: str = ""
    impact: str = ""
    remedies: tuple[RemedyTemplate, ...] = ()
    cause_of: tuple[str, ...] = ()
    solver: bool = True
    avoid: bool = False
    """The solver avoids it before anything else is chosen, though its grade is a caveat."""
    sources: tuple[str, ...] = ()
    source_table: Mapping[str, Source] = NOTHING
    origin: str = ""
    """File and JSON pointer of the rule, for messages."""

    @property
    def is_advisory(self) -> bool:
        """Whether it is a known fault with a published id."""
        return self.id.startswith("SC-")

    def conditions(self) -> tuple[Condition, ...]:
        """Return those of when, unless and require that are there."""
        return tuple(c for c in (self.when, self.unless, self.require) if c is not None)

    def subject_names(self) -> frozenset[str]:
        """Return every subject that a condition of this rule looks at."""
        return frozenset(s for c in self.conditions() for s in subjects_of(c))


class Signature(NamedTuple):
    """A line that a program prints; `anchors` are literal texts of which one must occur in it.

    `frame` is searched in the innermost frame of the traceback above the line.
    """

    id: str
    pattern: str
    anchors: tuple[str, ...]
    formats: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    frame: str = ""


def subjects_of(condition: Condition) -> Iterator[str]:
    """Yield every subject a condition looks at, in the order they are written."""
    match condition:
        case Term(subject, _):
            yield subject
        case Relation(_, left, right):
            yield left
            yield right
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from subjects_of(part)
        case Not(part):
            yield from subjects_of(part)


def head_of(subject: str) -> str:
    """Return what has to be looked up for a subject: `torch` of `torch.cuda`, `env:X` of itself, `log:ID` of `log:ID.group`."""
    prefix, colon, rest = subject.partition(":")
    if colon and prefix in PREFIXES:
        return f"log:{rest.partition('.')[0]}" if prefix == "log" else subject
    return subject.partition(".")[0]
