"""Against the real package index, through the installed pip as its ordinary client: five packages, well below sixty requests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stackcheck.catalog import open_catalog
from stackcheck.catalog.files import matrices_root
from stackcheck.harvest import upstreams
from stackcheck.harvest.cache import Cache
from stackcheck.harvest.door import PipDoor
from stackcheck.harvest.packages import said
from stackcheck.harvest.requirement_rows import names_of
from stackcheck.model.release import Requirement

PAIRS = [
    ("torch", "2.15.0"),
    ("vllm", "0.33.0"),
    ("sglang", "0.5.23"),
    ("triton", "3.9.0"),
    ("nvidia-nccl-cu13", "2.30.7"),
]


@pytest.mark.network
def test_the_harvester_reads_what_the_wheels_say(tmp_path: Path) -> None:
    catalog = open_catalog(environ={})
    names = names_of(catalog, upstreams.load(f"{matrices_root()}/upstreams.json"))
    door = PipDoor(os.environ, pythons=("3.12", "3.13"), cache=Cache(tmp_path))
    found: dict[str, set[tuple[str, str]]] = {}
    answers = list(door.read(PAIRS))
    if not any(read.metadata for read in answers):
        pytest.skip(f"the package index does not answer: {answers[0].fault}")
    for read in answers:
        assert read.metadata is not None, read.fault
        component = catalog.component(names.component_of[read.package])
        assert component is not None
        for fact in said(component, read, names, "2026-11-29"):
            value = getattr(fact, "value", ())
            rows = value if isinstance(value, tuple) else ()
            found.setdefault(read.package, set()).update(
                (r.component, r.range) for r in rows if isinstance(r, Requirement)
            )
    assert ("torch", "==2.14.0") in found["vllm"]
    assert {("nccl", "==2.30.7"), ("cuda", "==13.2.*")} <= found["torch"]
    assert {c for c, _ in found["sglang"]} >= {"torch", "flashinfer", "sgl-kernel"}
    assert set(found) == {p for p, _ in PAIRS}
