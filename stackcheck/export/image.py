"""The image reference alone, for scripts: `docker pull "$(stackcheck resolve ... --export image)"`."""

from __future__ import annotations

from stackcheck.export.quoting import REGION, comments, no_reference, reference
from stackcheck.model.stack import Stack


def render(stack: Stack) -> str:
    """Return the reference on one line; comments that say why, where there is none."""
    return "\n".join([reference(stack)] if reference(stack) else comments(no_reference(stack))) + "\n"


def refusal(stack: Stack) -> str:
    """Return why there is no reference, or an empty text."""
    return "" if reference(stack) else no_reference(stack).rstrip(".")


def doubt(stack: Stack) -> str:
    """Say what has to be put in before it can be pulled."""
    return f"put your region in the place of {REGION}" if REGION in reference(stack) else ""
