"""The environment a stack needs, as lines that any POSIX shell reads with `.`."""

from __future__ import annotations

from stackcheck.export.quoting import comments, header, plain, shell, variables
from stackcheck.model.stack import Stack


def render(stack: Stack) -> str:
    """Return one export per variable; what the image sets itself is a comment."""
    held = stack.image.environment if stack.image else {}
    lines = [*header(stack, "Environment"), ""]
    for name, value in variables(stack.environment):
        if name in held and plain(held[name]) != value:
            lines += comments(f"the image sets {name}={held[name]}")
        lines.append(f"export {name}={shell(value)}")
    if not stack.environment:
        lines.append("# This stack needs no variable set.")
    kept = [f"{n}={v}" for n, v in variables(held) if n not in stack.environment]
    if kept:
        lines += ["", "# set by the image already:"]
        lines += [line for text in kept for line in comments(f"- {text}")]
    return "\n".join(lines) + "\n"
