"""Texts of a stack inside other languages: comments, shell words, YAML scalars.

A stack may have been read from an edited lock; no text of it may end a comment, a quote or a line.
"""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping

from stackcheck.model.stack import Pin, Stack

REGION = "<region>"
"""What image references of a regional registry hold in place of the region."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)
_REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@<>-]*\Z", re.ASCII)
_SAFE_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!~-]*\Z", re.ASCII)
_COMMENT_WIDTH = 110


def plain(text: str) -> str:
    """Return `text` on one line without unprintable characters."""
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(c for c in line if c.isprintable())


def comments(text: str, indent: str = "") -> Iterator[str]:
    """Yield `text` as comment lines of a language whose comments start with `#`."""
    lead = f"{indent}# "
    for line in textwrap.wrap(
        plain(text), _COMMENT_WIDTH - len(lead), break_long_words=False, break_on_hyphens=False
    ):
        yield lead + line


def header(stack: Stack, what: str) -> Iterator[str]:
    """Yield the comment lines a file starts with: what it is and for which target."""
    target = stack.target
    goal = " ".join(filter(None, (target.gpu_name or target.gpu, target.instance, target.arch)))
    data = f", matrices {stack.data_version}" if stack.data_version else ""
    yield from comments(f"{what} for {goal}, by stackcheck resolve (policy {stack.policy}{data})")


def node_comments(stack: Stack) -> Iterator[str]:
    """Yield a comment per component that the node or cluster must have, with the versions that would do."""
    for pin in stack.pins:
        if pin.scope in ("host", "cluster") and pin.origin != "image":
            yield from comments(f"needs on the node: {wanted(pin)}")


def wanted(pin: Pin) -> str:
    """Return a component with what would do for it: its range, or its version if nothing else is known to do."""
    loose = pin.accepts and not pin.accepts.startswith("==")
    return f"{pin.component} {pin.version}{f' (or another of {pin.accepts})' if loose else ''}"


def shell(text: str) -> str:
    """Return `text` as one shell word; line breaks become blanks."""
    return shlex.quote(plain(text))


def yaml(text: str) -> str:
    """Return `text` as a YAML scalar in double quotes (JSON strings are YAML 1.2 scalars)."""
    return json.dumps(plain(text), ensure_ascii=False)


def variables(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the environment variables that any shell can hold, values on one line; others are dropped."""
    for name, value in environment.items():
        if _VARIABLE.match(name):
            yield name, plain(value)


def reference(stack: Stack) -> str:
    """Return the image reference to pull, with digest if known; empty if no tag is verified or it is no reference."""
    image = stack.image
    if image is None or not _REFERENCE.match(image.reference):
        return ""
    digest = image.digest if re.fullmatch(r"sha256:[0-9a-f]{64}", image.digest) else ""
    return f"{image.reference}@{digest}" if digest and "@" not in image.reference else image.reference


def no_reference(stack: Stack) -> str:
    """Return a sentence that says why there is no image to pull and what to build on instead."""
    facts = [f"{p.component} {p.version}" for c in ("os", "cuda", "python") if (p := stack.pin(c))]
    base = f"build on a base image of your own with {', '.join(facts)}" if facts else "choose a base image"
    image = stack.image
    if image is None:
        return f"No image belongs to this stack: {base}."
    name = ":".join(filter(None, (image.repository, image.tag))) or image.family
    return f"No verified tag is known for {name}: look it up in the registry, or {base}."


def version(pin: Pin | None) -> str:
    """Return the version of a pin if it is a plain version text, else empty."""
    return pin.version if pin is not None and _SAFE_VERSION.match(pin.version) else ""


def reason(pin: Pin) -> str:
    """Return layer and first reason of a pin, for a comment."""
    return plain("; ".join(filter(None, (pin.layer, *pin.why[:1], *pin.caveats))))
