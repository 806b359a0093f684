"""Small nodes made from the condition of a rule: the least that a rule asks for, so that every rule can be seen to fire."""

from __future__ import annotations

import importlib
import itertools
import math
import random
import re
from collections.abc import Iterator
from typing import Any

from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.evaluate import Truth, fires, truth
from stackcheck.check.node import Node
from stackcheck.model.gpucode import Capability
from stackcheck.model.inventory import Inventory, Observation
from stackcheck.model.rule import (
    PREFIXES,
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
    head_of,
)

Literal = tuple[Term | Relation, bool]
Draft = dict[str, Any]
_NODE_HEADS = {
    "gpu": "gpu_model",
    "instance": "instance",
    "arch": "arch",
    "image": "image",
    "gpu_count": "gpu_count",
}
_TRIES = 6000
_CASES = 120


def witness(rule: Rule, catalog: Catalog) -> Inventory | None:
    """Return a node on which the rule fires, or None if none was found."""
    return _witness(rule, catalog, 12) or _witness(rule, catalog, 4000)


def _witness(rule: Rule, catalog: Catalog, most: int) -> Inventory | None:
    cases = itertools.islice(
        (when + less for when in _cases(rule.when, True) for less in _denied(rule.require)), _CASES
    )
    for case in cases:
        heads: dict[str, list[Literal]] = {}
        for literal in case:
            for subject in _subjects(literal[0]):
                heads.setdefault(head_of(subject), []).append(literal)
        choices = [list(_drafts(head, literals, catalog, most)) for head, literals in sorted(heads.items())]
        for drafts in _mixed(choices):
            inventory = _inventory(drafts)
            if fires(rule, Node(catalog, inventory)):
                return inventory
    return None


def _mixed(choices: list[list[Any]]) -> Iterator[tuple[Any, ...]]:
    """Yield all combinations if they are few, else some of them picked blindly but always alike."""
    if math.prod(map(len, choices)) <= _TRIES:
        yield from itertools.product(*choices)
        return
    dice = random.Random(0)
    for _ in range(_TRIES):
        yield tuple(dice.choice(c) for c in choices)


def _denied(condition: Condition | None) -> list[list[Literal]]:
    return [[]] if condition is None else list(_cases(condition, False))


def _cases(condition: Condition, wanted: bool) -> Iterator[list[Literal]]:
    """Yield the ways in which a condition can be true (or false), each as what has to hold together."""
    match condition:
        case Not(part):
            yield from _cases(part, not wanted)
        case AllOf(parts) | AnyOf(parts):
            if isinstance(condition, AllOf) is wanted:
                for ways in itertools.product(*(list(_cases(p, wanted)) for p in parts)):
                    yield [literal for way in ways for literal in way]
            else:
                for part in parts:
                    yield from _cases(part, wanted)
        case _:
            yield [(condition, wanted)]


def _subjects(condition: Term | Relation) -> tuple[str, ...]:
    return (condition.subject,) if isinstance(condition, Term) else (condition.left, condition.right)


def _inventory(drafts: tuple[Draft, ...]) -> Inventory:
    body: Draft = {"components": {}, "environment": {}, "facts": {}}
    for draft in drafts:
        for name, value in draft.items():
            if isinstance(value, dict):
                body[name].update(value)
            else:
                body[name] = value
    return Inventory(**body)


def _drafts(head: str, literals: list[Literal], catalog: Catalog, most: int) -> Iterator[Draft]:
    """Yield pieces of an inventory that meet every term about one head; relations are left to the whole."""
    terms = [(c, wanted) for c, wanted in literals if isinstance(c, Term)]
    has_relation = any(isinstance(c, Relation) for c, _ in literals)
    found = (
        draft
        for draft in _all_drafts(head, literals, catalog)
        if all(_holds(term, Node(catalog, _inventory((draft,)))) is wanted for term, wanted in terms)
    )
    return itertools.islice(found, most * 30 if has_relation else most)


def _holds(term: Term, node: Node) -> Truth:
    return truth(term, node)


def _all_drafts(head: str, literals: list[Literal], catalog: Catalog) -> Iterator[Draft]:
    prefix, colon, rest = head.partition(":")
    if colon and prefix in PREFIXES:
        yield from _fact_drafts(prefix, rest, literals)
    elif head in _NODE_HEADS:
        yield from ({_NODE_HEADS[head]: value} for value in _node_values(head, literals, catalog))
        if head == "gpu":
            yield from (
                {"facts": {"compute_capability": value}} for value in ("7.0", "7.5", "9.0", "10.3", "12.1")
            )
    else:
        yield from ({"components": {head: seen}} for seen in _observations(head, literals, catalog))


def _fact_drafts(prefix: str, rest: str, literals: list[Literal]) -> Iterator[Draft]:
    values: dict[str, list[Any]] = {}
    for condition, wanted in literals:
        for subject in _subjects(condition):
            known = values.setdefault(subject, [])
            if isinstance(condition, Term) and condition.subject == subject:
                known += _values(condition.test, wanted)
            else:
                known += ["1.0", "2.0", "570.86.15", 1, 2]
    mine = {s: v for s, v in values.items() if head_of(s) == f"{prefix}:{rest}"}
    for chosen in itertools.product(*mine.values()):
        named = dict(zip(mine, chosen, strict=True))
        if prefix == "env":
            (value,) = named.values()
            yield (
                {"facts": {"environment_complete": True}}
                if value is None
                else {"environment": {rest: str(value)}}
            )
        elif prefix == "fact":
            (value,) = named.values()
            yield {"facts": {rest: value}}
        else:
            whole = {f"{prefix}:{rest}": True} if prefix == "log" else {}
            yield {"facts": {**whole, **named}}


def _node_values(head: str, literals: list[Literal], catalog: Catalog) -> Iterator[Any]:
    match head:
        case "gpu":
            yield from (g.name for g in catalog.gpus())
            yield from (
                "Tesla P100-PCIE-16GB",
                "Tesla V100-SXM2-32GB",
                "NVIDIA GeForce RTX 5090",
            )  # boards without rows of their own
        case "instance":
            yield from (i.id for i in catalog.instances())
        case "arch":
            yield from ("x86_64", "aarch64")
        case "image":
            yield from (i.name for i in catalog.images)
        case _:
            for condition, wanted in literals:
                if isinstance(condition, Term):
                    yield from (v for v in _values(condition.test, wanted) if isinstance(v, int | float))
            yield from (8, 1)


def _observations(name: str, literals: list[Literal], catalog: Catalog) -> Iterator[tuple[Observation, ...]]:
    component = catalog.component(name)
    if component is None:
        return
    told = _told(name, literals, catalog)
    package = told.pop("packages", None)
    copies = told.pop("copies", None)
    told.pop("local", None)
    whole = [c for c, _ in literals if isinstance(c, Term) and c.subject == name]
    if any(isinstance(t.test, Is) and t.test.value is False for t in whole):
        yield ()
    versions = [
        f"{r.version.text}+{b.label}" if b is not None and b.label else r.version.text
        for r in reversed(component.releases)
        for b in ((None, *r.builds))
    ]
    for condition, wanted in literals:
        if isinstance(condition, Term) and condition.subject == name:
            versions += [str(v) for v in _values(condition.test, wanted) if isinstance(v, str)]
        for side in (
            _subjects(condition) if isinstance(condition, Relation) and name in _subjects(condition) else ()
        ):
            other = catalog.component(side)
            versions += [r.version.text for r in other.releases] if other and side != name else []
    versions = versions or ["1.0.0", "2.0.0", "0.1.0"]
    installed = {"package": (component.packages or (name,))[0]}
    if copies is not None or package is not None:
        names = [p for p in (package or [""]) if p]
        for first, second in itertools.permutations(versions[:6] or ["1.0", "2.0"], 2):
            yield (
                Observation(version=first, attributes={"package": names[0]} if names else {}),
                Observation(version=second, attributes={"package": names[-1]} if names else {}),
            )
    for version in versions:
        yield (Observation(version=version, scope=component.scope, attributes=installed),)
        yield (Observation(version=version, scope=component.scope),)
    for version in versions[:40]:
        for chosen in itertools.islice(_mixed(list(told.values())), 60):
            attributes = dict(zip(told, chosen, strict=True))
            yield (Observation(version=version, scope=component.scope, attributes=attributes),)


def _told(name: str, literals: list[Literal], catalog: Catalog) -> dict[str, list[Any]]:
    """Return values for the attributes of a component that literals speak of."""
    told: dict[str, list[Any]] = {}
    for condition, wanted in literals:
        for subject in _subjects(condition):
            head, _, attribute = subject.partition(".")
            if head != name or not attribute:
                continue
            known = told.setdefault(attribute, [])
            if isinstance(condition, Term):
                known += _values(condition.test, wanted)
            else:
                for side in _subjects(condition):
                    known += [v for v in _known_values(side, catalog) if v not in known]
    return told


def _known_values(subject: str, catalog: Catalog) -> list[Any]:
    """Return what releases and builds say of an attribute, as an inventory would say it."""
    head, _, attribute = subject.partition(".")
    component = catalog.component(head) if head not in _NODE_HEADS else None
    if component is None:
        return [["sm_50"], ["sm_80+PTX"], ["compute_80"], ["sm_100"], ["sm_103a"], ["3.9"], ["cu12"]]
    tables = [t for r in component.releases for t in (r.attributes, *(b.attributes for b in r.builds))]
    whole = list({str(t[attribute]): _as_json(t[attribute]) for t in tables if attribute in t}.values())
    return whole + [part for v in whole if isinstance(v, list) for part in (v[:1], v[-1:])]


def _as_json(value: Any) -> Any:
    if isinstance(value, frozenset | tuple) and not isinstance(value, Capability):
        return sorted(v if isinstance(v, int) else str(v) for v in value)
    return value if isinstance(value, bool | int | float) else str(value)


def _values(test: Test, wanted: bool) -> list[Any]:
    """Return values of which some pass (or, if not wanted, fail) a test."""
    match test:
        case NotTest(inner):
            return _values(inner, not wanted)
        case Is(value):
            if isinstance(value, bool):
                return ["yes", True, None, False, "other", "1"] if value is wanted else [None, False, "other"]
            return [value] if wanted else [value + 1]
        case OneOf(texts):
            return [*sorted(texts)] if wanted else ["other", "0"]
        case Matches(pattern):
            return [_text_like(pattern)] if wanted else ["other", "0"]
        case Bounds(minimum, maximum, above, below):
            edges = [e for e in (minimum, maximum, above, below) if e is not None]
            return [n for e in edges for n in (e, e + 1, e - 1, e + 0.01, e - 0.01)]
        case InRange(text):
            operands = re.findall(r"\d+(?:\.\w+)*", text)
            near = [
                ".".join([*o.split(".")[:-1], str(int(o.split(".")[-1]) + d)])
                for o in operands
                for d in (1, -1)
                if o.split(".")[-1].isdigit() and int(o.split(".")[-1]) + d >= 0
            ]
            return (
                [text, *operands, *near, "0.0.1", "999"]
                if wanted
                else ["other", *near, *operands, "0.0.1", "999"]
            )


def _text_like(pattern: str) -> str:
    """Return one text in which a pattern is found."""
    parser = importlib.import_module("re._parser")
    made = _spelled(parser.parse(pattern))
    return made if re.search(pattern, made) else ""


def _spelled(parsed: Any) -> str:
    text = ""
    for operation, argument in parsed:
        name = str(operation)
        match name:
            case "LITERAL":
                text += chr(argument)
            case "NOT_LITERAL":
                text += "x" if argument != ord("x") else "y"
            case "ANY":
                text += "x"
            case "IN":
                text += _member(argument)
            case "BRANCH":
                text += _spelled(argument[1][0])
            case "SUBPATTERN":
                text += _spelled(argument[-1])
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                low, _, inner = argument
                text += _spelled(inner) * low
            case "CATEGORY":
                text += _member([(operation, argument)])
            case _:
                pass
    return text


def _member(choices: Any) -> str:
    allowed = "".join(chr(c) for c in range(32, 127))
    probe = "".join(_class_text(c) for c in choices)
    found = re.compile(f"[{probe}]")
    for c in "5a" + allowed:
        if found.match(c):
            return c
    return "x"


def _class_text(choice: Any) -> str:
    operation, argument = choice
    match str(operation):
        case "NEGATE":
            return "^"
        case "LITERAL":
            return re.escape(chr(argument))
        case "RANGE":
            return f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}"
        case _:
            return {
                "CATEGORY_DIGIT": r"\d",
                "CATEGORY_SPACE": r"\s",
                "CATEGORY_WORD": r"\w",
                "CATEGORY_NOT_SPACE": r"\S",
                "CATEGORY_NOT_DIGIT": r"\D",
                "CATEGORY_NOT_WORD": r"\W",
            }[str(argument)]
