"""Conditions of rules in words: the data says `{"driver": "<580", "fabric-manager": true}`, a person reads sentences."""

from __future__ import annotations

from collections.abc import Iterator

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
    Term,
    Test,
)

_PREFIX_WORDS = {
    "env": "environment variable",
    "fact": "fact",
    "log": "log line",
    "limit": "limit",
    "module": "kernel module",
    "service": "service",
    "device": "device",
    "file": "file",
}
_RELATION_WORDS = {
    "equal": "{left} equals {right}",
    "at_least": "{left} is at least {right}",
    "at_most": "{left} is at most {right}",
    "same_major": "{left} and {right} have the same major version",
    "same_minor": "{left} and {right} have the same major and minor version",
    "overlap": "{left} and {right} share a member",
    "within": "{left} is among {right}",
    "covers": "code of {left} runs on {right}, natively or compiled at first use",
    "covers_natively": "code of {left} runs on {right} without compiling at first use",
}
_DEEPEST = 12  # levels; deeper ones are summed up


def condition_lines(condition: Condition, depth: int = 0) -> Iterator[str]:
    """Yield a condition as lines, two blanks deeper per level; a conjunction at the top needs no heading."""
    indent = "  " * depth
    if depth > _DEEPEST:
        yield f"{indent}..."
        return
    match condition:
        case AllOf(parts) if depth == 0:
            for part in _flat(parts):
                yield from condition_lines(part, depth)
        case AllOf(parts):
            yield f"{indent}all of:"
            for part in _flat(parts):
                yield from condition_lines(part, depth + 1)
        case AnyOf(parts):
            yield f"{indent}any of:"
            for part in parts:
                yield from condition_lines(part, depth + 1)
        case Not(part) if isinstance(part, AllOf | AnyOf):
            yield f"{indent}not:"
            yield from condition_lines(part, depth + 1)
        case Not(part):
            yield f"{indent}not: {condition_sentence(part)}"
        case _:
            yield f"{indent}{condition_sentence(condition)}"


def _flat(parts: tuple[Condition, ...]) -> Iterator[Condition]:
    """Yield the parts of nested conjunctions as one list."""
    for part in parts:
        if isinstance(part, AllOf):
            yield from _flat(part.parts)
        else:
            yield part


def condition_sentence(condition: Condition) -> str:
    """Return a condition as one sentence."""
    match condition:
        case Term(subject, test):
            return _term(subject, test)
        case Relation(name, left, right):
            pattern = _RELATION_WORDS.get(name, f"{{left}} {name.replace('_', ' ')} {{right}}")
            return pattern.format(left=subject_words(left), right=subject_words(right))
        case Not(part):
            return f"not ({condition_sentence(part)})"
        case AllOf(parts):
            return " and ".join(condition_sentence(p) for p in parts)
        case AnyOf(parts):
            return "(" + " or ".join(condition_sentence(p) for p in parts) + ")"


def subject_words(subject: str) -> str:
    """Return a subject as people say it: `driver.branch` is "branch of driver", `env:X` "environment variable X"."""
    prefix, colon, rest = subject.partition(":")
    if colon and prefix in PREFIXES:
        return f"{_PREFIX_WORDS[prefix]} {rest}"
    head, dot, attribute = subject.partition(".")
    if not dot:
        return subject
    if attribute == "copies":
        return f"number of different versions of {head}"
    return f"{attribute.replace('_', ' ')} of {head}"


def _term(subject: str, test: Test) -> str:
    words = subject_words(subject)
    match test:
        case Is(value) if isinstance(value, bool):
            return _presence(subject, words, value=value)
        case Is(value):
            return f"{words} is {value:g}"
        case InRange(text):
            return f"{words} {_range_words(text)}"
        case OneOf(texts):
            return f"{words} is {' or '.join(text or 'empty' for text in sorted(texts))}"
        case Matches(pattern):
            return f"{words} matches /{pattern}/"
        case NotTest(inner):
            return f"{words} is known, and not ({_term(subject, inner)})"
        case Bounds():
            return f"{words} is {_bounds_words(test)}"


def _presence(subject: str, words: str, *, value: bool) -> str:
    prefix, colon, _ = subject.partition(":")
    if colon and prefix == "log":
        return f"a {words} occurs" if value else f"no {words} occurs"
    if colon and prefix == "env":
        return f"{words} is set" if value else f"{words} is not set"
    if colon and prefix in ("fact", "limit", "service"):
        return f"{words} is {'true' if value else 'false'}"
    if "." in subject and not colon:
        return f"{words} is {'true' if value else 'false'}"
    return f"{words} is there" if value else f"{words} was looked for and is not there"


def _range_words(text: str) -> str:
    parts = [p.strip() for p in text.split("||")]
    return " or ".join(parts) if parts[0][:1] in "<>=!~" else f"is {text}"


def _bounds_words(bounds: Bounds) -> str:
    words = []
    if bounds.minimum is not None:
        words.append(f"at least {bounds.minimum:g}")
    if bounds.above is not None:
        words.append(f"above {bounds.above:g}")
    if bounds.maximum is not None:
        words.append(f"at most {bounds.maximum:g}")
    if bounds.below is not None:
        words.append(f"below {bounds.below:g}")
    return " and ".join(words) or "a number"
