"""The closed set of relations, each with what it must say and when it must say nothing."""

from __future__ import annotations

from typing import Any

import pytest

from stackcheck.catalog.relations import RELATIONS
from stackcheck.model.gpucode import Capability, Target
from stackcheck.model.version import Version

V = Version


@pytest.mark.parametrize(
    ("relation", "left", "right", "holds"),
    [
        ("equal", V("580.95.05"), V("580.95.05"), True),
        ("equal", V("580.95.05"), V("580.105.08"), False),
        ("equal", V("1.14.2-aws"), V("1.14.2"), True),  # suffixes count only if both have one
        ("equal", V("1.14.2-aws"), V("1.14.2-ngc"), False),
        ("equal", V("580.95.05-1ubuntu1"), V("580.95.05-1"), True),  # package revisions do not count
        ("equal", V("2.4.0amzn1.0"), V("2.4.0amzn3.0"), False),
        ("equal", V("2.0", "pep440"), V("2.0"), True),
        (
            "equal",
            V("0.6.8.post1", "pep440"),
            V("0.6.8", "pep440"),
            False,
        ),  # a post-release is another release
        ("at_least", V("2.9.0a0", "pep440"), V("2.9.0", "pep440"), False),
        ("equal", 12, 12, True),
        ("equal", "cxx11", "pre-cxx11", False),
        ("at_least", V("580.95.05"), V("580.65.06"), True),
        ("at_least", V("570.86.15"), V("570.133.20"), False),
        ("at_least", Capability(10, 3), V("10.0"), True),
        ("at_least", "not a version", V("1.0"), None),
        ("at_most", V("2.4"), V("2.10"), True),
        ("same_major", V("13.0.2"), 13, True),
        ("same_major", V("12.9"), V("13.0"), False),
        ("same_minor", V("2.8.0", "pep440"), V("2.8"), True),
        ("same_minor", V("2.8.0", "pep440"), V("2.9.1"), False),
        ("overlap", frozenset({8, 9}), frozenset({9, 10}), True),
        ("overlap", frozenset({4, 5}), frozenset({9, 10}), False),
        ("within", 570, frozenset({535, 570}), True),
        ("within", 560, frozenset({535, 570}), False),
        ("within", V("3.12.10", "pep440"), frozenset({"3.11", "3.12"}), True),
        ("within", frozenset({"a"}), frozenset({"a", "b"}), True),
        ("covers", (Target.parse("sm_86"),), Capability(8, 9), True),
        ("covers", (Target.parse("compute_90"),), Capability(10, 0), True),
        ("covers_natively", (Target.parse("compute_90"),), Capability(10, 0), False),
        ("covers", "sm_90", Capability(9, 0), None),
    ],
)
def test_relation(relation: str, left: Any, right: Any, holds: bool | None) -> None:
    assert RELATIONS[relation](left, right) is holds
