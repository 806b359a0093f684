"""An overrides file for uv: these versions, whatever other packages declare about them.

Format: https://docs.astral.sh/uv/concepts/resolution/#dependency-overrides. An override silences a declared requirement, so it is for
stacks that are known to work although their metadata disagrees; constraints are the safer file.
"""

from __future__ import annotations

from stackcheck.export.constraints import doubt, requirement_lines
from stackcheck.export.quoting import comments, header
from stackcheck.model.stack import Stack

__all__ = ["doubt", "render"]


def render(stack: Stack) -> str:
    """Return the file."""
    lines = [
        *header(stack, "Overrides"),
        *comments("Use: uv pip install --override FILE PACKAGES"),
        *comments(
            "These win over what packages declare; take the constraints export unless uv finds no solution."
        ),
    ]
    return "\n".join([*lines, *requirement_lines(stack)]) + "\n"
