"""Nothing that stands in an inventory or a log makes a check fail, and what it says of it stays short."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackcheck.catalog import Catalog, open_catalog
from stackcheck.check import check
from stackcheck.model.finding import report_to_json
from stackcheck.model.inventory import Inventory, Observation, Text
from tests.samples import NASTY

CATALOG = open_catalog()
SUBJECTS = sorted({s for r in CATALOG.rules for s in r.subject_names()})
FACTS = sorted(
    {
        s.partition(":")[2] if s.startswith("fact:") else s
        for s in SUBJECTS
        if ":" in s and not s.startswith("env:")
    }
)
VARIABLES = sorted({s.partition(":")[2] for s in SUBJECTS if s.startswith("env:")})

texts = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["", NASTY, "1" * 400, "{gpu}", "{env:PATH}", "%s", "9" * 4400, "1e999", "nan", "-1", "[1,2]"]
    ),
)
scalars = st.one_of(texts, st.booleans(), st.none(), st.integers(), st.floats(allow_nan=True))
values = st.one_of(scalars, st.lists(scalars, max_size=4).map(tuple))
attributes = st.dictionaries(
    st.sampled_from(["cuda", "targets", "abi", "package", "torch", "flavour", "net_api", "python"]),
    st.one_of(scalars, st.lists(scalars, max_size=3)),
    max_size=3,
)
observations = st.builds(
    Observation,
    version=texts,
    scope=texts,
    loaded=st.sampled_from([None, True, False]),
    attributes=attributes,
)
inventories = st.builds(
    Inventory,
    gpu_model=st.one_of(st.none(), texts, st.sampled_from(["NVIDIA B200", "NVIDIA H100 80GB HBM3"])),
    gpu_count=st.one_of(st.none(), st.integers()),
    instance=st.one_of(st.none(), texts, st.sampled_from(["p5.48xlarge", "p6-b200.48xlarge"])),
    arch=st.one_of(st.none(), texts),
    image=st.one_of(st.none(), texts),
    components=st.dictionaries(
        st.one_of(st.sampled_from(CATALOG.component_ids), texts),
        st.lists(observations, max_size=3).map(tuple),
        max_size=6,
    ),
    environment=st.dictionaries(st.one_of(st.sampled_from(VARIABLES), texts), texts, max_size=6),
    facts=st.dictionaries(st.one_of(st.sampled_from(FACTS), texts), values, max_size=10),
    texts=st.lists(st.builds(Text, name=texts, format=texts, content=texts), max_size=2).map(tuple),
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(inventories)
def test_any_inventory_is_judged(inventory: Inventory) -> None:
    report = check(CATALOG, inventory)
    json.dumps(report_to_json(report))


@pytest.mark.parametrize(
    "subject", ["fact:ecc", "env:NCCL_PROTO", "limit:memlock", "log:cuda-802", "module:gdrdrv"]
)
def test_a_huge_value_is_told_in_short(subject: str, catalog: Catalog) -> None:
    prefix, _, rest = subject.partition(":")
    told: dict[str, Any] = (
        {"environment": {rest: "x" * 10**6}}
        if prefix == "env"
        else {"facts": {subject if prefix != "fact" else rest: "x" * 10**6}}
    )
    report = check(catalog, Inventory(gpu_model="NVIDIA H100 80GB HBM3", **told))
    for finding in report.findings:
        assert all(len(e.value) <= 300 for e in finding.evidence)
        assert len(finding.title) < 1000


def test_a_line_that_was_matched_is_told_in_short(catalog: Catalog) -> None:
    line = "CUDA error: no kernel image is available for execution on the device " + "y" * 10**6
    report = check(catalog, Inventory(texts=(Text("a", "", line),)))
    assert report.findings
    assert all(len(e.value) <= 300 for f in report.findings for e in f.evidence)
