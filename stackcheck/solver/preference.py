"""The resolver's preferences in words: why it takes the first candidate of a component that fits, and why another comes later.

The order itself is made in `stackcheck.solver.domains`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stackcheck.solver.candidates import Candidate, Origin
from stackcheck.solver.domains import Universe

_WORD = {"newest": "newest", "stable": "newest settled", "tested": "newest that a vendor image ships"}


def preference_text(universe: Universe, candidate: Candidate) -> str:
    """Return what speaks for a candidate where facts leave the choice."""
    name = candidate.component
    kept = universe.request.keep.get(name)
    if kept and kept in (candidate.text, _version(candidate)):
        return "kept from the lock"
    if candidate.origin is Origin.ABSENT:
        return "nothing asks for it, and without is preferred"
    if name in universe.policy["prefer"]:
        return "the first of the resolver's preferred ones that fits (matrices/policy.json)"
    branch = candidate.attributes.get("branch_type")
    branches: Sequence[str] = universe.policy["driver_branch_order"]
    if branch is not None and branch == branches[0]:
        return f"the newest of a preferred branch ({branch}) that fits"
    return f"the {_WORD[universe.request.policy]} that fits"


def later_text(universe: Universe, candidate: Candidate, chosen: Candidate) -> str:
    """Return why a candidate comes after the chosen one in the order of preference, though it is newer."""
    for told in (_lock_text, _trouble_text, _policy_text):
        text = told(universe, candidate, chosen)
        if text:
            return text
    return "it comes later in the order of preference"


def _version(candidate: Candidate) -> str:
    return candidate.version.text if candidate.version else ""


def _lock_text(universe: Universe, candidate: Candidate, chosen: Candidate) -> str:
    kept = universe.request.keep.get(candidate.component)
    return f"the lock has {kept}" if kept and kept in (chosen.text, _version(chosen)) else ""


def _trouble_text(universe: Universe, candidate: Candidate, chosen: Candidate) -> str:
    """Return what is wrong with a candidate and not with the chosen one."""
    release, other = candidate.release, chosen.release
    as_of = universe.catalog.version.replace(".", "-")
    if release is not None and release.yanked and not (other and other.yanked):
        return "yanked by its publisher"
    if candidate.requires is None and chosen.requires is not None:
        return "its requirements were not read: unknown comes after known"
    if release is not None and release.eol and release.eol < as_of and not (other and other.eol):
        return f"past its end of life since {release.eol}"
    return ""


def _policy_text(universe: Universe, candidate: Candidate, chosen: Candidate) -> str:
    if candidate.component in universe.policy["prefer"]:
        return f"the policy prefers {_version(chosen)} (matrices/policy.json)"
    if universe.request.policy == "tested":
        return "no vendor image ships it (policy tested)"
    order: Sequence[Any] = universe.policy["driver_branch_order"]
    mine, theirs = candidate.attributes.get("branch_type"), chosen.attributes.get("branch_type")
    if mine != theirs and mine in order and theirs in order:
        return f"branches of kind {theirs} come before {mine} (matrices/policy.json)"
    if candidate.version is not None and candidate.release is not None:
        release = candidate.release
        if release.prerelease or candidate.version.is_prerelease:
            return "a pre-release"
        if universe.request.policy == "stable":
            return f"released {release.date or 'on an unknown day'}: not settled yet (policy stable)"
    return ""
