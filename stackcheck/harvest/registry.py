"""All harvesters: the one list behind `--what`, help texts and docs/harvest.md. `interface.py` tells how to add one.

Functions are named and not imported, so that `stackcheck matrices status` loads no network library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from stackcheck.harvest.collect import Context, Finding


class Harvester(NamedTuple):
    """One kind of upstream, and the function in `collect.py` that reads it."""

    id: str
    title: str
    function: str

    def collect(self, context: Context) -> Iterator[Finding]:
        """Yield what this kind of upstream says."""
        found = getattr(import_module("stackcheck.harvest.collect"), self.function)
        yield from cast("Callable[[Context], Iterator[Finding]]", found)(context)


HARVESTERS: tuple[Harvester, ...] = (
    Harvester(
        "packages",
        "Python package index: releases, requirements from the files themselves, wheel tags",
        "collect_packages",
    ),
    Harvester("pages", "release lists of git hosts, changelogs, release notes", "collect_pages"),
    Harvester("tables", "tables of vendors: CUDA and driver versions, support matrices", "collect_tables"),
    Harvester("images", "container registries: tags, digests, architectures", "collect_images"),
)
"""In the order in which they run."""
