"""Properties of every rule there is: it can fire, what it says is whole, what it proposes is proved, and order is nothing to it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from stackcheck.catalog import Catalog
from stackcheck.catalog.evaluate import fires
from stackcheck.check.node import Node
from stackcheck.check.remedies import applied, proved
from stackcheck.check.rules import finding_of
from stackcheck.check.verdict import check, findings_of
from stackcheck.model.inventory import Inventory
from stackcheck.model.rule import PREFIXES, Rule, head_of
from tests.check.witness import witness

Nodes = Mapping[str, Inventory | None]


@pytest.fixture(scope="module")
def nodes(catalog: Catalog) -> Nodes:
    """A small node for each rule."""
    return {rule.id: witness(rule, catalog) for rule in catalog.rules}


def seen_on(nodes: Nodes, catalog: Catalog) -> list[tuple[Rule, Inventory]]:
    return [(r, node) for r in catalog.rules if (node := nodes[r.id]) is not None]


def test_every_rule_fires_on_some_node(nodes: Nodes) -> None:
    assert [name for name, node in nodes.items() if node is None] == []


def test_no_rule_fires_on_a_node_of_which_nothing_is_known(catalog: Catalog) -> None:
    empty = Node(catalog, Inventory())
    assert [r.id for r in catalog.rules if fires(r, empty)] == []


def test_texts_are_filled(nodes: Nodes, catalog: Catalog) -> None:
    unfilled = []
    for rule, inventory in seen_on(nodes, catalog):
        finding = finding_of(rule, Node(catalog, inventory))
        texts = [finding.title, finding.why, finding.impact, *(r.text for r in finding.remedy)]
        texts += [str(v) for r in finding.remedy for v in r.sets.values()]
        if any("{" in t or "}" in t for t in texts) or any(
            "(unknown" in str(v) for r in finding.remedy for v in r.sets.values()
        ):
            unfilled.append(rule.id)
    assert unfilled == []


def moves(inventory: Inventory, sets: Mapping[str, Any], catalog: Catalog) -> bool:
    """Whether a change changes anything: a range that holds already is no remedy for this node."""
    changed = applied(inventory, sets, catalog)
    return changed is None or changed._replace(texts=inventory.texts) != inventory


def test_what_a_remedy_sets_removes_the_finding_and_brings_no_error(nodes: Nodes, catalog: Catalog) -> None:
    unproved = []
    for rule, inventory in seen_on(nodes, catalog):
        if not any(r.sets for r in rule.remedies):
            continue
        before = findings_of(catalog, inventory)
        finding = next(f for f in before if f.id == rule.id)
        after = proved(finding, inventory, catalog, lambda changed: findings_of(catalog, changed), before)
        moving = [r for r in finding.remedy if r.sets and moves(inventory, r.sets, catalog)]
        if sum(r.proved for r in after.remedy) != len(moving):
            unproved.append(rule.id)
    assert unproved == []


def test_the_order_in_which_things_were_seen_changes_nothing(nodes: Nodes, catalog: Catalog) -> None:
    dice = random.Random(7)
    known = [node for node in nodes.values() if node is not None]
    for _ in range(25):
        several = dice.sample(known, 6)
        told = several[0]
        for other in several[1:]:
            told = told.merged(other)
        shuffled = told._replace(
            components=_shuffled(told.components, dice),
            environment=_shuffled(told.environment, dice),
            facts=_shuffled(told.facts, dice),
        )
        assert check(catalog, shuffled).findings == check(catalog, told).findings


def _shuffled(table: Mapping[str, Any], dice: random.Random) -> dict[str, Any]:
    return dict(dice.sample(sorted(table.items(), key=lambda item: item[0]), len(table)))


def test_what_nobody_looked_at_is_never_blamed(nodes: Nodes, catalog: Catalog) -> None:
    """A finding shows at least one observation: a rule that fires on silence would fire on every node."""
    silent = [
        rule.id
        for rule, inventory in seen_on(nodes, catalog)
        if not finding_of(rule, Node(catalog, inventory)).evidence
    ]
    assert silent == []


def test_consequences_name_rules_that_exist(catalog: Catalog) -> None:
    known = {r.id for r in catalog.rules}
    generated = ("requires-", "gpu-", "unknown-release")
    missing = {
        (r.id, name)
        for r in catalog.rules
        for name in r.cause_of
        if name not in known and not name.startswith(generated)
    }
    assert missing == set()


def test_subjects_are_names_that_a_node_can_have(catalog: Catalog) -> None:
    fixed = {"gpu", "instance", "arch", "image", "gpu_count"}
    known = {*catalog.component_ids, *fixed}
    strange = {
        (r.id, s)
        for r in catalog.rules
        for s in r.subjects
        if head_of(s) not in known and head_of(s).partition(":")[0] not in PREFIXES
    }
    assert strange == set()
