"""An image that is only named is judged by what the catalog says that it holds."""

from __future__ import annotations

from pathlib import Path

from stackcheck.catalog import Catalog
from stackcheck.check import check
from stackcheck.check.node import Node
from stackcheck.check.verdict import findings_of
from stackcheck.cli.collect import read_inventory
from stackcheck.model.finding import Finding, Severity
from stackcheck.model.inventory import Inventory

OLD = "nvcr.io/nvidia/pytorch:24.04-py3"  # torch 2.3 and CUDA 12.4, from before Blackwell
NEW = "nvcr.io/nvidia/pytorch:25.10-py3"


def dockerfile(folder: Path, catalog: Catalog, *lines: str) -> Inventory:
    (folder / "Dockerfile").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_inventory([str(folder / "Dockerfile")], catalog)


def errors(catalog: Catalog, inventory: Inventory, gpu: str) -> list[Finding]:
    found = check(catalog, inventory._replace(gpu_model=gpu)).findings
    return [f for f in found if f.severity is Severity.ERROR]


def test_an_old_base_image_is_an_error_on_a_new_gpu(catalog: Catalog, tmp_path: Path) -> None:
    read = dockerfile(tmp_path, catalog, f"FROM {OLD}")
    first = errors(catalog, read, "b200")[0]
    assert first.subjects[0] == "torch"
    torch = next(e for e in first.evidence if e.subject == "torch")
    assert (torch.method, torch.where) == ("image", OLD)
    assert not errors(catalog, read, "h100")


def test_a_base_image_that_fits_is_no_error(catalog: Catalog, tmp_path: Path) -> None:
    read = dockerfile(tmp_path, catalog, f"FROM {NEW}")
    assert not errors(catalog, read, "b200")
    assert check(catalog, read).doubt == ""


def test_what_the_dockerfile_installs_counts(catalog: Catalog, tmp_path: Path) -> None:
    read = dockerfile(tmp_path, catalog, f"FROM {OLD}", "RUN pip install torch==2.9.1")
    node = Node(catalog, read)
    assert str(node.value("torch")) == "2.9.1"
    assert "torchvision" not in node.observations  # it goes with the torch that is gone
    assert "python" in node.observations
    assert not errors(catalog, read, "b200")


def test_an_image_nobody_knows_is_said_to_be_unknown(catalog: Catalog, tmp_path: Path) -> None:
    read = dockerfile(tmp_path, catalog, "FROM registry.example/team/own:7")
    (finding,) = check(catalog, read).findings
    assert (finding.id, finding.severity) == ("image-unknown", Severity.INFO)
    assert "registry.example/team/own:7" in finding.title
    assert finding.evidence[0].where.endswith("Dockerfile:1")


def test_a_probed_container_is_judged_by_what_was_seen(catalog: Catalog) -> None:
    for image in (OLD, "registry.example/team/own:7"):
        seen = Inventory(gpu_model="b200", image=image, facts={"container": "docker"})
        assert not check(catalog, seen).findings


def test_no_published_image_contradicts_itself(catalog: Catalog) -> None:
    """Every image that the data lists was built to run on Hopper, so that its own list gives no error there."""
    told = [
        (image.name, finding.title)
        for image in catalog.images
        for finding in findings_of(catalog, Inventory(gpu_model="h100", image=image.reference or image.name))
        if finding.severity is Severity.ERROR
    ]
    assert not told
