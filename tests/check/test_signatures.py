"""Lines found in texts: where they stand, what they say, and that no text makes the search slow."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Mapping

import pytest

from stackcheck.catalog import Catalog
from stackcheck.check.signatures import with_log_facts
from stackcheck.model.inventory import FactValue, Inventory, Text
from stackcheck.model.rule import Signature

VERSION = Signature(
    "version", r"running (?P<name>\w+) (?P<value>[\d.]+)|(?P<value2>[\d.]+) runs", ("runn", "runs")
)


def facts(*contents: str, signature: Signature = VERSION) -> Mapping[str, FactValue]:
    texts = tuple(Text(f"text{i}", "", c) for i, c in enumerate(contents))
    return with_log_facts(Inventory(texts=texts), [signature]).facts


def test_groups_become_values() -> None:
    assert facts("running nccl 2.27\n") == {"log:version": "2.27", "log:version.name": "nccl"}


def test_a_numbered_group_is_the_same_value_in_another_branch() -> None:
    assert facts("2.30 runs\n") == {"log:version": "2.30"}


def test_a_pattern_without_groups_says_that_the_line_is_there() -> None:
    assert facts("it stops", signature=Signature("stop", "stops?$", ("stop",))) == {"log:stop": True}


def test_an_anchor_alone_is_not_enough() -> None:
    assert facts("he runs\nrunner\n") == {}


def test_a_pattern_never_crosses_lines() -> None:
    assert facts("ab\ncd", signature=Signature("x", r"b[\s\S]*c", ("b",))) == {}


@pytest.mark.parametrize("repeat", [0, 40_000])
def test_evidence_names_file_and_line_in_short_and_long_texts(repeat: int) -> None:
    lines = [f"step {n} of many" for n in range(repeat)]
    lines[repeat // 2 : repeat // 2] = ["  running nccl 2.27 now  "]
    text = Text("job.log", "", "\n".join(lines))
    found = with_log_facts(Inventory(texts=(text,)), [VERSION])
    evidence = found.evidence["log:version"]
    assert (evidence.where, evidence.raw) == (f"job.log:{repeat // 2 + 1}", "running nccl 2.27 now")


def test_a_long_text_keeps_lines_that_differ_in_words() -> None:
    lines = [f"worker {w} {n}: ok" for n in range(3000) for w in ("alpha", "beta", "gamma", "delta")]
    lines.insert(9000, "worker beta 7: running nccl 2.27")
    assert facts("\n".join(lines))["log:version"] == "2.27"


def test_a_long_text_of_which_no_two_lines_are_alike_is_searched_too() -> None:
    dice = random.Random(3)
    lines = [" ".join("".join(dice.choices("ghijklmnop", k=7)) for _ in range(6)) for _ in range(9000)]
    lines[7000] = "running nccl 2.27"
    found = with_log_facts(Inventory(texts=(Text("job.log", "", "\n".join(lines)),)), [VERSION])
    assert found.evidence["log:version"].where == "job.log:7001"


GUESS = Signature("unexplained-warn", r"WARN (?P<value>.+)", ("WARN",))


def test_a_guess_passes_over_lines_that_another_signature_knows() -> None:
    known = Signature("cold", "WARN it is cold", ("cold",))
    text = Text("a", "", "WARN it is cold\nWARN it is odd\n")
    assert (
        with_log_facts(Inventory(texts=(text,)), [known, GUESS]).facts["log:unexplained-warn"] == "it is odd"
    )
    alone = Text("a", "", "WARN it is cold\n")
    assert "log:unexplained-warn" not in with_log_facts(Inventory(texts=(alone,)), [GUESS, known]).facts


def test_the_first_text_that_has_a_line_is_the_evidence() -> None:
    texts = (Text("a", "", "nothing"), Text("b", "", "1.0 runs"), Text("c", "", "2.0 runs"))
    found = with_log_facts(Inventory(texts=texts), [VERSION])
    assert found.evidence["log:version"].where == "b:1"


def test_a_fact_that_the_inventory_has_stays_where_no_line_says_otherwise() -> None:
    told = Inventory(facts={"log:version": "1.0"}, texts=(Text("a", "", "nothing"),))
    assert with_log_facts(told, [VERSION]).facts == {"log:version": "1.0"}


def test_ids_are_unique_and_every_anchor_can_occur_in_a_line(catalog: Catalog) -> None:
    ids = [s.id for s in catalog.signatures]
    assert len(ids) == len(set(ids))
    assert [
        s.id for s in catalog.signatures if not s.anchors or any("\n" in a or not a for a in s.anchors)
    ] == []


def test_every_signature_is_used_by_a_rule(catalog: Catalog) -> None:
    looked_at = {s.partition(":")[2].partition(".")[0] for r in catalog.rules for s in r.subject_names()}
    policy = str(dict(catalog.policy))
    assert [s.id for s in catalog.signatures if s.id not in looked_at and f"log:{s.id}" not in policy] == []


def test_no_line_is_slow_to_search(catalog: Catalog) -> None:
    """A pattern that goes back and forth over a hostile line would take minutes; half a second is far from both sides."""
    fills = ("a", " ", "0", "a.", "/x", "',", "=1 ", "(a", "nccl ", "-_", "a1-")
    slow = []
    for signature in catalog.signatures:
        pattern = re.compile(signature.pattern)
        anchor = signature.anchors[0]
        lines = [(anchor * 500)[:4000]]
        lines += [
            line
            for f in fills
            for line in (anchor + (f * 4000)[:4000], (f * 4000)[:2000] + anchor + (f * 4000)[:2000])
        ]
        for line in lines:
            start = time.perf_counter()
            pattern.search(line)
            if time.perf_counter() - start > 0.5:
                slow.append((signature.id, line[:40]))
    assert slow == []
