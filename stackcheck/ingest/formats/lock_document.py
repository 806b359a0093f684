"""Our own lock (`stackcheck.stack/1`), as `stackcheck resolve -o` writes it."""

from __future__ import annotations

import re

from stackcheck.ingest.documents import is_meant_as
from stackcheck.ingest.draft import Draft
from stackcheck.ingest.interface import Line
from stackcheck.model.errors import InputError
from stackcheck.model.stack import SCHEMA, Stack
from stackcheck.model.stack_json import stack_from_json

_BEGINNING = re.compile(
    r'\s*\{\s*"alternatives"\s*:'
)  # its keys are sorted: a lock that is cut off has lost the schema


def sniff(text: str) -> float:
    """Look for the schema's name, or for the first key of a lock."""
    return 1.0 if SCHEMA in text or _BEGINNING.match(text) else 0.0


def read(draft: Draft) -> None:
    """Record the stack's pins, its image and its target.

    Raises:
        InputError: the text is meant as a lock and cannot be used.
    """
    found = False
    for document in draft.source.documents:
        body = document.value
        if not isinstance(body, dict) or body.get("schema") != SCHEMA:
            continue
        found = True
        stack = stack_from_json(body, where=draft.source.name)
        _record(
            draft, stack, {line.number: line for line in draft.source.lines}, document.first, document.last
        )
        draft.source.claim_range(document.first, document.last)
    text = draft.source.text
    is_cut_off = not draft.source.documents and _BEGINNING.match(text) is not None
    if not found and (is_cut_off or is_meant_as(SCHEMA, draft.source.lines, text)):
        raise InputError(
            "is a broken lock (not valid JSON)",
            where=draft.source.name,
            fix="write it again with `stackcheck resolve -o`",
        )


def _record(draft: Draft, stack: Stack, lines: dict[int, Line], first: int, last: int) -> None:
    def at(text: str) -> Line:
        number = next((n for n in range(first, last + 1) if n in lines and text in lines[n].text), first)
        return Line(number, lines[number].text[:400])

    start = at(SCHEMA)
    draft.gpu(stack.target.gpu, start)
    if stack.target.instance:
        draft.single("instance", stack.target.instance, at('"instance"'))
    if stack.target.arch:
        draft.single("arch", stack.target.arch, at('"arch"'))
    if stack.image and stack.image.reference:
        draft.single("image", stack.image.reference, at('"reference"'))
    for pin in stack.pins:
        draft.component(pin.component, pin.version, at(f'"{pin.component}"'), scope=pin.scope)
    for name, value in stack.environment.items():
        draft.environment(name, value, at(f'"{name}"'))
    if stack.conflict:
        draft.note("the lock holds a conflict, not a stack")
