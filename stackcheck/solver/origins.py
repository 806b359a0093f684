"""Why an incompatibility is there: each origin is one fact or wish, worded when somebody asks."""

from __future__ import annotations

import enum
from typing import NamedTuple


class OriginKind(enum.StrEnum):
    """What sort of thing an origin is."""

    WISH = "wish"
    """A requirement of the user; can be relaxed."""
    REQUIRES = "requires"
    """A release asks for another component."""
    RULE = "rule"
    GPU_ROW = "gpu-row"
    BUNDLE = "bundle"
    IMAGE = "image"
    """What images hold and lack."""
    STRUCTURE = "structure"
    """How the question is built; never told."""
    PREFERENCE = "preference"


class FactOrigin(NamedTuple):
    """One fact or wish behind incompatibilities."""

    kind: OriginKind
    text: str
    """Worded with what is in the fact; may hold {component} placeholders for versions in play."""
    subjects: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    key: str = ""
    detail: str = ""
    """Why the fact holds, worded so that it is true of what passes it too."""
    soft: bool = False
    wish: int = -1
    """Position among the request's wishes, for kind WISH."""
