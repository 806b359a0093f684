"""Why a stack holds a component in this version: what forces it, what it meets, what is merely preferred."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from stackcheck.catalog.evaluate import Missing, parsed_range, truth
from stackcheck.model.explanation import Reason
from stackcheck.model.gpucode import Capability
from stackcheck.model.rule import AllOf, Condition, InRange, Relation, Rule, Term
from stackcheck.model.stack import Stack
from stackcheck.solver.candidates import Candidate, Origin
from stackcheck.solver.domains import IMAGE
from stackcheck.solver.encode import refs
from stackcheck.solver.explain import why
from stackcheck.solver.origins import FactOrigin, OriginKind
from stackcheck.solver.pin_context import TOLD, PinContext, short
from stackcheck.solver.preference import preference_text

_SIGNS: Mapping[str, str] = {
    "equal": "equals",
    "at_least": ">=",
    "at_most": "<=",
    "same_major": "has the major version of",
    "same_minor": "has the major and minor version of",
    "overlap": "shares a member with",
    "within": "is among",
    "covers": "runs on",
    "covers_natively": "runs natively on",
}
_LONGEST_SET = 12  # members of a set that are told


def reasons_for(context: PinContext, stack: Stack) -> tuple[Reason, ...]:
    """Return the reasons for the choice, the forcing ones first."""
    if context.component == IMAGE:
        return tuple(_image_reasons(context, stack))
    candidate = context.candidate
    if candidate is None:
        return (_outside(context),)
    reasons = list(_what_the_image_says(context, candidate))
    forcing = frozenset(
        why(context.encoding.problem, context.solution, context.number, hard=context.background)
    )
    ranked = sorted(_facts(context, forcing), key=lambda o: (o not in forcing, context.rank(o), o))
    reasons += [_reason(context, o, forces=o in forcing) for o in ranked]
    reasons += _matrix_row(context, candidate)
    if not any(r.forces for r in reasons) and candidate.origin is not Origin.IMAGE:
        reasons.append(Reason("preference", preference_text(context.universe, candidate)))
    return _merged(reasons)


def _image_reasons(context: PinContext, stack: Stack) -> Iterable[Reason]:
    if stack.image is not None:
        return [context.image_reason(text) for text in stack.image.why]
    none = context.universe.request.images == "none"
    return [Reason("preference", "no image was asked for" if none else "without an image fits best")]


def _outside(context: PinContext) -> Reason:
    """Return why a component that was no choice at all is or is not in the stack."""
    held = context.image.contents.get(context.component) if context.image else None
    if held:
        return context.image_reason(f"the image holds {context.component} {held}")
    return Reason("preference", "nothing in this stack asks for it")


def _what_the_image_says(context: PinContext, candidate: Candidate) -> Iterable[Reason]:
    if context.image is None:
        return
    name = short(context.image)
    if candidate.origin is Origin.IMAGE:
        yield context.image_reason(f"it is what {name} holds", forces=True)
    elif candidate.origin is Origin.UNSTATED:
        yield context.image_reason(f"no source says whether {name} holds it, and in which version")
    elif context.component in context.image.absent:
        yield context.image_reason(f"{name} surely lacks it")


def _facts(context: PinContext, forcing: Collection[int]) -> list[int]:
    """Return the facts that speak of the component here: those that force it, and those that apply and are met."""
    problem, values, number = context.encoding.problem, context.solution.values, context.number
    found = dict.fromkeys(
        o
        for o in forcing
        if context.fact(o).kind in TOLD
        and (context.fact(o).kind is OriginKind.WISH or _excluded_by(context, o))
    )  # a fact about others alone forces nothing here by itself; `why not newer` tells the chain
    for position in problem.occurrences(number):
        origin, terms = problem.rows[position]
        excludes = all(n == number or m >> values[n] & 1 for n, m in terms)
        if excludes and origin not in found and _is_met(context, origin):
            found[origin] = None
    return list(found)


def _is_met(context: PinContext, origin: int) -> bool:
    """Whether a fact asks something of the component here, which it meets; a rule that does not apply asks nothing."""
    fact = context.fact(origin)
    if fact.kind in (OriginKind.REQUIRES, OriginKind.BUNDLE):
        return fact.subjects[-1] == context.component  # what it asks of others is their reason, not its own
    rule = context.universe.catalog.rule(fact.key) if fact.kind is OriginKind.RULE else None
    if rule is not None and rule.require is not None:
        return truth(rule.when, context) is True and truth(rule.require, context) is True
    return fact.kind is OriginKind.WISH


def _reason(context: PinContext, origin: int, *, forces: bool) -> Reason:
    """Return a fact as a reason: what it asks, or what it rules out."""
    fact = context.fact(origin)
    rules = (fact.key,) if fact.kind is OriginKind.RULE else ()
    rule = context.universe.catalog.rule(fact.key) if rules else None
    if fact.kind is OriginKind.WISH:
        text = fact.text if fact.text.startswith("the host has ") else f"you ask for {fact.text}"
    elif forces and (
        fact.kind in (OriginKind.RULE, OriginKind.GPU_ROW) or fact.subjects[-1] != context.component
    ):  # what other releases of it ask for rules them out; it is not what this one asks for
        better = (1 << context.solution.values[context.number]) - 1
        excluded = _excluded_by(context, origin) & better
        text = f"rules out others: {context.filled(fact, context.solution.values, excluded)}"
    elif rule is not None and rule.require is not None:
        text = _met_text(context, rule)
    else:
        text = context.filled(fact, context.solution.values)
    return Reason(str(fact.kind), text, fact.sources, rules, forces)


def _excluded_by(context: PinContext, origin: int) -> int:
    """Return the candidates of the component that a fact may exclude."""
    mask = 0
    for position in context.encoding.problem.occurrences(context.number):
        row_origin, terms = context.encoding.problem.rows[position]
        mask |= sum(m for n, m in terms if n == context.number) if row_origin == origin else 0
    return mask


def _met_text(context: PinContext, rule: Rule) -> str:
    """Return how a rule is met here: `driver 620.70.06 >= cuda.family_floor 580.65.06`."""
    assert rule.require is not None  # noqa: S101
    told = [_met(context, part) for part in _parts(rule.require)]
    if all(told):
        return " and ".join(told)
    return context.filled(FactOrigin(OriginKind.RULE, rule.why or rule.title), context.solution.values)


def _parts(condition: Condition) -> tuple[Condition, ...]:
    return condition.parts if isinstance(condition, AllOf) else (condition,)


def _met(context: PinContext, condition: Condition) -> str:
    """Return one condition that holds with its values, or an empty text for one that is not told this way."""
    match condition:
        case Relation(name, left, right) if name in _SIGNS:
            return f"{_valued(context, left)} {_SIGNS[name]} {_valued(context, right)}"
        case Term(subject, InRange(text)):
            return f"{_valued(context, subject)} is in {text}"
    return ""


def _valued(context: PinContext, subject: str) -> str:
    """Return a subject with its value here."""
    if subject == "gpu":
        return context.universe.gpu.name
    value = context.value(subject)
    return subject if isinstance(value, Missing) else f"{subject} {_value_text(value)}"


def _value_text(value: Any) -> str:
    if isinstance(value, frozenset | tuple) and not isinstance(value, Capability):
        members = [str(v) for v in (sorted(value, key=str) if isinstance(value, frozenset) else value)]
        more = ", ..." if len(members) > _LONGEST_SET else ""
        return f"({', '.join(members[:_LONGEST_SET])}{more})"
    return str(value)


def _matrix_row(context: PinContext, candidate: Candidate) -> Iterable[Reason]:
    """Yield what the GPU's matrix says of the chosen version: its first row that holds it."""
    gpu = context.universe.gpu
    for row in gpu.rows if candidate.version is not None else ():
        if row.component != context.component or candidate.version is None:
            continue
        bounds = parsed_range(row.range, candidate.version.scheme)
        if bounds is not None and candidate.version in bounds:
            text = f"{row.grade} on {gpu.name}" + (f": {row.why}" if row.why else "")
            yield Reason(str(OriginKind.GPU_ROW), text, refs(gpu.sources, row.sources))
            return


def _merged(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Return the reasons, those with the same words together."""
    found: dict[tuple[str, str, bool], Reason] = {}
    for reason in reasons:
        key = (reason.kind, reason.text, reason.forces)
        known = found.get(key)
        if known is not None:
            rules = tuple(dict.fromkeys((*known.rules, *reason.rules)))
            sources = tuple(dict.fromkeys((*known.sources, *reason.sources)))
            reason = replace(known, rules=rules, sources=sources)
        found[key] = reason
    return tuple(found.values())
