"""Command lines nobody means: long, empty, foreign, contradicting, and values that look like options."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.robust.conftest import ESCAPES, Call, ended_well

_COMMANDS = (
    ("resolve",), ("why",), ("why", "torch"), ("graph",), ("explain",), ("show",), ("show", "gpu"), ("show", "component"),
    ("show", "image"), ("show", "instance"), ("show", "advisory"), ("diff",), ("matrices",), ("matrices", "status"), ("matrices", "diff"),
    ("completion",), ("check",), ("no-such-command",), ("",), ("-",), ("--",), ("---",), ("\u202e",),
)  # fmt: skip
_BAD = (
    ("x" * 100_000,), ("\n\n",), ("--gpu", "x" * 100_000), ("--gpu", ESCAPES), ("--no-such-flag",), ("--gpu",), ("-o",),
    ("--format", "xml"), ("\u202eabc", "漢"), ("--", "--gpu"), ("--gpu", "b200", "--gpu", "nothing"), (ESCAPES,),
)  # fmt: skip


@pytest.mark.parametrize("command", _COMMANDS, ids=" ".join)
def test_a_command_line_nobody_means_is_one_line(call: Call, command: tuple[str, ...]) -> None:
    for bad in _BAD:
        ended_well(call(*command, *bad))


@pytest.mark.parametrize(
    "flags",
    [
        ("--with", "torch" + ",".join([">=2"] * 500)),
        ("--with", "torch" + "||".join([">=2"] * 400)),
        ("--with", "torch==" + "9" * 5000),
        ("--with", "torch==" + "1." * 1000 + "1"),
        ("--with", "torch = 2"),
        ("--with", "=="),
        ("--with", "os=="),
        ("--with", ""),
        ("--with", "env:NCCL_PROTO==1"),
        ("--with", "torch==2; import os"),
        ("--framework", "vllm @ git+https://example.org/x"),
        ("--framework", "verl[vllm"),
        ("--framework", "[vllm]"),
        ("--framework", "vllm==*"),
        ("--framework", "vllm~=1"),
        ("--framework", "gpu"),
        ("--python", "-1"),
        ("--python", ">=3.10"),
        ("--python", "٣.١٢"),
        ("--python", "9" * 5000),
        ("--arch", "aarch64"),
        ("--instance", "p5.48xlarge"),
        ("--image", ":"),
        ("--image", "@sha256:abc"),
        ("--image", "x" * 100_000),
        ("--export", "=x"),
        ("--export", "x" * 1000),
        ("--policy", "best"),
    ],
    ids=lambda flags: " ".join(flags)[:50],
)  # fmt: skip
def test_a_wish_that_is_none_is_refused(call: Call, flags: tuple[str, ...]) -> None:
    outcome = call("resolve", "--gpu", "b200", *flags)
    ended_well(outcome)
    assert outcome.code == 2


@pytest.mark.parametrize(
    "flags",
    [
        ("--framework", "torch[a,b]==1"),
        ("--python", "99"),
        ("--with", "torch>2,<1"),
        ("--with", "torch==2.9.1", "--with", "torch==2.8.0"),
        ("--with", "torch==2.9.1", "--without", "torch"),
        ("--with", "glibc>=99"),
        tuple(part for i in range(500) for part in ("--with", f"torch>={i}")),
    ],
    ids=lambda flags: " ".join(flags)[:50],
)
def test_a_wish_nobody_can_fulfil_is_explained(call: Call, flags: tuple[str, ...]) -> None:
    outcome = call("resolve", "--gpu", "b200", *flags)
    ended_well(outcome)
    assert outcome.code == 1
    assert "why" in outcome.out


@pytest.mark.parametrize(
    "flags",
    [
        ("--with", "torch==9.0"),
        ("--with", "nccl==99.0.0"),
        ("--with", "kernel==99.0"),
        ("--with", "vllm==99"),
    ],
)
def test_what_is_newer_than_the_data_is_not_refused(call: Call, flags: tuple[str, ...]) -> None:
    outcome = call("resolve", "--gpu", "b200", *flags, "--format", "json")
    ended_well(outcome)
    assert outcome.json["status"] == "solved"


def test_the_same_wish_five_hundred_times_is_one_wish(call: Call) -> None:
    once = call("resolve", "--gpu", "b200", "--with", "torch>=2", "--format", "json").json
    often = call("resolve", "--gpu", "b200", *["--with", "torch>=2"] * 500, "--format", "json").json
    versions = [
        {name: entry["version"] for name, entry in body["components"].items()} for body in (once, often)
    ]
    assert versions[0] == versions[1]


@pytest.mark.parametrize(
    "command",
    [
        ("check", "-", "--gpu", ""),
        ("check", "-", "--output", ""),
        ("check", "-", "-o", ""),
        ("check", "-", "--matrices="),
        ("probe", "--root", ""),
        ("resolve", "--instance", "p5.48xlarge", "--gpu", ""),
        ("resolve", "--gpu", "b200", "--lock="),
        ("matrices", "status", "--matrices", ""),
        ("matrices", "update", "--from", ""),
    ],
    ids=" ".join,
)
def test_an_unset_variable_is_no_flag_left_out(call: Call, command: tuple[str, ...]) -> None:
    outcome = call(*command)
    ended_well(outcome)
    assert outcome.code == 2
    assert "is empty; give it a value, or leave it out" in outcome.message


@pytest.mark.parametrize("number", ["9" * 5000, "99999999999", "٣", "0", "-1", ""])
def test_a_process_id_that_is_none_is_refused(call: Call, number: str) -> None:
    outcome = call("probe", "--pid", number)
    ended_well(outcome)
    assert outcome.code == 2
    assert "_pid" not in outcome.message
    assert len(outcome.message) < 500


@pytest.mark.parametrize(
    "command",
    [
        ("matrices", "update", "--from", "/nonexistent"),
        ("matrices", "update", "--from", "/dev/null"),
        ("matrices", "update", "--from", "/dev"),
        ("matrices", "diff", "/dev", "shipped"),
        ("check", "--image", "oci:/nonexistent"),
    ],
    ids=" ".join,
)
def test_every_refusal_says_what_to_do(call: Call, command: tuple[str, ...]) -> None:
    outcome = call(*command)
    ended_well(outcome)
    assert outcome.code == 2
    assert "; " in outcome.message


@pytest.mark.parametrize(
    "wish", ["glibc==1.0", "glibc>=99", "glibc==2.17", "os==windows-11", "os==debian-10"]
)
def test_nobody_puts_another_c_library_or_distribution_on_top_of_an_image(call: Call, wish: str) -> None:
    outcome = call("resolve", "--gpu", "b200", "--with", wish, "--format", "json")
    ended_well(outcome)
    stack = outcome.json
    if stack["status"] == "solved":
        assert stack["image"] is None or stack["image"]["grade"] != "broken"
        named = stack["components"][wish.partition("==")[0]]
        assert stack["image"] is None or named["origin"] == "image"
    else:
        assert f"you ask for {wish}" in stack["conflict"]["chain"]
        assert len(stack["conflict"]["chain"]) <= 5
        assert stack["alternatives"]


def test_an_image_has_the_c_library_of_its_distribution(call: Call) -> None:
    stack = call("resolve", "--gpu", "b200", "--with", "glibc==2.35", "--format", "json").json
    assert stack["image"]["os"] == "ubuntu-22.04"
    assert stack["components"]["glibc"]["origin"] == "image"


@pytest.mark.parametrize("name", ["lock", "inventory-json", "uv-lock", "nvidia-smi-xml"])
def test_a_text_that_is_not_the_document_it_is_called_is_refused(
    call: Call, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "freeze.txt"
    path.write_text("torch==2.4.1\n")
    outcome = call("check", str(path), "--gpu", "b200", "--input-format", name)
    ended_well(outcome)
    assert outcome.code == 2


def test_a_run_that_fails_ends_with_its_fault_alone(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "host.json"
    path.write_text('{"schema": "stackcheck.inventory/1", "components": {"kernel": "6.8.0"}}')
    arguments = ("resolve", "--host", str(path), "--images", "none")
    assert call(*arguments, "--gpu", "b200").message.endswith("the driver, which is chosen freely")
    outcome = call(*arguments, "--gpu", "h100", "--instance", "p6-b200.48xlarge")
    ended_well(outcome)
    assert outcome.message.startswith("p6-b200.48xlarge has b200, not h100")
