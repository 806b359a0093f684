"""Images that hold one component and nothing else one would judge: their tag is its version.

Which names these are is data: a component lists them among its aliases as `image/NAME`, NAME being the last part of the repository.
"""

from __future__ import annotations

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

_REFERENCE = Lazy(
    r"(?<![\w./:@-])(?:[\w.-]{1,80}(?::\d{1,5})?/){1,6}(?P<name>[\w.-]{2,100}):v?(?P<version>\d{1,4}\.\d{1,4}(?:\.\d{1,6}){0,2}(?:-eksbuild\.\d{1,3})?)(?=[\s'\",;)\]@-]|\Z)"
)


def component_images(draft: Draft, text: str, line: Line) -> bool:
    """Record the components whose own images a line names; return whether there are any."""
    found = False
    if "/" not in text:
        return found
    for match in _REFERENCE.finditer(text):
        component = draft.context.component(f"image/{match['name']}")
        if component is not None:
            draft.component(component, match["version"], line)
            found = True
    return found
