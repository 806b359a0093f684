"""What subjects mean on a node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stackcheck.catalog import Catalog
from stackcheck.catalog.evaluate import Missing
from stackcheck.check import check
from stackcheck.check.node import Node
from stackcheck.cli.collect import read_inventory
from stackcheck.model.gpucode import Target
from stackcheck.model.inventory import Evidence, Inventory, Observation


def value(catalog: Catalog, subject: str, **told: Any) -> Any:
    return Node(catalog, Inventory(**told)).value(subject)


def one(version: str, **more: Any) -> tuple[Observation, ...]:
    return (Observation(version=version, **more),)


def test_aliases_are_the_component(catalog: Catalog) -> None:
    for name in ("nccl", "nvidia-nccl-cu12", "NVIDIA_NCCL_cu12"):
        assert str(value(catalog, "nccl", components={name: one("2.27.3")})) == "2.27.3"


@pytest.mark.parametrize(
    ("component", "code", "version"),
    [("cudnn", "90100", "9.1.0"), ("cudnn", "8902", "8.9.2"), ("nccl", "22703", "2.27.3")],
)
def test_integer_codes_are_versions(catalog: Catalog, component: str, code: str, version: str) -> None:
    assert str(value(catalog, component, components={component: one(code)})) == version


def test_digits_without_end_are_no_code(catalog: Catalog) -> None:
    assert value(catalog, "cudnn", components={"cudnn": one("9" * 5000)}) is not Missing.ABSENT


@pytest.mark.parametrize("targets", [(False,), ("sm_90", 3), {"a": 1}, float("inf"), ["sm_"]])
def test_attributes_of_another_type_are_unknown(catalog: Catalog, targets: object) -> None:
    seen = one("2.9.1", attributes={"targets": targets})
    found = value(catalog, "torch.targets", components={"torch": seen})
    assert isinstance(found, Missing) or all(isinstance(t, Target) for t in found)


def test_absent_is_not_unknown(catalog: Catalog) -> None:
    assert value(catalog, "nccl", components={"nccl": ()}) is Missing.ABSENT
    assert value(catalog, "nccl") is Missing.UNKNOWN
    assert value(catalog, "env:NCCL_DEBUG") is Missing.UNKNOWN
    assert value(catalog, "env:NCCL_DEBUG", facts={"environment_complete": True}) is Missing.ABSENT
    assert value(catalog, "fact:ecc", facts={"ecc": None}) is Missing.ABSENT


@pytest.mark.parametrize(
    ("word", "means"), [("Enabled", True), ("off", False), ("yes", True), ("N/A", "N/A")]
)
def test_words_of_switches_are_switches(catalog: Catalog, word: str, means: object) -> None:
    assert value(catalog, "fact:ecc", facts={"ecc": word}) == means


def test_what_is_loaded_counts_before_what_lies_there(catalog: Catalog) -> None:
    seen = (Observation(version="2.21.5"), Observation(version="2.27.3", loaded=True))
    assert str(value(catalog, "nccl", components={"nccl": seen})) == "2.27.3"
    assert value(catalog, "nccl.copies", components={"nccl": seen}) == 2


def test_what_the_container_has_counts_before_the_host(catalog: Catalog) -> None:
    seen = (Observation(version="2.21.5", scope="host"), Observation(version="2.27.3", scope="container"))
    assert str(value(catalog, "nccl", components={"nccl": seen})) == "2.27.3"


def test_packages_are_named(catalog: Catalog) -> None:
    seen = one("2.27.3", attributes={"package": "nvidia_nccl_cu12"}) + one(
        "2.28.9", attributes={"package": "nvidia-nccl-cu13"}
    )
    assert value(catalog, "nccl.packages", components={"nccl": seen}) == {
        "nvidia-nccl-cu12",
        "nvidia-nccl-cu13",
    }


def test_what_the_place_says_wins_over_the_catalog(catalog: Catalog) -> None:
    components = {"torch": one("2.8.0+cu128", attributes={"targets": "sm_90a"})}
    assert [str(t) for t in value(catalog, "torch.targets", components=components)] == ["sm_90a"]


def test_an_abi_is_read_in_the_words_of_readers_and_matrices(catalog: Catalog) -> None:
    for word in ("pre-cxx11", "cxx11abifalse"):
        seen = one("2.6.0", attributes={"abi": word})
        assert value(catalog, "torch.abi", components={"torch": seen}) == value(
            catalog, "torch.abi", components={"torch": one("2.6.0+cu124")}
        )


def test_a_list_that_torch_printed_is_what_torch_was_compiled_for(catalog: Catalog) -> None:
    printed = {"arch_list": ("sm_80", "sm_90")}
    told = value(catalog, "torch.targets", components={"torch": one("2.4.1")}, facts=printed)
    assert [str(t) for t in told] == ["sm_80", "sm_90"]


def test_a_printed_list_belongs_to_neither_of_two_torches(catalog: Catalog) -> None:
    printed = {"arch_list": ("sm_50",)}
    told = value(
        catalog, "torch.targets", components={"torch": one("2.8.0+cu128") + one("2.4.1")}, facts=printed
    )
    assert "sm_50" not in map(str, told) or len(told) > 1


def test_which_build_of_a_bare_version_it_is_nobody_says(catalog: Catalog) -> None:
    claimed = one("2.8.0", evidence=Evidence("inventory"))
    assert value(catalog, "torch.cuda", components={"torch": claimed}) is Missing.UNKNOWN
    installed = one("2.8.0", attributes={"package": "torch"})
    assert str(value(catalog, "torch.cuda", components={"torch": installed})) == "12.8"


def test_the_instance_tells_gpu_and_architecture(catalog: Catalog) -> None:
    node = Node(catalog, Inventory(instance="p6-b200.48xlarge"))
    assert (node.value("gpu"), node.value("arch"), node.value("instance.efa")) == ("b200", "x86_64", True)


def test_a_capability_is_known_without_a_model(catalog: Catalog) -> None:
    assert str(value(catalog, "gpu.capability", facts={"compute_capability": "sm_103a"})) == "10.3"


def test_cuda_is_what_the_torch_build_says(catalog: Catalog) -> None:
    assert str(value(catalog, "cuda", components={"torch": one("2.8.0+cu129")})) == "12.9"


def test_a_compat_library_is_known_by_its_driver_branch(catalog: Catalog) -> None:
    by_branch = value(catalog, "cuda-compat.cuda", components={"cuda-compat": one("570.133.20")})
    by_cuda = value(catalog, "cuda-compat.cuda", components={"cuda-compat": one("12.8")})
    assert by_branch == by_cuda


def test_a_version_that_nobody_can_read_is_there_all_the_same(catalog: Catalog) -> None:
    assert value(catalog, "torch", components={"torch": one("from somewhere")}) == "from somewhere"
    assert value(catalog, "torch", components={"torch": one("")}) == "present"


@pytest.mark.parametrize(
    ("told", "meant"), [("13.2.0", "3.4.32"), ("14.2.0", "3.4.33"), ("3.4.30", "3.4.30"), ("9.3.0", None)]
)
def test_a_libstdcxx_told_by_its_compiler(told: str, meant: str | None, catalog: Catalog) -> None:
    node = Node(catalog, Inventory(components={"libstdcxx": (Observation(version=told),)}))
    seen = node.seen("libstdcxx")
    assert seen is not None
    assert (seen.version.text if seen.version else None) == meant


def test_a_driver_that_names_the_gpu_knows_it(catalog: Catalog, tmp_path: Path) -> None:
    """The first driver with a board differs from branch to branch: what nvidia-smi shows beside the driver's version counts more."""
    smi = (
        "| NVIDIA-SMI 535.54.03      Driver Version: 535.54.03    CUDA Version: 12.2     |",
        "|   0  NVIDIA L40S                    Off | 00000000:3D:00.0 Off |                    0 |",
    )
    for lines, expected in ((smi, False), ((smi[0], "GPU: L40S"), True)):
        (tmp_path / "smi").write_text("\n".join(lines) + "\n", encoding="utf-8")
        found = check(catalog, read_inventory([str(tmp_path / "smi")], catalog)).findings
        assert ("driver-below-gpu-floor" in {f.id for f in found}) is expected
