"""Candidates against reviewed data: nothing reviewed is replaced, and every hole is either filled or marked."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from stackcheck.catalog import parse
from stackcheck.catalog.files import matrices_root, read_json
from stackcheck.catalog.validate import faults_of
from stackcheck.harvest import edit
from stackcheck.harvest.diff_text import json_of, text_of
from stackcheck.harvest.interface import Candidate, Value
from stackcheck.harvest.packages import Remark
from stackcheck.harvest.reconcile import Kind, Proposal, compare
from stackcheck.model.release import Requirement

BODY: dict[str, Any] = {
    "id": "engine",
    "name": "Engine",
    "scope": "container",
    "layer": "serving",
    "scheme": "pep440",
    "description": "an engine",
    "packages": ["pkg:pypi/engine"],
    "attributes": {"cuda": "version", "glibc": "version", "python": "strings", "kind": "string"},
    "read": "2026-11-01",
    "sources": {},
    "releases": [
        {
            "version": "1.1",
            "date": "2026-10-01",
            "attributes": {"kind": "a"},
            "requires": [
                {"component": "torch", "range": ">=2.13,<2.15"},
                {"component": "vllm", "range": "==0.33.0", "extra": "vllm"},
            ],
            "builds": [
                {
                    "label": "cu130",
                    "default": True,
                    "arch": ["x86_64"],
                    "attributes": {"cuda": "13.0", "glibc": "2.28", "python": ["3.12"]},
                    "requires": [{"component": "nccl", "range": "==2.30.7"}],
                    "sources": ["pkg:pypi/engine@1.1"],
                }
            ],
            "sources": ["pkg:pypi/engine@1.1"],
        },
        {"version": "1.0", "date": None, "requires": None, "sources": ["pkg:pypi/engine@1.0"]},
    ],
}


def candidate(release: str, field: str, value: Value) -> Candidate:
    return Candidate(
        component="engine",
        release=release,
        field=field,
        value=value,
        source=f"pkg:pypi/engine@{release}",
        date="2026-11-29",
        extractor="test/1",
        detail=f"engine-{release}.whl",
    )


def requires(release: str, *rows: Requirement) -> Candidate:
    return candidate(release, "requires", rows)


def kinds(*candidates: Candidate, **more: Any) -> list[tuple[str, str]]:
    return [(str(p.kind), p.field) for p in compare(BODY, candidates, **more)]


def written(*candidates: Candidate) -> dict[str, Any]:
    edited = edit.apply(BODY, compare(BODY, candidates))
    schema = read_json(f"{matrices_root()}/schema/component.schema.json")
    assert faults_of(edited, schema) == ()
    parse.component(edited, "engine.json")
    return edited


def release(body: dict[str, Any], version: str) -> dict[str, Any]:
    found: dict[str, Any] = next(r for r in body["releases"] if r["version"] == version)
    return found


@pytest.mark.parametrize("text", [">=2.13,<2.15", "<2.15,>=2.13", ">=2.13", ">=0", ">=2.13.0,<2.15"])
def test_the_same_said_otherwise_is_no_news(text: str) -> None:
    assert kinds(requires("1.1", Requirement("torch", text), Requirement("nccl", "==2.30.7"))) == []


def test_another_range_contradicts_and_both_are_kept() -> None:
    fact = requires("1.1", Requirement("torch", "==2.14.0"))
    assert kinds(fact) == [("contradicting", "requires.torch")]
    body = written(fact)
    mine = release(body, "1.1")
    assert mine["requires"] == BODY["releases"][0]["requires"], "the reviewed value stands"
    (row,) = mine["disagreements"]
    assert (row["attribute"], row["value"], row["sources"]) == (
        "requires.torch",
        "==2.14.0",
        ["pkg:pypi/engine@1.1"],
    )
    assert "engine-1.1.whl" in row["note"]
    again = edit.apply(body, compare(body, [fact]))
    assert again == body, "saying it twice writes it once"


def test_what_reviewers_left_out_is_told_and_not_written() -> None:
    fact = requires("1.1", Requirement("numpy", ">=2"), Requirement("ray", "==2", "test"))
    assert kinds(fact) == [("unlisted", "requires.numpy")]
    assert written(fact) == BODY


def test_an_unread_release_is_filled() -> None:
    rows = (
        Requirement("python", ">=3.10"),
        Requirement("torch", "==2.12.0", arch=("x86_64",), optional=True),
    )
    body = written(requires("1.0", *rows), candidate("1.0", "date", "2026-01-05"))
    mine = release(body, "1.0")
    assert mine["date"] == "2026-01-05"
    assert mine["requires"] == [
        {"component": "python", "range": ">=3.10"},
        {"component": "torch", "range": "==2.12.0", "arch": ["x86_64"], "optional": True},
    ]


def test_dates_a_few_days_apart_are_one_day_and_others_contradict() -> None:
    assert kinds(candidate("1.1", "date", "2026-10-03")) == []
    assert kinds(candidate("1.1", "date", "2026-12-03")) == [("contradicting", "date")]


def test_a_withdrawn_release_is_marked() -> None:
    assert release(written(candidate("1.1", "yanked", value=True)), "1.1")["yanked"] is True


def test_a_new_release_has_every_edge_of_its_neighbour_or_null() -> None:
    body = written(
        candidate("1.2", "exists", value=True),
        candidate("1.2", "date", "2026-11-20"),
        candidate("1.2", "python:x86_64", ("3.12", "3.13")),
        candidate("1.2", "glibc:x86_64", "2.34"),
        requires("1.2", Requirement("torch", "==2.15.0"), Requirement("nccl", "==2.31.2")),
    )
    mine = release(body, "1.2")
    assert mine["date"] == "2026-11-20"
    assert mine["attributes"] == {"kind": None}
    assert mine["requires"] == [{"component": "torch", "range": "==2.15.0"}]
    (build,) = mine["builds"]
    assert build["attributes"] == {"cuda": None, "glibc": "2.34", "python": ["3.12", "3.13"]}
    assert build["requires"] == [{"component": "nccl", "range": "==2.31.2"}], "where its neighbours have it"
    assert [r["version"] for r in body["releases"]] == ["1.2", "1.1", "1.0"], (
        "newest first, as the file has it"
    )


def test_a_new_release_nobody_read_says_so() -> None:
    mine = release(written(candidate("1.2", "exists", value=True)), "1.2")
    assert mine["requires"] is None
    assert mine["date"] is None


def test_old_and_preliminary_releases_are_no_news() -> None:
    old = [candidate("0.1", "exists", value=True), candidate("0.1", "date", "2020-01-01")]
    assert kinds(*old, since="2026-09-01") == []
    assert kinds(candidate("1.2rc1", "exists", value=True)) == []


def test_a_release_is_known_by_its_other_names_too() -> None:
    body = copy.deepcopy(BODY)
    body["releases"][0]["aka"] = ["1.1.37"]
    facts = [candidate("1.1.37", "exists", value=True), candidate("1.1.37", "attribute:cuda", "13.0")]
    found = compare(body, facts, complete=True)
    assert [(p.kind, p.field) for p in found] == [(Kind.FILLED, "attribute:cuda"), (Kind.VANISHED, "exists")]
    assert [p.release for p in found] == ["1.1.37", "1.0"]
    edited = edit.apply(body, found)
    assert [r["version"] for r in edited["releases"]] == ["1.1", "1.0"]
    assert release(edited, "1.1")["attributes"]["cuda"] == "13.0"


def test_what_upstream_no_longer_has_is_told_and_not_deleted() -> None:
    facts = [candidate("1.1", "exists", value=True)]
    assert kinds(*facts, complete=True) == [("vanished", "exists")]
    assert kinds(*facts) == []
    assert edit.apply(BODY, compare(BODY, facts, complete=True)) == BODY


def test_an_attribute_fills_or_contradicts() -> None:
    assert kinds(candidate("1.1", "attribute:kind", "b")) == [("contradicting", "attribute:kind")]
    assert release(written(candidate("1.0", "attribute:kind", "b")), "1.0")["attributes"] == {"kind": "b"}
    assert release(written(candidate("1.1", "attribute:kind", "b")), "1.1")["attributes"] == {"kind": "a"}


def test_the_remark_of_an_unchecked_release_goes_when_the_file_agrees() -> None:
    body = copy.deepcopy(BODY)
    release(body, "1.1")["notes"] = [edit._UNCHECKED, "other"]
    assert release(edit.confirmed(body, {"1.1": True}), "1.1")["notes"] == ["other"]
    assert edit.confirmed(body, {"1.1": False}) == body


def test_written_files_are_canonical() -> None:
    text = edit.canonical({"b": "é", "a": [1]})
    assert text == '{\n  "a": [\n    1\n  ],\n  "b": "é"\n}\n'


def test_the_diff_names_both_sides_and_the_source() -> None:
    facts = [
        requires("1.1", Requirement("torch", "==2.14.0")),
        requires("1.0", Requirement("torch", "==2.12.0", "x", "<3.13", ("x86_64",))),
    ]
    found = compare(BODY, facts)
    text = text_of(found, [Remark(component="engine", release="0.9", text="has no wheel")])
    assert "! engine 1.1: requires.torch: ours <2.15 and" not in text
    assert "ours >=2.13,<2.15, upstream ==2.14.0 [pkg:pypi/engine@1.1]" in text
    assert "torch ==2.12.0 [x] python <3.13 x86_64" in text
    assert ". engine 0.9: has no wheel" in text
    body = json.loads(json.dumps(json_of(found, [])))
    assert [p["kind"] for p in body["proposals"]] == ["filled", "contradicting"]
    assert text_of([], []) == "nothing new: upstream says what the matrices say"


def test_every_kind_is_worded() -> None:
    one = Proposal(
        kind=Kind.NEW,
        component="c",
        release="1",
        field="exists",
        ours=None,
        theirs=True,
        source="s",
        date="d",
        extractor="e",
    )
    for kind in Kind:
        from dataclasses import replace

        assert text_of([replace(one, kind=kind)], [])
