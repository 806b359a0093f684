"""A constraints file for pip and uv: what may be installed, in which version.

Format: https://pip.pypa.io/en/stable/user_guide/#constraints-files: one `name==version` per line, no extras, comments with `#`.
"""

from __future__ import annotations

from collections.abc import Iterator

from stackcheck.export.packages import Package, packages
from stackcheck.export.quoting import comments, header, reason
from stackcheck.model.stack import Stack


def render(stack: Stack) -> str:
    """Return the file."""
    use = ("pip install -c FILE PACKAGES", "uv pip install -c FILE PACKAGES")
    lines = [*header(stack, "Constraints"), *comments(f"Use: {' or '.join(use)}")]
    return "\n".join([*lines, *requirement_lines(stack)]) + "\n"


def requirement_lines(stack: Stack) -> Iterator[str]:
    """Yield one requirement per pip-level pin, each behind its comments; pins of no package are not mentioned."""
    found = list(packages(stack.pins))
    backends = sorted({p.backend for p in found if p.backend})
    if backends:
        yield from comments(
            f"The builds named below: uv pip install --torch-backend={backends[0]} ..."
            if len(backends) == 1
            else f"Builds of different toolkits are pinned here ({', '.join(backends)}): install them one by one."
        )
    if not found:
        yield from comments(_nothing(stack))
    for package in found:
        yield ""
        yield from comments(_told(package))
        yield from comments(package.hint)
        yield package.specifier


def doubt(stack: Stack) -> str:
    """Say that nothing is pinned, and what would be."""
    return "" if any(True for _ in packages(stack.pins)) else f"nothing is pinned. {_nothing(stack)}"


def _nothing(stack: Stack) -> str:
    if stack.image is None:
        return "No component of this stack is a package of the Python index."
    return (
        "The image of this stack holds what it needs, under versions that pip does not install; "
        "`stackcheck resolve --images none --export constraints` pins packages instead, in a stack of their own."
    )


def _told(package: Package) -> str:
    pin = package.pin
    name = "" if pin.component == package.name else f"{pin.component}: "
    inside = " (already in the image)" if pin.origin == "image" else ""
    return f"{name}{reason(pin)}{inside}"
