"""What resolve writes, check takes back: a file of our own is no fault of the stack it was written for."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackcheck.catalog import open_catalog
from stackcheck.check.verdict import check
from stackcheck.cli.collect import read_inventory
from stackcheck.export.registry import EXPORTERS
from stackcheck.model.kinds import Severity
from stackcheck.model.stack import Stack
from stackcheck.solver.request import Request, parse_wish
from stackcheck.solver.resolve import resolve

CATALOG = open_catalog(environ={})
REQUESTS = {
    "training-without-image": Request(
        gpu="",
        instance="p6-b200.48xlarge",
        images="none",
        frameworks=(parse_wish("megatron-core", flag="--framework"),),
        wishes=(parse_wish("transformer-engine", flag="--with"),),
    ),
    "serving-in-an-image": Request(
        gpu="", instance="p5en.48xlarge", frameworks=(parse_wish("vllm", flag="--framework"),)
    ),
}


@pytest.fixture(scope="module", params=sorted(REQUESTS))
def stack(request: pytest.FixtureRequest) -> Stack:
    found = resolve(CATALOG, REQUESTS[request.param])
    assert found.solved
    return found


@pytest.mark.parametrize("exporter", EXPORTERS, ids=lambda e: e.name)
def test_no_export_is_taken_for_a_fault(exporter, stack: Stack, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / exporter.default_path
    path.write_text(exporter.render(stack), encoding="utf-8")
    report = check(CATALOG, read_inventory([str(path)], CATALOG))
    assert [f.id for f in report.findings if f.severity is Severity.ERROR] == []
