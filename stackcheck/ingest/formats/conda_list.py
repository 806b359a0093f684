"""`conda list`, `mamba list` and `conda list --export`: name, version, build, channel."""

from __future__ import annotations

import re

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.collect_env import conda_package
from stackcheck.ingest.patterns import Lazy

_ROW = Lazy(
    r"\s{0,4}(?P<name>_?[A-Za-z][\w.-]{0,80})\s{1,80}(?P<version>\d[\w.!+]{0,60})\s{1,60}(?P<build>[\w.]{1,80}|<pip>)"
    r"(?:\s{1,40}(?P<channel>[\w./:-]{1,120}))?\s{0,20}\Z"
)
_SHORT = Lazy(
    r"\s{0,4}(?P<name>_?[A-Za-z][\w.-]{0,80})\s{1,80}(?P<version>\d[\w.!+]{0,60})\s{1,60}(?P<channel>conda-forge|nvidia|pytorch|defaults|pkgs/main|anaconda)\s{0,20}\Z"
)
_EXPORT = Lazy(r"(?P<name>_?[a-z][\w.-]{0,80})=(?P<version>\d[\w.!+]{0,60})=(?P<build>[\w.]{1,80})\Z")
_MAYBE = (
    Lazy(  # what every row and heading begins with: most lines of a long log do not, and need no second look
        r"\s{0,80}(?:- )?_?[A-Za-z][\w.-]{0,80}(?:\s{1,80}|=)\d|# packages in|# Name|  Name"
    )
)
_BUILD = Lazy(
    r"(?:py|cuda|h[0-9a-f]{6,}|cpu|gpu|mkl|openblas|pyh|nompi|mpi)[\w.]*_\w+|\w*py\d{2,3}\w*|h[0-9a-f]{6,}\w*|\d{1,3}"
)


def sniff(text: str) -> float:
    """Look for the heading, a channel or a build string."""
    if "packages in environment at" in text or re.search(r"(?m)^# Name\s+Version\s+Build", text):
        return 1.0
    return 0.4


def read(draft: Draft) -> None:
    """Record the packages of an environment; rows from PyPI among them."""
    inside = "conda list" in draft.source.command or "mamba list" in draft.source.command
    maybe = _MAYBE.compiled().match
    for line in draft.source.open():
        text = line.text
        if not maybe(text):
            continue
        if text.startswith(("# packages in environment", "# Name")) or (
            text.startswith("  Name") and "Version" in text
        ):
            inside = True
            draft.source.claim(line.number)
        elif match := _SHORT.match(text):
            conda_package(draft, match["name"], match["version"], "", line)
        elif (match := _ROW.match(text)) and (inside or "." in match["version"]):
            if match["channel"] == "pypi" or match["build"] in ("pypi_0", "<pip>"):
                draft.package(match["name"], match["version"], line)
            elif (inside or match["channel"]) and _BUILD.match(match["build"]):
                conda_package(draft, match["name"], match["version"], match["build"], line)
        elif match := _EXPORT.match(text.strip().removeprefix("- ")):
            conda_package(draft, match["name"], match["version"], match["build"], line)
