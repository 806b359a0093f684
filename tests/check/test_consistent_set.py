"""Where no single change mends an error about versions, the solver's set does: it keeps what the node is for, and is proved."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stackcheck.catalog.catalog import Catalog
from stackcheck.check.remedies import applied
from stackcheck.check.verdict import check, findings_of
from stackcheck.cli.collect import read_inventory
from stackcheck.model.finding import Finding, Severity
from stackcheck.model.inventory import Inventory
from stackcheck.solver.request import Request, Wish
from stackcheck.solver.resolve import resolve

OTHER_TORCH = """torch==2.11.0
sglang==0.5.9
sgl-kernel==0.3.21
flashinfer-python==0.6.3
vllm==0.20.0
"""
NO_CODE = """torch==2.5.1+cu124
vllm==0.6.6
flash-attn==2.7.3
xformers==0.0.28.post3
nvidia-nccl-cu12==2.21.5
"""


def found(catalog: Catalog, text: str, gpu: str | None, folder: Path) -> tuple[Inventory, dict[str, Finding]]:
    path = folder / "freeze.txt"
    path.write_text(text)
    inventory = read_inventory([str(path)], catalog)._replace(gpu_model=gpu)
    return inventory, {f.id: f for f in check(catalog, inventory).findings}


def test_the_framework_is_kept_and_the_rest_moves(catalog: Catalog, tmp_path: Path) -> None:
    inventory, findings = found(catalog, OTHER_TORCH, "b200", tmp_path)
    assert findings["sgl-kernel-other-torch"].remedy[0].proved
    remedy = next(f.remedy[0] for f in findings.values() if f.remedy and len(f.remedy[0].sets) > 1)
    assert remedy.proved
    assert remedy.text.startswith("Keep SGLang 0.5.9 and ")
    assert not {"sglang", "sgl-kernel"} & remedy.sets.keys()
    assert "torch" in remedy.sets
    assert "pip install" in remedy.run
    changed = applied(inventory, remedy.sets, catalog)
    assert changed is not None
    after = findings_of(catalog, changed)
    assert [f.id for f in after if f.severity is Severity.ERROR] == []
    pins = tuple(Wish(name, range_) for name, range_ in remedy.sets.items())
    again = Request(
        gpu="b200", frameworks=(Wish("sglang", "==0.5.9"),), wishes=(*pins, Wish("sgl-kernel", "==0.3.21")), images="none"
    )  # fmt: skip
    assert resolve(catalog, again).solved


def test_where_the_framework_itself_is_too_old_it_moves_too(catalog: Catalog, tmp_path: Path) -> None:
    _, findings = found(catalog, NO_CODE, "b200", tmp_path)
    remedy = findings["torch-no-code-for-gpu"].remedy[0]
    assert remedy.proved
    assert {"vllm", "torch", "xformers"} <= remedy.sets.keys()
    assert "nccl" not in remedy.run, "the wheel of torch brings its own"


@pytest.mark.parametrize("gpu", [None, "Voodoo 5 6000"])
def test_for_no_known_gpu_no_set_is_offered(gpu: str | None, catalog: Catalog, tmp_path: Path) -> None:
    _, findings = found(catalog, OTHER_TORCH, gpu, tmp_path)
    assert not any(r.text.startswith("Keep") for r in findings["sgl-kernel-other-torch"].remedy)


def test_the_solver_is_not_even_loaded_where_a_small_change_does() -> None:
    program = (
        "import sys; from stackcheck.cli import main; "
        "code = main(['check', '-', '--gpu', 'h100']); "
        "sys.exit(10 + code + 100 * any(m.startswith('stackcheck.solver') for m in sys.modules))"
    )
    text = "vllm==0.33.0\ntorch==2.11.0\n"
    done = subprocess.run(
        [sys.executable, "-c", program], input=text, capture_output=True, text=True, check=False
    )
    assert "(checked: the finding is gone then)" in done.stdout
    assert done.returncode == 11


def test_another_build_of_the_same_version_is_named_and_forced(catalog: Catalog, tmp_path: Path) -> None:
    _, findings = found(catalog, "torch==2.12.1+cu126\n", "b300", tmp_path)
    remedy = findings["torch-no-code-for-gpu"].remedy[0]
    assert remedy.proved
    assert remedy.sets["torch"] == "==2.12.1+cu130"
    assert remedy.run == "pip install --force-reinstall 'torch==2.12.1'", (
        "pip takes the other build for installed"
    )


def test_nothing_is_moved_that_was_not_installed_as_a_package(catalog: Catalog, tmp_path: Path) -> None:
    text = "PyTorch version: 2.9.0+cu130\nCUDA runtime version: 12.4.131\n[pip3] torch==2.9.0\nvLLM Version: 0.11.2\n"
    _, findings = found(catalog, text, "h100", tmp_path)
    remedy = findings["vllm-other-cuda-than-torch"].remedy[0]
    assert remedy.text.startswith("Keep vLLM 0.11.2 and ")
    assert "cuda-toolkit" not in remedy.sets


def test_findings_that_one_set_mends_do_not_offer_parts_of_it_that_undo_each_other(
    catalog: Catalog, tmp_path: Path
) -> None:
    """The vLLM asks for torch 2.7.0, of which the index's own build has no code for the GPU: its CUDA 12.8 build has."""
    text = "torch==2.6.0\ntorchvision==0.21.0\nvllm==0.9.2\ntriton==3.2.0\n"
    inventory, findings = found(catalog, text, "b200", tmp_path)
    offered = findings["torch-no-code-for-gpu"].remedy[0]
    assert offered.run.startswith("uv pip install --torch-backend=cu128 ")
    for name in ("requires-vllm", "gpu-b200-triton"):
        (remedy,) = findings[name].remedy
        assert (remedy.text, remedy.sets, remedy.run) == (
            "The set under torch-no-code-for-gpu mends this too",
            {},
            "",
        )
    changed = applied(inventory, offered.sets, catalog)
    assert changed is not None
    assert [f.id for f in findings_of(catalog, changed) if f.severity is Severity.ERROR] == []
