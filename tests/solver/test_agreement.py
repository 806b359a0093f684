"""A rule is written once: what the solver forbids is what check reports, on random stacks of the real catalog."""

from __future__ import annotations

import random

import pytest

from stackcheck.catalog import open_catalog
from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.evaluate import Missing, fires
from stackcheck.model.kinds import Grade
from stackcheck.solver.domains import IMAGE, ImageCandidate, Universe
from stackcheck.solver.encode import Encoding, encode
from stackcheck.solver.origins import OriginKind
from stackcheck.solver.request import Request

STACKS = 60  # random stacks per target


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return open_catalog(environ={})


class Picked:
    """One random candidate per variable, as a view for the evaluator."""

    def __init__(self, encoding: Encoding, bits: dict[str, int]) -> None:
        self.encoding = encoding
        self.bits = bits

    def value(self, subject: str) -> object:
        universe = self.encoding.universe
        if subject in universe.constants:
            return universe.constants[subject]
        head, _, attribute = subject.partition(".")
        if head in universe.domains and ":" not in subject:
            return universe.domains[head][self.bits[head]].value(attribute)
        return Missing.UNKNOWN


@pytest.mark.parametrize(
    ("gpu", "instance", "arch"),
    [
        ("h100", "p5.48xlarge", "x86_64"),
        ("b300", None, "x86_64"),
        ("gb200", "p6e-gb200.36xlarge", "aarch64"),
        ("a100", "p4d.24xlarge", "x86_64"),
    ],
)
def test_forbidden_exactly_when_the_rule_fires(
    catalog: Catalog, gpu: str, instance: str | None, arch: str
) -> None:
    found = catalog.gpu(gpu)
    assert found is not None
    universe = Universe(
        catalog,
        Request(gpu=gpu, instance=instance),
        found,
        catalog.instance(instance) if instance else None,
        arch,
    )
    encoding = encode(universe)
    rows: dict[str, list[dict[str, int]]] = {}
    for origin, terms in encoding.problem.rows:
        fact = encoding.origins[origin]
        if fact.kind is OriginKind.RULE:
            masks = {encoding.names[n]: m for n, m in terms if not encoding.names[n].startswith("soft:")}
            rows.setdefault(fact.key, []).append(masks)
    rng = random.Random(20261129)
    fired = 0
    rules = [r for r in catalog.rules if r.solver and r.grade in (Grade.BROKEN, Grade.DEGRADED, Grade.CAVEAT)]
    for _ in range(STACKS):
        bits = {name: rng.randrange(len(domain)) for name, domain in universe.domains.items()}
        view = Picked(encoding, bits)
        for rule in rules:
            forbidden = any(
                all(m >> bits[n] & 1 for n, m in masks.items()) for masks in rows.get(rule.id, ())
            )
            assert forbidden is fires(rule, view), f"{rule.id} on {bits}"
            fired += forbidden
    assert fired > STACKS  # the comparison met rules that fire, not only silence


def test_the_image_variable_answers_like_an_image(catalog: Catalog) -> None:
    image = catalog.images[0]
    assert ImageCandidate(image).value("family") == image.family
    assert ImageCandidate(None).value("") is Missing.ABSENT
    assert IMAGE == "image"
