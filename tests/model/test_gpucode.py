"""Which GPU code runs where: the cases that false reds are made of."""

from __future__ import annotations

import pytest

from stackcheck.model.gpucode import Capability, Target, covers, covers_natively


def targets(text: str) -> list[Target]:
    return [Target.parse(t) for t in text.split()]


@pytest.mark.parametrize(
    ("code", "gpu", "native", "at_all"),
    [
        ("sm_80 sm_86 sm_90", "8.9", True, True),  # L40S runs sm_86 cubins
        ("sm_90 sm_100", "10.3", True, True),  # B300 runs sm_100 cubins
        ("sm_100f", "10.3", True, True),
        ("sm_100a", "10.3", False, False),  # `a` is exactly its own
        ("sm_103a", "10.3", True, True),
        ("sm_103f", "10.0", False, False),  # a family does not reach down
        ("sm_90", "10.0", False, False),  # nor across majors
        ("sm_100 sm_120", "12.1", True, True),
        ("sm_100", "12.0", False, False),  # RTX PRO 6000 is another family
        ("compute_90", "10.0", False, True),  # PTX is compiled
        ("compute_90a", "10.0", False, False),
        ("compute_90", "8.0", False, False),
        ("sm_90a compute_90", "9.0", True, True),
        ("", "9.0", False, False),
    ],
)
def test_coverage(code: str, gpu: str, native: bool, at_all: bool) -> None:
    assert covers_natively(targets(code), Capability.parse(gpu)) is native
    assert covers(targets(code), Capability.parse(gpu)) is at_all


@pytest.mark.parametrize("text", ["sm_9", "sm90", "sm_90x", "compute", "SM_90", "", "sm_1000"])
def test_malformed_targets_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="target"):
        Target.parse(text)


def test_targets_print_as_written() -> None:
    for text in ("sm_90a", "sm_100f", "compute_90", "sm_120"):
        assert str(Target.parse(text)) == text
