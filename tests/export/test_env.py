from __future__ import annotations

import subprocess

from stackcheck.export.env import render
from stackcheck.export.quoting import plain
from tests.samples import NASTY, bare_stack, hard_stack


def test_a_shell_reads_back_every_value_as_it_was_meant() -> None:
    script = render(hard_stack()) + 'printf "%s" "$NASTY|$NCCL_NET_PLUGIN"\n'
    done = subprocess.run(
        ["sh", "-eu"], input=script.encode(), capture_output=True, check=True, env={}, timeout=20
    )
    assert done.stdout.decode() == f"{plain(NASTY)}|ofi"
    assert done.stderr == b""


def test_what_the_image_sets_is_a_comment() -> None:
    assert "\n# - NVIDIA_VISIBLE_DEVICES=all\n" in render(hard_stack())
    assert "export NVIDIA_VISIBLE_DEVICES" not in render(hard_stack())


def test_a_replaced_value_of_the_image_is_named() -> None:
    assert "# the image sets NCCL_NET_PLUGIN=spcx\nexport NCCL_NET_PLUGIN=ofi\n" in render(hard_stack())


def test_a_name_no_shell_can_hold_is_dropped() -> None:
    assert "bad name" not in render(hard_stack())


def test_nothing_to_set_is_said() -> None:
    assert "needs no variable" in render(bare_stack())
