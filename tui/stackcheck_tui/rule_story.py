"""A rule or advisory as styled text: what it says, when it fires, what it asks, what to do."""

from __future__ import annotations

import re

from textual.content import Content

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
from stackcheck.report.style import visible
from stackcheck.report.wording import set_text
from stackcheck.solver.encode import refs
from stackcheck_tui import telling

_BLANK = re.compile(r"\{([A-Za-z][A-Za-z0-9_.:/\-]*)\}")


def blanks(text: str) -> str:
    """Return a rule's text on one line, the places that a node fills in named: `driver <driver>`."""
    return visible(_BLANK.sub(r"<\1>", text))


def rule_story(rule: Rule, *, width: int = 0) -> Content:
    """Return everything about a rule."""
    told = [
        Content.assemble(telling.severe(rule.severity), "  ", telling.graded(rule.grade), f"  {rule.kind}"),
        Content.styled(blanks(rule.title), "bold"),
    ]
    for name, text in (("why", rule.why), ("symptom", rule.symptom), ("impact", rule.impact)):
        if text:
            told += [Content(), telling.heading(name), Content(f"  {blanks(text)}")]
    told += [Content(), telling.heading("affected when")]
    told += [Content(f"  {line}") for line in worded(rule.when)]
    if rule.unless is not None:
        told += [telling.heading("unless"), *(Content(f"  {line}") for line in worded(rule.unless))]
    if rule.require is not None:
        told += [telling.heading("must hold"), *(Content(f"  {line}") for line in worded(rule.require))]
    if rule.remedies:
        told += [Content(), telling.heading("remedy")]
    for remedy in rule.remedies:
        told.append(Content.assemble(("  → ", "$text-accent"), blanks(remedy.text)))
        told += [
            Content.styled(f"      {blanks(line)}", telling.MUTED)
            for s, v in remedy.sets.items()
            if (line := set_text(s, v))
        ]
        if remedy.run:
            told.append(Content.styled(f"      {visible(remedy.run)}", telling.MUTED))
    return telling.lines(
        [*told, Content(), *telling.sources(refs(rule.source_table, rule.sources), 6, width=width)]
    )


def worded(condition: Condition, depth: int = 0) -> list[str]:
    """Return a condition in lines, nested ones indented."""
    pad = "  " * depth
    match condition:
        case Term(subject, test):
            return [f"{pad}{subject} {_test(test)}"]
        case Relation(name, left, right):
            return [f"{pad}{left} {name.replace('_', ' ')} {right}"]
        case Not(part):
            return [f"{pad}not:", *worded(part, depth + 1)]
        case AnyOf(parts):
            return [f"{pad}one of:", *(line for p in parts for line in worded(p, depth + 1))]
        case AllOf(parts):
            return [line for p in parts for line in worded(p, depth)]


def _test(test: Test) -> str:
    match test:
        case InRange(text):
            return text
        case Is(value):
            if isinstance(value, bool):
                return "is there" if value else "is not there"
            return f"is {value}"
        case OneOf(texts):
            return f"is one of {', '.join(sorted(texts))}"
        case Matches(pattern):
            return f"matches {pattern}"
        case NotTest(inner):
            return f"not ({_test(inner)})"
        case Bounds(minimum, maximum, above, below):
            parts = ((">=", minimum), ("<=", maximum), (">", above), ("<", below))
            return " and ".join(f"{o} {v:g}" for o, v in parts if v is not None)
