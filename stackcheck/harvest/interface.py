"""What every harvester gives: candidate facts, each with source, day and the extractor that read it.

How to add an upstream:

1. Write a module of pure functions, bytes in, values out. It checks sizes and shapes itself: what comes from a network is hostile.
   What it cannot understand raises `HarvestError` with one line; it never guesses.
2. Write the fetcher beside it, over `client.Client`, which bounds, retries and caches. A fetcher decides what to ask for, nothing else.
3. Name the extractor (`EXTRACTOR = "name/1"`) and raise its number whenever the same bytes would give other candidates.
4. Add a function to `collect.py` and a row to `registry.HARVESTERS`, and what it should read (addresses, repositories, packages) to `matrices/upstreams.json`:
   no address stands in the code.
5. Record a trimmed answer under `tests/harvest/recorded/` with its source, and test it beside the hostile ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from stackcheck.model.errors import InputError
from stackcheck.model.release import Requirement

Value = str | bool | None | tuple[str, ...] | tuple[Requirement, ...] | tuple[tuple[str, str], ...]


class HarvestError(InputError):
    """An upstream cannot be reached, or says something that cannot be used."""

    usual_fix = "nothing was taken from it; try again, or name another source"


class AbsentError(HarvestError):
    """The upstream answered that it has no such thing."""

    usual_fix = "check its name"


class BudgetError(HarvestError):
    """The number of requests allowed for this run is used up; what was read is in the cache."""

    usual_fix = "run it again to go on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One fact that an upstream states about one release, not yet reviewed.

    `field` is `exists`, `date`, `yanked`, `requires` (requirement rows), `python`, `glibc`, `arch`, `digest`, `environment`,
    `contents` or `attribute:NAME`. `date` is the ISO day on which it was read; `detail` the file it was read from.
    """

    component: str
    release: str
    field: str
    value: Value
    source: str
    date: str
    extractor: str
    detail: str = ""
