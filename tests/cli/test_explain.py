"""`stackcheck explain`: every id that a finding can have is explained, without a node at hand."""

from __future__ import annotations

import pytest

from stackcheck.catalog import Catalog
from stackcheck.catalog.meaning import finding_ids, meaning_of
from stackcheck.model.kinds import Grade
from tests.cli.conftest import Call


def test_every_id_is_explained(catalog: Catalog) -> None:
    from stackcheck.report.meaning_text import meaning_to_json, render_meaning

    for finding_id in finding_ids(catalog):
        meaning = meaning_of(catalog, finding_id)
        assert meaning.id == finding_id
        assert meaning.title
        assert meaning.severities
        text = render_meaning(meaning)
        assert finding_id in text
        assert str(meaning.kind) in text
        body = meaning_to_json(meaning)
        assert body["when"] or body["fires"], "nobody says when it fires"


def test_every_rule_that_check_can_report_has_its_sources_told(call: Call, catalog: Catalog) -> None:
    for rule in catalog.rules[::40]:
        body = call("explain", rule.id, "--format", "json").json
        assert [s["ref"] for s in body["sources"]]
        assert all(s.get("word") for s in body["sources"]), rule.id
        assert body["title"] == rule.title
        assert body["subjects"] == list(rule.subjects)


def test_a_rule_in_full(call: Call) -> None:
    text = call("explain", "driver-below-cuda-family-floor").out
    for word in (
        "error",
        "driver-too-old",
        "when",
        "unless",
        "cuda-compat",
        "fix",
        "sources",
        "vendor",
        "read 20",
    ):
        assert word in text
    assert "driver is at least family floor of cuda" in text


def test_ids_are_found_whatever_their_case(call: Call) -> None:
    assert (
        call("explain", "DRIVER-Below-Cuda-family-floor").out
        == call("explain", "driver-below-cuda-family-floor").out
    )


def test_the_family_of_a_gpu_tells_its_bad_rows(call: Call, catalog: Catalog) -> None:
    gpu = catalog.gpu("b200")
    assert gpu is not None
    body = call("explain", "gpu-b200-torch", "--format", "json").json
    bad = [
        r
        for r in gpu.rows
        if r.component == "torch" and Grade(r.grade) in (Grade.BROKEN, Grade.DEGRADED, Grade.CAVEAT)
    ]
    assert len(body["fires"]) == len(bad)
    for row, line in zip(bad, body["fires"], strict=True):
        assert row.range in line
        assert row.why in line
    assert body["sources"]
    assert body["remedy"][0]["set"].keys() == {"torch"}


def test_the_family_of_requirements_tells_what_is_asked(call: Call) -> None:
    body = call("explain", "requires-vllm", "--format", "json").json
    assert body["kind"] == "version-conflict"
    assert any("torch ==" in line for line in body["fires"])


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("gpu-b200-troch", "gpu-b200-torch"),
        ("require-vllm", "requires-vllm"),
        ("unknown-releases", "unknown-release"),
        ("torch-no-code-for-gpus", "torch-no-code-for-gpu"),
    ],
)
def test_the_nearest_ids_are_offered(call: Call, typed: str, near: str) -> None:
    outcome = call("explain", typed)
    assert outcome.code == 2
    assert near in outcome.message


def test_an_id_like_nothing_says_where_to_look(call: Call) -> None:
    assert "show advisory --all" in call("explain", "xyzzy").message


def test_a_gpu_that_says_nothing_bad_of_a_component_has_no_such_id(call: Call) -> None:
    assert call("explain", "gpu-b200-slurm").code == 2


def test_what_check_reports_can_be_explained(call: Call, tmp_path) -> None:  # type: ignore[no-untyped-def]
    freeze = tmp_path / "freeze.txt"
    freeze.write_text(
        "torch==2.4.1\nvllm==0.30.0\nnvidia-nccl-cu12==2.20.5\nxformers==0.0.20\ntransformers==99.0\n"
    )
    found = call("check", str(freeze), "--gpu", "b200", "--format", "json").json["findings"]
    assert found
    for finding in found:
        for one in (finding, *finding.get("consequences", ())):
            assert call("explain", one["id"]).code == 0, one["id"]


def test_the_first_words_of_an_id_are_enough_where_they_mean_one(call: Call, catalog: Catalog) -> None:
    whole = "xid-79-fell-off-bus"
    assert whole in finding_ids(catalog)
    assert call("explain", "xid-79").out == call("explain", whole).out
    assert call("explain", "XID-79").out == call("explain", whole).out


def test_the_beginning_of_several_ids_offers_them(call: Call, catalog: Catalog) -> None:
    outcome = call("explain", "xid-")
    assert outcome.code == 2
    offered = [i for i in finding_ids(catalog) if i.startswith("xid-") and i in outcome.err]
    assert len(offered) > 1
    cut = call("explain", "driver-below-cuda-family-flo")
    assert cut.code == 2
    assert "driver-below-cuda-family-floor" in cut.err
