"""What a finding id means, whoever finds it: the answer of `stackcheck explain`."""

from __future__ import annotations

from typing import NamedTuple

from stackcheck.model.kinds import Grade, Kind, Severity
from stackcheck.model.release import Source
from stackcheck.model.rule import Condition, RemedyTemplate


class Meaning(NamedTuple):
    """One finding id explained without any node at hand: texts keep their `{placeholders}`.

    Rules and advisories have conditions; families of findings that follow from data alone (`gpu-b200-torch`, `requires-vllm`) tell
    in `fires` when they come.
    """

    id: str
    title: str
    kind: Kind
    severities: tuple[Severity, ...]
    """One, or several where it depends on the versions."""
    grade: Grade | None = None
    subjects: tuple[str, ...] = ()
    symptom: str = ""
    impact: str = ""
    why: str = ""
    when: Condition | None = None
    unless: Condition | None = None
    require: Condition | None = None
    fires: tuple[str, ...] = ()
    remedies: tuple[RemedyTemplate, ...] = ()
    causes: tuple[str, ...] = ()
    """Ids of findings that are mere consequences of this one."""
    caused_by: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    origin: str = ""
    """The matrix file that says so."""
    serves_solver: bool = False
    """Whether `resolve` keeps away from it too."""
