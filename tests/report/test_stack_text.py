from __future__ import annotations

import re
import textwrap
from collections.abc import Callable

import pytest

from stackcheck.model.finding import Grade
from stackcheck.model.stack import Alternative, Change, HeldBack, Pin, Stack, StackConflict, Target
from stackcheck.report.stack_text import LAYERS, by_layer, flag_for, render_stack
from stackcheck.report.style import GRADE_LETTERS, GRADE_SIGNS
from tests.samples import bare_stack, conflict, empty_stack, hard_stack, pin


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("width", [60, 100])
def test_golden(golden: Callable[[str, str], None], width: int, verbose: bool) -> None:
    stem = f"stack-text.{width}{'.verbose' if verbose else ''}.txt"
    golden(stem, render_stack(hard_stack(), width=width, verbose=verbose))


def test_golden_conflict(golden: Callable[[str, str], None]) -> None:
    golden("conflict-text.100.txt", render_stack(conflict()))


@pytest.mark.parametrize("make", [hard_stack, bare_stack, empty_stack, conflict])
@pytest.mark.parametrize("width", [1, 60, 100, 200])
def test_no_control_character_gets_out(make, width: int) -> None:  # type: ignore[no-untyped-def]
    for verbose in (False, True):
        text = render_stack(make(), width=width, verbose=verbose)
        text.encode("utf-8")
        assert all(c.isprintable() or c == "\n" for c in text)
        assert all(line == line.rstrip() for line in text.split("\n"))


def test_image_first_then_layers_from_the_machine_up() -> None:
    lines = render_stack(hard_stack()).split("\n")
    assert next(line for line in lines[2:] if line).startswith("image  123456789012.dkr.ecr.")
    heads = [line for line in lines if line in LAYERS or line == "other"]
    assert heads == [
        "driver",
        "cuda",
        "communication",
        "fabric",
        "framework",
        "serving",
        "scheduler",
        "other",
    ]


def test_a_pin_says_version_origin_reason_and_what_was_held_back() -> None:
    text = render_stack(hard_stack())
    assert (
        textwrap.dedent(
            """\
        framework
          ○ torch          2.9.0+cu130  in image  in the image
                                                  not 2.14.0: vllm 0.12.0 needs torch ==2.9.0
        """
        )
        in text
    )


def test_a_newer_release_without_a_recorded_reason_is_still_named() -> None:
    assert "not 595.91.07: no reason recorded" in render_stack(hard_stack(), verbose=True)


def test_a_reason_that_holds_newer_ones_back_too_is_not_said_twice() -> None:
    because = "torch 2.9.0 requires nccl ==2.27.5"
    held = (HeldBack("2.30.7", (because,)), HeldBack("2.29.3", (because,)))
    stack = Stack(
        target=Target(gpu="h100"),
        pins=(pin("nccl", "2.27.5", "communication", "install", why=(because,), held_back=held),),
    )
    text = render_stack(stack)
    assert text.count(because) == 1
    assert "so not 2.30.7 (and 1 more)\n" in text


def test_an_alternative_tells_first_what_was_asked_for() -> None:
    way = Alternative(
        change=(Change("vllm==0.9", "vllm==0.12"),),
        result={"os": "22.04-ubuntu", "python": "3.12", "cuda": "13.0.2", "torch": "2.9.0", "vllm": "0.12.0"},
    )
    stack = Stack(
        target=Target(gpu="h100"),
        conflict=StackConflict(requirements=("vllm==0.9",), facts=(), chain=()),
        alternatives=(way,),
        requirements=("vllm==0.9",),
    )
    assert "gives vllm 0.12.0, torch 2.9.0, cuda 13.0.2, python 3.12, os 22.04-ubuntu\n" in render_stack(
        stack
    )


def test_the_only_build_of_a_release_is_not_worth_a_word() -> None:
    stack = Stack(
        target=Target(gpu="h100"), pins=(pin("triton", "3.8.0", "framework", "install", build="wheel"),)
    )
    assert "wheel" not in render_stack(stack)


def test_an_unverified_tag_is_not_offered_to_pull() -> None:
    text = render_stack(empty_stack())
    assert (
        "image  no verified tag is known (nvcr.io/nvidia/pytorch:26.09-py3 is in no list that was read)"
        in text
    )


def test_every_grade_has_its_own_sign_without_colour() -> None:
    assert len(set(GRADE_SIGNS.values())) == len(set(GRADE_LETTERS.values())) == len(Grade)
    assert all(letter.isascii() for letter in GRADE_LETTERS.values())
    assert "✓ supported  ○ tested  ! caveat  ↓ degraded  ✗ broken  ? unknown" in render_stack(hard_stack())


def test_ascii_is_ascii() -> None:
    assert render_stack(hard_stack(), ascii_only=True, verbose=True).isascii()


def test_colour_changes_nothing_but_colour() -> None:
    for make in (hard_stack, conflict):
        plain = render_stack(make())
        coloured = render_stack(make(), colour=True)
        assert "\x1b" not in plain
        stripped = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
        assert [line.rstrip() for line in stripped.split("\n")] == plain.split("\n")


def test_a_conflict_is_a_chain_and_flags_to_pass() -> None:
    text = render_stack(conflict())
    assert text.startswith("no stack for NVIDIA B200 · x86_64")
    assert "  1. you ask for torch ==2.4.1\n" in text
    assert "  3. NVIDIA B200 needs sm_100, which CUDA 12.8 is the first to compile\n" in text
    assert "  1. --with 'torch>=2.8'\n     instead of torch==2.4.1\n     gives torch 2.14.0+cu130" in text


@pytest.mark.parametrize(
    ("change", "flag"),
    [
        (Change("torch==2.4.1", "torch>=2.8"), "--with 'torch>=2.8'"),
        (Change("--framework torch==2.4.1", "torch>=2.8"), "--framework 'torch>=2.8'"),
        (Change("--gpu b200", "h100"), "--gpu h100"),
        (Change("cuda>=13", "--images none"), "--images none"),
        (Change("--with cuda>=13", ""), "leave out --with cuda>=13"),
        (Change("torch==2.4.1", "leave torch out"), "leave torch out"),
        (Change("the host has driver 550.54.15", "driver==580.95.05"), "on the host: driver 580.95.05"),
        (Change("x", "a'; rm -rf ~"), "--with 'a'\"'\"'; rm -rf ~'"),
    ],
)
def test_flags_can_be_pasted(change: Change, flag: str) -> None:
    assert flag_for(change) == flag


def test_layers_that_nobody_knows_come_last() -> None:
    pins = (pin("a", "1", "zzz", "host"), pin("b", "1", "serving", "host"), pin("c", "1", "driver", "host"))
    assert list(by_layer(pins)) == ["driver", "serving", "zzz"]


def test_a_build_that_the_version_does_not_name_is_shown() -> None:
    stack = Stack(
        target=Target(gpu="h100"),
        pins=(Pin(component="torch", version="2.9.0", build="cu128", scope="container", layer="framework"),),
    )
    assert "2.9.0 (cu128)" in render_stack(stack)
