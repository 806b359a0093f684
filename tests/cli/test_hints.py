"""What a slip on the command line was meant to be: the one line says what to type instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackcheck.catalog import Catalog
from stackcheck.catalog.names import toolkit_of
from tests.cli.conftest import Call

_RESOLVE = ("resolve", "--gpu", "h100")
_SLIPS = (
    (("chekc", "freeze.txt"), "no command 'chekc'; did you mean check?"),
    (("--gpu", "b200", "resolve"), "the command comes first: stackcheck resolve --gpu"),
    (("resolve", "--gpus", "h100"), "did you mean --gpu?"),
    (("resolve", "--frameworks", "torch"), "did you mean --framework?"),
    (("resolve", "-f", "torch"), "did you mean --framework?"),
    (("resolve", "--json"), "did you mean --format json?"),
    (("check", "freeze.txt", "--sarif"), "did you mean --format sarif?"),
    (("show", "image", "--famly", "ngc"), "did you mean --family?"),
    (("resolve", "--driver", "580"), "did you mean --with driver==580?"),
    (("resolve", "--cuda=12.8"), "did you mean --with cuda==12.8?"),
    (("why", "nccl", "--nvidia-driver", "580"), "did you mean --with driver==580?"),
    (("resolve", "--fabric-manager", ">=580"), "did you mean --with fabric-manager?"),
    (("resolve", "b200"), "did you mean --gpu b200?"),
    (("resolve", "p5.48xlarge"), "did you mean --instance p5.48xlarge?"),
    (("resolve", "vllm>=0.30"), "did you mean --framework 'vllm>=0.30'?"),
    (("resolve", "nccl"), "did you mean --with nccl?"),
    (("graph", "nccl"), "did you mean --component nccl?"),
    (("matrices", "update", "."), "did you mean --from .?"),
    ((*_RESOLVE, "--with", "driver=580"), "did you mean driver==580?"),
    ((*_RESOLVE, "--with", "torch 2.9"), "did you mean torch==2.9?"),
    ((*_RESOLVE, "--with", "cu128"), "did you mean cuda==12.8?"),
    ((*_RESOLVE, "--with", "cuda==cu128"), "did you mean cuda==12.8?"),
    ((*_RESOLVE, "--framework", "torch,vllm"), "--framework torch --framework vllm"),
    ((*_RESOLVE, "--framework", "torch vllm>=0.30"), "--framework torch --framework 'vllm>=0.30'"),
    (("resolve", "--", "b200"), "did you mean --gpu b200?"),
    (("why", "nccl", "torch", "--gpu", "h100"), "why 'nccl==torch': not a version"),
    (("probe", "--only", "gpu"), "did you mean gpus?"),
    (("show", "b300"), "did you mean gpu b300?"),
    (("show", "p5.48xlarge"), "did you mean instance p5.48xlarge?"),
    (("show", "torch"), "did you mean component torch?"),
    (("show", "imgae"), "did you mean image?"),
    (("matrices", "stauts"), "did you mean status?"),
    ((*_RESOLVE, "--policy", "newst"), "did you mean newest?"),
    (("explain", "SC-2026-1"), "did you mean SC-2026-0001?"),
)


@pytest.mark.parametrize(("arguments", "words"), _SLIPS, ids=lambda a: " ".join(a)[:50])
def test_a_slip_is_answered_with_what_was_meant(call: Call, arguments: tuple[str, ...], words: str) -> None:
    outcome = call(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert words in outcome.message


@pytest.mark.parametrize(
    "command",
    [("resolve",), ("why", "nccl"), ("graph",), ("check",), ("probe",), ("diff",)],
    ids=lambda c: c[0],
)
def test_a_gpu_and_an_instance_type_that_changed_places_point_at_each_other(
    call: Call, tmp_path: Path, command: tuple[str, ...]
) -> None:
    freeze = tmp_path / "freeze.txt"
    freeze.write_text("torch==2.9.1\n", encoding="utf-8")
    files = (str(freeze),) * {"check": 1, "diff": 2}.get(command[0], 0)
    limits = ("--only", "kernel") if command[0] == "probe" else ()
    assert "did you mean --gpu h100?" in call(*command, *files, *limits, "--instance", "h100").message
    assert (
        "did you mean --instance p5.48xlarge"
        in call(*command, *files, *limits, "--gpu", "p5.48xlarge").message
    )
    begun = call(*command, *files, *limits, "--instance", "p5en").message
    assert begun.endswith("did you mean p5en.48xlarge?")


@pytest.mark.parametrize("command", [("show", "instance"), ("resolve", "--instance")], ids=" ".join)
def test_the_beginning_of_an_instance_type_offers_its_sizes(call: Call, command: tuple[str, ...]) -> None:
    assert call(*command, "p5").message.endswith("did you mean p5.48xlarge or p5.4xlarge?")


@pytest.mark.parametrize("word", ["hopper", "Blackwell", "ada", "Ada Lovelace", "blackwell ultra"])
def test_an_architecture_offers_the_gpus_that_the_matrices_say_have_it(
    call: Call, catalog: Catalog, word: str
) -> None:
    having = [
        g.id for g in catalog.gpus() if set(word.lower().split()) <= set(g.architecture.lower().split())
    ]
    message = call("resolve", "--gpu", word).message
    assert having
    assert all(gpu in message for gpu in having)
    assert "did you mean" in message


@pytest.mark.parametrize("name", ["mi300x", "a6000", "5090", "gaudi3", "h800"])
def test_what_is_not_near_is_not_offered(call: Call, catalog: Catalog, name: str) -> None:
    message = call("resolve", "--gpu", name).message
    assert "did you mean" not in message
    assert all(gpu in message for gpu in catalog.gpu_ids)


def test_a_directory_is_sent_to_probe(call: Call, tmp_path: Path) -> None:
    for command in (("check",), ("diff", str(tmp_path)), ("resolve", "--host")):
        outcome = call(*command, str(tmp_path))
        assert outcome.code == 2
        assert outcome.message.endswith(f"stackcheck probe --root {tmp_path}")


def test_a_pin_in_the_place_of_a_host_file_is_told_its_flag(call: Call, tmp_path: Path) -> None:
    message = call("resolve", "--gpu", "h100", "--host", "driver==580.95.05").message
    assert message.endswith("did you mean --with driver==580.95.05?")
    bare = tmp_path / "host.json"
    bare.write_text("{}", encoding="utf-8")
    assert "--with driver==" in call("resolve", "--gpu", "h100", "--host", str(bare)).message


def test_constraints_that_pin_nothing_are_doubted_on_stderr(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "constraints.txt"
    outcome = call(
        "resolve", "--instance", "p6-b200.48xlarge", "--framework", "vllm", "--export", f"constraints={path}"
    )
    pinned = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    assert outcome.code == 0
    assert bool(outcome.err) is not bool(pinned)


def test_a_patch_level_of_python_is_left_out_and_said(call: Call) -> None:
    outcome = call(*_RESOLVE, "--images", "none", "--python", "3.12.4", "--format", "json")
    assert outcome.code == 0
    assert outcome.message == "--python 3.12.4: taken as 3.12"
    assert outcome.json["components"]["python"]["version"].startswith("3.12")


def test_probes_can_be_listed(call: Call) -> None:
    outcome = call("probe", "--list")
    assert outcome.code == 0
    assert "gpus" in outcome.out


def test_the_nearest_input_format_is_offered(call: Call, tmp_path: Path) -> None:
    text = tmp_path / "x.log"
    text.write_text("NCCL INFO\n", encoding="utf-8")
    assert call("check", str(text), "--input-format", "nccl").message.endswith("did you mean nccl-log?")


def test_the_toolkit_of_a_label_is_that_of_the_builds(catalog: Catalog) -> None:
    torch = catalog.component("torch")
    assert torch is not None
    for build in (b for r in torch.releases for b in r.builds):
        if build.label.startswith("cu") and "cuda" in build.attributes:
            assert toolkit_of(catalog, build.label) == str(build.attributes["cuda"])
    assert toolkit_of(catalog, "cu999") == ""


def test_a_hint_needs_no_readable_overlay(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STACKCHECK_MATRICES", str(tmp_path / "missing"))
    assert "no flag '--driver'" in call("resolve", "--driver", "580").message
