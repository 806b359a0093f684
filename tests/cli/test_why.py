"""`stackcheck why`: reasons that are facts of the matrices, and for each newer release what excludes it, proved by asking again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from stackcheck.catalog import Catalog
from stackcheck.model.version import Version
from tests.cli.conftest import Call

B200 = ("--gpu", "b200", "--images", "none")
QUESTIONS = [
    ("torch", "--gpu", "b200"),
    ("nccl", "--gpu", "b200"),
    ("torch", *B200, "--framework", "vllm"),
    ("nccl", *B200, "--framework", "vllm"),
    ("cuda", *B200, "--framework", "vllm"),
    ("driver", "--instance", "p6e-gb200.36xlarge", "--images", "none"),
    ("python", *B200),
    ("torch", "--gpu", "h100", "--with", "driver==550.54.15", "--images", "none"),
]
each_question = pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: " ".join(q))


def why(call: Call, *question: str) -> Any:
    outcome = call("why", *question, "--format", "json")
    assert outcome.code == 0, outcome.err
    return outcome.json


@each_question
def test_the_version_is_the_one_that_resolve_picks(question: tuple[str, ...], call: Call) -> None:
    stack = call("resolve", *question[1:], "--format", "json").json
    told = why(call, *question)
    pin = stack["components"][question[0]]
    assert told["version"] == pin["version"]
    assert told["grade"] == pin["grade"]
    assert told["component"] == question[0]
    assert told["why"]


@each_question
def test_every_newer_release_is_accounted_for(
    question: tuple[str, ...], call: Call, catalog: Catalog
) -> None:
    told = why(call, *question)
    component = catalog.component(question[0])
    assert component is not None
    chosen = Version(told["version"], component.scheme)
    arch = told["target"]["arch"]
    newer = {
        r.version.text
        for r in component.releases
        if r.version.public > chosen.public
        and (not r.builds or any(b.exists is not None and (not b.arch or arch in b.arch) for b in r.builds))
    }
    groups = [v for group in told["newer"] for v in group["versions"]]
    assert set(groups) == newer
    assert len(groups) == len(set(groups)), "each in one group"
    assert all(group["because"] for group in told["newer"])


@each_question
def test_a_verdict_on_a_newer_release_is_proved_by_asking_for_it(
    question: tuple[str, ...], call: Call
) -> None:
    name, *flags = question
    for group in why(call, *question)["newer"]:
        wanted = f"{name}=={group['versions'][0]}"
        again = call("resolve", *flags, "--with", wanted, "--format", "json")
        if group["verdict"] == "excluded":
            assert again.code == 1, f"{wanted} was called impossible"
            assert group["ask"] is None
        else:
            assert again.code == 0, f"{wanted} was called possible: {again.json['conflict']}"
            assert shlex.split(group["ask"]) == ["--with", wanted]


@each_question
def test_what_a_newer_release_costs_is_what_its_stack_holds(question: tuple[str, ...], call: Call) -> None:
    flags = question[1:]
    for group in why(call, *question)["newer"]:
        if group["verdict"] != "given":
            continue
        stack = call("resolve", *flags, *shlex.split(group["ask"]), "--format", "json").json
        for cost in group["cost"]:
            what, _, version = cost.partition(" ")
            if what in stack["components"] and not cost.startswith("degraded"):
                assert stack["components"][what]["version"] == version, cost


@each_question
def test_reasons_have_sources_and_rules_can_be_explained(question: tuple[str, ...], call: Call) -> None:
    told = why(call, *question)
    reasons = told["why"] + [r for group in told["newer"] for r in group["because"]]
    for reason in reasons:
        assert "{" not in reason["text"], "an unfilled placeholder"
        if reason["kind"] not in ("wish", "preference", "image"):
            assert reason["sources"], reason
        for rule in reason["rules"]:
            assert call("explain", rule).code == 0


def test_what_is_asked_for_is_a_reason_that_forces(call: Call) -> None:
    told = why(call, "torch", "--gpu", "b200", "--images", "none", "--with", "torch<2.14")
    forcing = [r for r in told["why"] if r["forces"]]
    assert any(r["kind"] == "wish" and "torch<2.14" in r["text"] for r in forcing)
    assert told["newer"][0]["because"][0]["text"] == "you ask for torch<2.14"
    assert {g["verdict"] for g in told["newer"]} == {"excluded"}


def test_a_requirement_names_who_requires(call: Call) -> None:
    told = why(call, "torch", *B200, "--framework", "vllm")
    assert any(r["forces"] and r["kind"] == "requires" and r["text"].startswith("vllm ") for r in told["why"])


def test_what_other_releases_require_is_not_said_of_this_one(call: Call, catalog: Catalog) -> None:
    told = why(call, "dlami", "--instance", "p6e-gb200.36xlarge", "--with", "dlami")
    component = catalog.component("dlami")
    assert component is not None
    release = next(r for r in component.releases if r.version.text == told["version"].split()[0])
    own = {f"requires {q.component} {q.range}" for b in release.builds for q in b.requires}
    for reason in told["why"]:
        if "requires" in reason["text"] and told["version"] in reason["text"]:
            assert any(asked in reason["text"] for asked in own), reason["text"]
    assert any(r["text"].startswith("rules out others: dlami 2026") for r in told["why"])


def test_nothing_but_preference_is_called_preference(call: Call) -> None:
    told = why(call, "efa-installer", "--instance", "p5.48xlarge", "--images", "none")
    assert any(r["kind"] == "preference" for r in told["why"])
    assert not any(r["forces"] for r in told["why"])
    assert not told["newer"]


def test_what_the_image_holds_is_the_reason_of_its_parts(call: Call) -> None:
    stack = call("resolve", "--gpu", "b200", "--format", "json").json
    held = next(
        c for c, p in stack["components"].items() if p["origin"] == "image" and c in ("torch", "nccl", "cuda")
    )
    told = why(call, held, "--gpu", "b200")
    assert told["why"][0]["kind"] == "image"
    assert told["why"][0]["sources"]


def test_what_the_image_brings_unasked_is_accounted_for_too(call: Call, catalog: Catalog) -> None:
    stack = call("resolve", "--gpu", "b200", "--format", "json").json["components"]
    for name, pin in stack.items():
        component = catalog.component(name)
        assert component is not None
        if pin["origin"] != "image" or component.scheme != "pep440":
            continue
        told = why(call, name, "--gpu", "b200")
        held = Version(pin["version"], component.scheme)
        newer = {r.version.text for r in component.releases if r.version.public > held.public}
        assert {v for group in told["newer"] for v in group["versions"]} == newer, name


def test_why_this_image(call: Call) -> None:
    told = why(call, "image", "--gpu", "b200")
    stack = call("resolve", "--gpu", "b200", "--format", "json").json
    assert told["image"] == f"{stack['image']['repository']}:{stack['image']['tag']}"
    assert told["why"]


def test_a_component_outside_the_stack_is_said_to_be_outside(call: Call) -> None:
    told = why(call, "slurm", *B200)
    assert told["version"] is None
    assert "nothing in this stack asks for it" in told["why"][0]["text"]
    assert "is not pinned in this stack" in call("why", "slurm", *B200).out


def test_names_resolve_through_aliases(call: Call) -> None:
    assert why(call, "nvidia-nccl-cu13", *B200) == why(call, "nccl", *B200)


def test_on_a_conflict_the_conflict_is_printed(call: Call) -> None:
    flags = ("--gpu", "b200", "--with", "torch==2.4.1")
    assert call("why", "nccl", *flags).out == call("resolve", *flags).out
    outcome = call("why", "nccl", *flags, "--format", "json")
    assert outcome.code == 1
    assert outcome.json["status"] == "conflict"


def test_the_text_says_all_that_the_json_says(call: Call) -> None:
    text = " ".join(call("why", "torch", *B200, "--framework", "vllm", "--all").out.split())
    told = why(call, "torch", *B200, "--framework", "vllm")
    for reason in told["why"] + [r for group in told["newer"] for r in group["because"]]:
        assert " ".join(reason["text"].split()) in text
        assert all(s in text for s in reason["sources"])
    for version in (v for group in told["newer"] for v in group["versions"]):
        assert version in text


# locks


def test_a_lock_is_explained_by_what_it_records(call: Call, tmp_path: Path) -> None:
    lock = tmp_path / "stack.json"
    flags = ("--gpu", "h100", "--framework", "vllm", "--images", "none")
    assert call("resolve", *flags, "-o", str(lock)).code == 0
    pinned = json.loads(lock.read_text())["components"]
    for name in ("torch", "vllm", "driver"):
        told = why(call, name, "--lock", str(lock))
        assert told["version"] == pinned[name]["version"]
        assert told["why"] == why(call, name, *flags)["why"]
        assert not told["notes"]


def test_a_lock_with_an_image_keeps_its_image(call: Call, lock: Path) -> None:
    body = json.loads(lock.read_text())
    told = why(call, "torch", "--lock", str(lock))
    assert told["image"] == f"{body['image']['repository']}:{body['image']['tag']}"
    assert told["version"] == body["components"]["torch"]["version"]


def test_a_lock_that_is_older_than_the_data_is_explained_as_it_is(call: Call, tmp_path: Path) -> None:
    lock = tmp_path / "stack.json"
    flags = ("--gpu", "h100", "--images", "none")
    assert call("resolve", *flags, "--with", "torch<2.13", "-o", str(lock)).code == 0
    body = json.loads(lock.read_text())
    body["requirements"] = body["request"]["with"] = []  # as if the newer releases had come out since
    lock.write_text(json.dumps(body))
    told = why(call, "torch", "--lock", str(lock))
    assert told["version"] == body["components"]["torch"]["version"]
    assert "the lock has torch" in told["notes"][0]
    assert any(g["verdict"] == "later" and "the lock has" in g["because"][0]["text"] for g in told["newer"])


def test_a_lock_says_everything_and_flags_nothing_more(call: Call, lock: Path) -> None:
    outcome = call("why", "torch", "--lock", str(lock), "--gpu", "b200")
    assert outcome.code == 2
    assert "exclude each other" in outcome.message


@pytest.mark.parametrize("question", [("torch==2.6",), ("torch", "2.6"), ("pytorch==2.6.0",)], ids=" ".join)
def test_a_version_that_no_stack_can_have_is_answered_with_the_conflict(
    call: Call, question: tuple[str, ...]
) -> None:
    outcome = call("why", *question, "--gpu", "b300", "--format", "json")
    assert outcome.code == 1
    assert outcome.json["status"] == "conflict"
    assert "is broken on NVIDIA B300" in json.dumps(outcome.json["conflict"])


def test_a_newer_version_that_was_passed_over_is_told_alone(call: Call) -> None:
    question = ("torch", "--gpu", "b300")
    every = why(call, *question)["newer"]
    wanted = every[0]["versions"][0]
    (group,) = why(call, f"torch=={wanted}", "--gpu", "b300")["newer"]
    assert group == {**every[0], "versions": group["versions"]}
    assert wanted in group["versions"]
    assert len(group["versions"]) < sum(len(g["versions"]) for g in every)


def test_the_version_of_the_stack_is_explained_as_without_it(call: Call) -> None:
    plain = why(call, "torch", "--gpu", "b300")
    assert why(call, f"torch=={plain['version']}", "--gpu", "b300") == plain


def test_an_older_version_that_is_possible_is_put_into_the_question(call: Call) -> None:
    body = why(call, "torch==2.9", "--gpu", "b300")
    assert body["version"].startswith("2.9.")
    assert any("unasked, this stack has torch" in note for note in body["notes"])


@pytest.mark.parametrize("question", ["torch>=2.6", "torch==2.6,!=2.6.1", "torch==2.6||==2.7"])
def test_more_than_one_version_is_sent_to_resolve(call: Call, question: str) -> None:
    outcome = call("why", question, "--gpu", "b300")
    assert outcome.code == 2
    assert f"stackcheck resolve --with '{question}'" in outcome.message
