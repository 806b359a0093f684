"""A table of the stack to paste into an issue, a pull request or a wiki (GitHub Flavored Markdown)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackcheck.export.quoting import plain, reference
from stackcheck.model.stack import Pin, Stack

_MARKUP = re.compile(r"([\\`*_\[\]|~])")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "@<!-- -->", "#": "#<!-- -->"}


def render(stack: Stack) -> str:
    """Return image, table and notes."""
    target = stack.target
    goal = " ".join(filter(None, (target.gpu_name or target.gpu, target.instance, target.arch)))
    lines = [f"### {cell(goal)}", "", *_image(stack)]
    if stack.pins:
        lines += ["", "| component | version | where | grade | why |", "| --- | --- | --- | --- | --- |"]
        lines += [_row(p) for p in stack.pins]
    if stack.environment:
        lines += ["", "| variable | value |", "| --- | --- |"]
        lines += [f"| {cell(n)} | {cell(v)} |" for n, v in stack.environment.items()]
    if stack.notes:
        lines += ["", *(f"- {cell(n)}" for n in stack.notes)]
    asked = f", asked for: {cell(', '.join(stack.requirements))}" if stack.requirements else ""
    data = f", matrices {cell(stack.data_version)}" if stack.data_version else ""
    lines += ["", f"stackcheck resolve, policy {cell(stack.policy)}{data}{asked}"]
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    """Return a text that a table cell shows as it is; it mentions nobody and refers to no issue."""
    return "".join(_HTML.get(c, c) for c in _MARKUP.sub(r"\\\1", plain(text)))


def _image(stack: Stack) -> Iterator[str]:
    image, ref = stack.image, reference(stack)
    if image is None:
        yield "No image."
    elif ref:
        yield f"Image: `{ref}` ({image.grade})"
    else:
        name = ":".join(filter(None, (image.repository, image.tag)))
        yield f"No verified tag is known for {cell(name) or 'this image'}."


def _row(pin: Pin) -> str:
    why = "; ".join((*pin.why[:1], *pin.caveats))
    version = f"{pin.version} ({pin.build})" if pin.build and pin.build not in pin.version else pin.version
    cells = (pin.component, version, pin.origin or pin.scope, str(pin.grade), why)
    return f"| {' | '.join(map(cell, cells))} |"
