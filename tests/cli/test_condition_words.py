"""Conditions in words: everything that a rule looks at is said, in the sense in which the evaluator takes it."""

from __future__ import annotations

import pytest

from stackcheck.catalog import Catalog
from stackcheck.catalog.parse_rule import condition
from stackcheck.catalog.relations import RELATIONS
from stackcheck.model.rule import Relation
from stackcheck.report.condition_text import condition_lines, condition_sentence, subject_words


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"nccl": ">=2.19,<2.21 || ==2.30.7"}, "nccl >=2.19,<2.21 or ==2.30.7"),
        ({"nccl": True}, "nccl is there"),
        ({"nccl": False}, "nccl was looked for and is not there"),
        ({"gpu": ["h200", "h100"]}, "gpu is h100 or h200"),
        ({"arch": "aarch64"}, "arch is aarch64"),
        ({"gpu.fabric_manager": True}, "fabric manager of gpu is true"),
        ({"torch.copies": {"above": 1}}, "number of different versions of torch is above 1"),
        (
            {"instance.efa_interfaces": {"min": 8, "max": 16}},
            "efa interfaces of instance is at least 8 and at most 16",
        ),
        ({"env:NCCL_PROTO": "simple"}, "environment variable NCCL_PROTO is simple"),
        ({"env:NCCL_PROTO": True}, "environment variable NCCL_PROTO is set"),
        ({"env:NCCL_PROTO": False}, "environment variable NCCL_PROTO is not set"),
        (
            {"env:FI_PROVIDER": {"matches": "tcp|sockets"}},
            "environment variable FI_PROVIDER matches /tcp|sockets/",
        ),
        ({"env:X": {"not": "1"}}, "environment variable X is known, and not (environment variable X is 1)"),
        ({"log:nccl-tcp": True}, "a log line nccl-tcp occurs"),
        ({"module:gdrdrv": False}, "kernel module gdrdrv was looked for and is not there"),
        ({"limit:memlock": {"below": 65536}}, "limit memlock is below 65536"),
        ({"not": {"nccl": True}}, "not (nccl is there)"),
        ({"any": [{"a": True}, {"b": True}]}, "(a is there or b is there)"),
        (
            {"relation": "at_least", "left": "driver", "right": "cuda.family_floor"},
            "driver is at least family floor of cuda",
        ),
    ],
)
def test_a_condition_in_words(body: dict[str, object], words: str) -> None:
    assert condition_sentence(condition(body, "here")) == words


def test_every_relation_has_words() -> None:
    for name in RELATIONS:
        text = condition_sentence(Relation(name, "left.side", "right.side"))
        assert "_" not in text
        assert text.index("side of left") < text.index("side of right")


def test_every_rule_says_all_that_it_looks_at(catalog: Catalog) -> None:
    for rule in catalog.rules:
        text = "\n".join(line for c in rule.conditions() for line in condition_lines(c))
        for subject in rule.subject_names():
            assert subject_words(subject) in text, rule.id
        assert not any(line != line.rstrip() for line in text.splitlines())


def test_nested_conditions_are_indented_under_their_heading() -> None:
    body = {"any": [{"a": True, "b": True}, {"not": {"any": [{"c": True}, {"d": True}]}}]}
    assert list(condition_lines(condition(body, "here"))) == [
        "any of:",
        "  all of:",
        "    a is there",
        "    b is there",
        "  not:",
        "    any of:",
        "      c is there",
        "      d is there",
    ]


def test_a_conjunction_at_the_top_needs_no_heading() -> None:
    body = {"a": True, "all": [{"b": True}, {"c": False}]}
    assert list(condition_lines(condition(body, "here"))) == [
        "a is there",
        "b is there",
        "c was looked for and is not there",
    ]
