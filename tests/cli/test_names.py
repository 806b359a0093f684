"""From what a person typed to a thing of the catalog, and the nearest names where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackcheck.catalog import Catalog
from stackcheck.catalog.names import component_named, gpu_named, image_named, instance_named, offer
from stackcheck.model.errors import UsageError
from tests.cli.conftest import Call


def test_every_name_that_the_matrices_know_is_found(catalog: Catalog) -> None:
    for gpu in catalog.gpus():
        for name in (gpu.id, gpu.name, *gpu.aliases):
            assert gpu_named(catalog, name).id == gpu.id, name
    for instance in catalog.instances():
        for name in (instance.id, instance.id.upper(), *instance.aliases):
            assert instance_named(catalog, name).id == instance.id, name
    for component in catalog.components():
        for name in (component.id, component.id.upper(), component.id.replace("-", "_")):
            assert component_named(catalog, name).id == component.id, name
    for image in catalog.images:
        assert image_named(catalog, image.name) == image


@pytest.mark.parametrize("name", ["nvidia-nccl-cu12", "libnccl2", "NCCL", "Nvidia_NCCL.cu12"])
def test_package_names_mean_their_component(catalog: Catalog, name: str) -> None:
    assert component_named(catalog, name).id == "nccl"


def test_one_letter_wrong_is_offered(catalog: Catalog) -> None:
    for known, named in (
        (catalog.gpu_ids, gpu_named),
        (catalog.instance_ids, instance_named),
        (catalog.component_ids, component_named),
    ):
        for name in known:
            if len(name) < 6:
                continue
            typed = f"{name[:-2]}{name[-1]}{name[-2]}x"
            try:
                named(catalog, typed)
            except UsageError as fault:
                assert name in fault.fix, typed


@pytest.mark.parametrize("named", [gpu_named, instance_named, component_named, image_named])
@pytest.mark.parametrize(
    "name", ["", " ", "?", "x" * 100_000, "\x00", "..", "a/b/c:d@e", "\ud800"], ids=lambda n: repr(n)[:12]
)
def test_nonsense_is_refused_quickly(catalog: Catalog, named, name: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError) as caught:
        named(catalog, name)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("near", "words"),
    [
        ((), ""),
        (("a",), "did you mean a?"),
        (("a", "b"), "did you mean a or b?"),
        (("a", "b", "c"), "did you mean a, b or c?"),
    ],
)
def test_an_offer_in_words(near: tuple[str, ...], words: str) -> None:
    assert offer(near) == words


@pytest.mark.parametrize("name", ["P5.48XLARGE", " p5.48xlarge"])
def test_resolve_takes_an_instance_type_in_any_case(call: Call, name: str) -> None:
    outcome = call("resolve", "--instance", name, "--format", "json")
    assert outcome.json["target"]["instance"] == "p5.48xlarge"


def test_a_family_offers_its_sizes_first(call: Call) -> None:
    outcome = call("resolve", "--instance", "p6-b200")
    assert outcome.code == 2
    assert outcome.message.endswith("did you mean p6-b200.48xlarge?")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("host.json", '{"driver": "550.163.01"}'),
        ("version.txt", "550.163.01\n"),
        (
            "none.json",
            '{"schema": "stackcheck.inventory/1", "components": {"driver": [], "kernel": [{"version": "6.8.0"}]}}',
        ),
    ],
)
def test_a_host_without_a_driver_is_refused_with_what_a_host_file_may_be(
    call: Call, tmp_path: Path, name: str, text: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    outcome = call("resolve", "--instance", "p5.48xlarge", "--host", str(path))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.message.startswith(str(path))
    assert "probe --inventory" in outcome.message
    assert "nvidia-smi" in outcome.message


def test_a_host_may_be_what_nvidia_smi_prints(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "smi.txt"
    path.write_text(
        "| NVIDIA-SMI 580.95.05   Driver Version: 580.95.05   CUDA Version: 13.0 |\n", encoding="utf-8"
    )
    outcome = call("resolve", "--gpu", "h100", "--host", str(path), "--format", "json")
    assert outcome.json["components"]["driver"]["version"] == "580.95.05"
    assert not outcome.err


def test_accepting_an_id_that_no_finding_has_is_said(call: Call, tmp_path: Path) -> None:
    freeze = tmp_path / "freeze.txt"
    freeze.write_text("torch==2.9.1\n", encoding="utf-8")
    slip = call("check", str(freeze), "--accept", "driver-below-cuda-family-flor:known")
    assert "did you mean driver-below-cuda-family-floor" in slip.message
    assert not call("check", str(freeze), "--accept", "driver-below-cuda-family-floor:known").err
