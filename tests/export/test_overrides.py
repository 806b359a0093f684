from __future__ import annotations

from packaging.requirements import Requirement

from stackcheck.export.overrides import render
from tests.samples import bare_stack, hard_stack


def test_overrides_hold_the_same_pins_as_constraints() -> None:
    lines = [line for line in render(hard_stack()).split("\n") if line and not line.startswith("#")]
    assert {Requirement(line).name for line in lines} == {"torch", "torchaudio", "vllm"}


def test_a_stack_without_packages_says_so() -> None:
    assert "No component of this stack is a package" in render(bare_stack())
