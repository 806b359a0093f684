"""Boards without rows of their own are still judged by the code they run: the model names the compute capability."""

from __future__ import annotations

import json

import pytest

from stackcheck.catalog import Catalog
from stackcheck.catalog.files import matrices_root, read_json
from stackcheck.check import check
from stackcheck.model.finding import Severity
from stackcheck.model.inventory import Inventory, Observation


def errors(catalog: Catalog, model: str, torch: str) -> set[str]:
    told = {"torch": (Observation(version=torch, attributes={"package": "torch"}),)}
    found = check(catalog, Inventory(gpu_model=model, components=told)).findings
    return {f.id for f in found if f.severity is Severity.ERROR}


@pytest.mark.parametrize(
    ("model", "torch", "expected"),
    [
        ("NVIDIA GeForce RTX 5090", "2.6.0+cu124", "torch-no-code-for-gpu"),
        ("NVIDIA GeForce RTX 5070 Ti", "2.5.1+cu124", "torch-no-code-for-gpu"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "2.6.0+cu126", "torch-no-code-for-gpu"),
        ("NVIDIA GB10", "2.6.0+cu124", "torch-no-code-for-gpu"),
        ("Tesla V100-SXM2-32GB", "2.9.0+cu130", "torch-no-code-for-older-gpu"),
        ("Tesla P100-PCIE-16GB", "2.8.0+cu128", "torch-no-code-for-older-gpu"),
        ("NVIDIA GeForce GTX 1080 Ti", "2.7.1+cu128", "torch-no-code-for-older-gpu"),
        ("NVIDIA GeForce RTX 5090", "2.8.0+cu128", None),
        ("NVIDIA GeForce RTX 4090", "2.6.0+cu124", None),
        ("NVIDIA GeForce RTX 3090 Ti", "2.9.0+cu130", None),
        ("NVIDIA A10", "2.9.0+cu130", None),
        ("NVIDIA H20", "2.9.0+cu130", None),
        ("NVIDIA H800", "2.6.0+cu124", None),
        ("Tesla T4", "2.9.0+cu130", None),
        ("Tesla V100-SXM2-32GB", "2.9.0+cu126", None),
        ("Voodoo 5 6000", "2.6.0+cu124", None),
    ],
)
def test_code_for_the_board(model: str, torch: str, expected: str | None, catalog: Catalog) -> None:
    assert errors(catalog, model, torch) == ({expected} if expected else set())


def test_the_longest_name_wins(catalog: Catalog) -> None:
    assert catalog.board_capability("Quadro RTX 6000") == "7.5"
    assert catalog.board_capability("NVIDIA RTX 6000 Ada Generation") == "8.9"
    assert catalog.board_capability("NVIDIA RTX A6000") == "8.6"
    assert catalog.board_capability("NVIDIA L40S") == "8.9"
    assert catalog.board_capability("NVIDIA A10G") is None, "not the A10"
    assert catalog.board_capability("rtx 5090") == "12.0"


def test_a_slice_is_judged_as_the_whole(catalog: Catalog) -> None:
    found = catalog.find_gpu("NVIDIA H100 80GB HBM3 MIG 1g.10gb")
    assert found is not None
    assert found.id == "h100"


def test_where_both_know_a_board_they_agree(catalog: Catalog) -> None:
    names = [n for row in read_json(f"{matrices_root()}/boards.json")["boards"] for n in row["names"]]
    assert len(names) == len(set(names)), json.dumps(sorted(names))
    for gpu in catalog.gpus():
        board = catalog.board_capability(gpu.name)
        assert board is None or board == str(gpu.attributes["capability"]), gpu.id


def test_a_board_shares_what_its_capability_decides(catalog: Catalog) -> None:
    """A toolkit too old for the H100 is too old for the H800, of which there is no file."""
    told = {
        "cuda-toolkit": (Observation(version="11.7.64"),),
        "flashinfer": (Observation(version="0.3.0", attributes={"package": "flashinfer-python"}),),
    }
    found = check(catalog, Inventory(gpu_model="NVIDIA H800", components=told)).findings
    assert "jit-toolkit-older-than-gpu" in {f.id for f in found}
    told["cuda-toolkit"] = (Observation(version="12.8.93"),)
    assert not check(catalog, Inventory(gpu_model="NVIDIA H800", components=told)).findings
