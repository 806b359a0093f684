"""Nodes, environments and logs that are in order: nobody is to be told otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackcheck.catalog import Catalog
from stackcheck.check import check
from stackcheck.cli.collect import read_inventory
from stackcheck.cli.probed import with_gpu_code
from stackcheck.model.finding import Severity

HEALTHY = sorted((Path(__file__).parent / "healthy").iterdir())


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.name)
def test_nothing_is_wrong_with_it(path: Path, catalog: Catalog) -> None:
    report = check(catalog, read_inventory([str(path)], catalog))
    assert [(f.id, f.title) for f in report.findings if f.severity is not Severity.INFO] == []


def test_a_healthy_node_and_its_healthy_logs_are_healthy_together(catalog: Catalog) -> None:
    """Several files are one node: what one of them leaves open the others fill in."""
    folder = HEALTHY[0].parent
    for names in (
        ("p5.inventory.json", "nccl-efa-p5.log", "vllm-freeze.txt", "dmesg.txt"),
        ("infiniband-h100.inventory.json", "nccl-infiniband.log", "training.log"),
        ("p5en.inventory.json", "sglang-freeze.txt", "sglang-server.log"),
    ):
        report = check(catalog, read_inventory([str(folder / n) for n in names], catalog))
        assert [(f.id, f.title) for f in report.findings if f.severity is not Severity.INFO] == []


INSTALLED = [path for path in HEALTHY if path.name.startswith("installed-")]


@pytest.mark.parametrize("path", INSTALLED, ids=lambda path: path.name)
@pytest.mark.parametrize("gpu", ["a100", "l40s", "h200", "b200", "gb200"])
def test_what_an_installer_gives_is_in_order_on_other_gpus_too(
    path: Path, gpu: str, catalog: Catalog
) -> None:
    """Engines bring packages along that are made for some GPUs alone, and for others do without."""
    read = read_inventory([str(path)], catalog)._replace(gpu_model=catalog.gpu(gpu).name)  # type: ignore[union-attr]
    report = check(catalog, with_gpu_code(read, catalog))
    assert [(f.id, f.title) for f in report.findings if f.severity is not Severity.INFO] == []
