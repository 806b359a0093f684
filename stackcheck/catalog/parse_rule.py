"""JSON of rules, advisories and signatures to values of the model; the language is in docs/rules.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackcheck.catalog.relations import RELATIONS
from stackcheck.model.errors import MatrixError
from stackcheck.model.kinds import Grade, Kind, Severity
from stackcheck.model.release import Source
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
    RemedyTemplate,
    Rule,
    Signature,
    Term,
    Test,
)

_DEFAULT_GRADE = {Severity.ERROR: Grade.BROKEN, Severity.WARNING: Grade.DEGRADED, Severity.INFO: Grade.CAVEAT}
_BOUNDS = {"min": "minimum", "max": "maximum", "above": "above", "below": "below"}
_DEEPEST = 12  # levels of combinators


def rule(row: Mapping[str, Any], table: Mapping[str, Source], where: str) -> Rule:
    """Return one rule.

    Raises:
        MatrixError: with the JSON pointer of the part that is wrong.
    """
    severity = Severity(row["severity"])
    listed = row.get("sources")
    return Rule(
        id=row["id"],
        kind=Kind(row["kind"]),
        severity=severity,
        grade=Grade(row["grade"]) if row.get("grade") else _DEFAULT_GRADE[severity],
        subjects=tuple(row["subjects"]),
        title=row["title"],
        when=condition(row["when"], f"{where}/when"),
        unless=condition(row["unless"], f"{where}/unless") if row.get("unless") else None,
        require=condition(row["require"], f"{where}/require") if row.get("require") else None,
        why=row.get("why") or "",
        symptom=row.get("symptom") or "",
        impact=row.get("impact") or "",
        remedies=tuple(
            _remedy(r, f"{where}/remedy/{number}") for number, r in enumerate(row.get("remedy") or ())
        ),
        cause_of=tuple(row.get("cause_of") or ()),
        solver=row.get("solver", True) is not False,
        avoid=bool(row.get("avoid")),
        sources=tuple(listed) if isinstance(listed, list) else tuple(table),
        source_table=table,
        origin=where,
    )


def _remedy(row: Mapping[str, Any], where: str) -> RemedyTemplate:
    when = condition(row["when"], f"{where}/when") if row.get("when") else None
    return RemedyTemplate(row["text"], row.get("set") or {}, row.get("run") or "", when)


def condition(body: Any, where: str, depth: int = 0) -> Condition:
    """Return a parsed condition.

    Raises:
        MatrixError: it is malformed; the message has its JSON pointer.
    """
    if not isinstance(body, dict) or not body:
        raise MatrixError(
            "a condition is an object with at least one member", where=where, fix="see docs/rules.md"
        )
    if depth > _DEEPEST:
        raise MatrixError("conditions nested too deeply", where=where, fix="split the rule")
    if "relation" in body:
        return _relation(body, where)
    parts: list[Condition] = []
    for key, value in body.items():
        pointer = f"{where}/{key}"
        if key in ("all", "any"):
            if not isinstance(value, list) or not value:
                raise MatrixError("needs a list of conditions", where=pointer, fix="see docs/rules.md")
            inner = tuple(condition(v, f"{pointer}/{i}", depth + 1) for i, v in enumerate(value))
            parts.append(AllOf(inner) if key == "all" else AnyOf(inner))
        elif key == "not":
            parts.append(Not(condition(value, pointer, depth + 1)))
        else:
            parts.append(Term(key, test(value, pointer)))
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def _relation(body: Mapping[str, Any], where: str) -> Relation:
    name = body["relation"]
    if name not in RELATIONS:
        raise MatrixError(
            f"unknown relation {name!r}",
            where=f"{where}/relation",
            fix=f"use one of {', '.join(sorted(RELATIONS))}",
        )
    if set(body) != {"relation", "left", "right"}:
        raise MatrixError(
            "a relation has exactly relation, left and right", where=where, fix="see docs/rules.md"
        )
    return Relation(name, str(body["left"]), str(body["right"]))


def test(value: Any, where: str) -> Test:
    """Return a parsed test.

    Raises:
        MatrixError: it is malformed; the message has its JSON pointer.
    """
    match value:
        case bool() | int() | float():
            return Is(value)
        case str():
            return InRange(value)
        case list() if value:
            return OneOf(frozenset(str(v) for v in value))
        case {"matches": str(pattern), **rest} if not rest:
            return Matches(pattern)
        case {"not": inner, **rest} if not rest:
            return NotTest(test(inner, f"{where}/not"))
        case dict() if value and set(value) <= set(_BOUNDS):
            return Bounds(**{_BOUNDS[k]: float(v) for k, v in value.items()})
        case _:
            raise MatrixError(f"not a test: {str(value)[:80]}", where=where, fix="see docs/rules.md")


def signatures(body: Mapping[str, Any], where: str) -> tuple[Signature, ...]:
    """Return the line signatures of a file under signatures/.

    Raises:
        MatrixError: a part of it is missing or malformed.
    """
    try:
        return tuple(
            Signature(
                row["id"],
                row["pattern"],
                tuple(row["anchors"]),
                tuple(row.get("formats") or ()),
                tuple(row.get("sources") or ()),
                row.get("frame", ""),
            )
            for row in body["signatures"]
        )
    except (KeyError, ValueError, TypeError, AttributeError) as fault:
        raise MatrixError(f"{type(fault).__name__}: {fault}", where=where, fix="see docs/rules.md") from fault
