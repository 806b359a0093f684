"""All report formats, in the order in which help shows them."""

from __future__ import annotations

import difflib

from stackcheck.model.errors import UsageError
from stackcheck.report.interface import Renderer
from stackcheck.report.json_document import Json
from stackcheck.report.text import Text

RENDERERS: tuple[Renderer, ...] = (Text(), Json())


def renderer(name: str) -> Renderer:
    """Return the format of that name.

    Raises:
        UsageError: there is none; the message names the nearest.
    """
    for known in RENDERERS:
        if known.name == name:
            return known
    names = [known.name for known in RENDERERS]
    near = difflib.get_close_matches(name, names, n=1) or names
    raise UsageError(f"no report format {name[:40]!r}", fix=f"try {', '.join(near)}")
