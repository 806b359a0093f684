"""An image that is only named is judged by what the catalog says that it holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stackcheck.catalog import Catalog, open_catalog
from stackcheck.catalog.files import FileStore, matrices_root
from stackcheck.catalog.lint import image_tags
from stackcheck.check import check
from stackcheck.check.node import Node
from stackcheck.check.verdict import findings_of
from stackcheck.cli.collect import read_inventory
from stackcheck.model.errors import MatrixError
from stackcheck.model.finding import Finding, Severity
from stackcheck.model.inventory import Evidence, Inventory, Observation

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


def test_a_tag_tells_what_no_list_says(catalog: Catalog, tmp_path: Path) -> None:
    read = dockerfile(tmp_path, catalog, "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04")
    node = Node(catalog, read)
    told = {c: (seen[0].version, seen[0].evidence.method) for c, seen in node.observations.items()}
    assert told["cuda-toolkit"] == ("12.4.1", "derived")
    assert told["os"] == ("ubuntu-22.04", "derived")
    assert "cuda" not in told  # a wheel brings its own
    assert not check(catalog, read).findings


@pytest.mark.parametrize(
    ("tag", "toolkit", "distribution"),
    [
        ("docker.io/nvidia/cuda:12.6.1-cudnn-devel-ubuntu24.04", "12.6.1", "ubuntu-24.04"),
        ("nvcr.io/nvidia/cuda:11.8.0-cudnn8-devel-ubuntu20.04@sha256:0a1b", "11.8.0", "ubuntu-20.04"),
        ("nvidia/cuda:12.6.3-runtime-rockylinux9", "", "rocky-9"),
        ("nvidia/cuda:12.4-devel-ubuntu22.04", "", "ubuntu-22.04"),
    ],
)
def test_only_what_a_tag_spells_out_is_taken(
    catalog: Catalog, tag: str, toolkit: str, distribution: str
) -> None:
    told = dict(catalog.told_by_tag(tag))
    assert told == {"os": distribution} | ({"cuda-toolkit": toolkit} if toolkit else {})
    node = Node(catalog, Inventory(image=tag))
    assert node.value("os.glibc") is not None


@pytest.mark.parametrize("name", ["nvidia/cuda", "my/cuda:12.4.1-devel-ubuntu22.04", "ubuntu:22.04"])
def test_a_tag_of_another_form_tells_nothing(catalog: Catalog, name: str) -> None:
    assert not catalog.told_by_tag(name)


def test_what_is_known_goes_before_what_the_tag_tells(catalog: Catalog) -> None:
    own = Observation(version="12.9.1", scope="container", evidence=Evidence("file", "stack.json"))
    read = Inventory(image="nvidia/cuda:12.4.1-devel-ubuntu22.04", components={"cuda-toolkit": (own,)})
    assert Node(catalog, read).observations["cuda-toolkit"] == (own,)


@pytest.mark.parametrize("gpu", ["h100", "h200", "b200"])
def test_a_wheel_on_an_image_known_by_its_tag_brings_no_warning(
    catalog: Catalog, tmp_path: Path, gpu: str
) -> None:
    lines = ("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04", "RUN pip install torch==2.9.0")
    read = dockerfile(tmp_path, catalog, *lines)._replace(gpu_model=gpu)
    assert {f.severity for f in check(catalog, read).findings} <= {Severity.INFO}


def test_a_pattern_that_is_none_is_refused_when_the_overlay_is_read(tmp_path: Path) -> None:
    body = FileStore((matrices_root(),)).read("images/families.json")
    row = {"pattern": "cuda:(", "contents": {"os": "ubuntu"}, "sources": ["up-cuda-tags"]}
    body["families"]["upstream"]["tags"] = [row]
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "families.json").write_text(json.dumps(body), encoding="utf-8")
    with pytest.raises(MatrixError, match=r"tags/0/pattern.*missing \)"):
        open_catalog(str(tmp_path))


@pytest.mark.parametrize(
    ("pattern", "contents", "fault"),
    [
        ("^nvidia/cuda", {"os": "ubuntu-\\g<release>"}, "does not name"),
        ("^nvidia/cuda", {"operating-system": "ubuntu"}, "unknown component operating-system"),
    ],
)
def test_a_pattern_that_cannot_work_is_a_fault(
    tmp_path: Path, pattern: str, contents: dict[str, str], fault: str
) -> None:
    body = FileStore((matrices_root(),)).read("images/families.json")
    row = {"pattern": pattern, "contents": contents, "sources": ["up-cuda-tags"]}
    body["families"]["upstream"]["tags"] = [row]
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "families.json").write_text(json.dumps(body), encoding="utf-8")
    broken = open_catalog(str(tmp_path))
    assert [f for f in image_tags(broken) if fault in f.text]
    if fault != "unknown component operating-system":
        with pytest.raises(MatrixError):
            broken.told_by_tag("nvidia/cuda:12.4.1-devel-ubuntu22.04")


def test_what_an_image_of_own_builds_holds_is_held_to_no_pin_of_the_index(
    catalog: Catalog, tmp_path: Path
) -> None:
    """NVIDIA compiles and pins vLLM and SGLang in its images for each other; a package installed over them is another matter."""
    for tag in ("vllm:26.05-py3", "sglang:26.07-py3"):
        read = dockerfile(tmp_path, catalog, f"FROM nvcr.io/nvidia/{tag}")
        assert not [f.id for f in check(catalog, read).findings if f.severity is not Severity.INFO]
    lines = ("FROM nvcr.io/nvidia/vllm:26.05-py3", "RUN pip install vllm==0.20.1 transformers==5.3.0")
    found = check(catalog, dockerfile(tmp_path, catalog, *lines)).findings
    assert [f.id for f in found if f.severity is Severity.WARNING] == ["requires-vllm"]
