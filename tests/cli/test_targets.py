"""Every GPU and every instance type of the matrices has a stack, with every kind of image that exists for its architecture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal, get_args

import jsonschema
import pytest

from stackcheck.catalog import Catalog, open_catalog
from stackcheck.model.kinds import Grade
from stackcheck.model.release import Gpu
from stackcheck.model.stack import Stack
from stackcheck.model.stack_json import stack_to_json
from stackcheck.model.version import Version
from stackcheck.solver.request import Request
from stackcheck.solver.resolve import resolve
from tests.cli.conftest import Call, Schema

Images = Literal["dlc", "ngc", "none"]
_IDS = open_catalog(environ={})
each_images = pytest.mark.parametrize("images", get_args(Images))


@each_images
@pytest.mark.parametrize("gpu", _IDS.gpu_ids)
def test_every_gpu_has_a_stack(gpu: str, images: Images, catalog: Catalog) -> None:
    known = catalog.gpu(gpu)
    assert known is not None
    stack = resolve(catalog, Request(gpu=gpu, images=images))
    assert stack.target.gpu == gpu
    holds_for(stack, known, images, catalog)


@each_images
@pytest.mark.parametrize("instance", _IDS.instance_ids)
def test_every_instance_type_has_a_stack(instance: str, images: Images, catalog: Catalog) -> None:
    known = catalog.instance(instance)
    assert known is not None
    gpu = catalog.gpu(known.gpu)
    assert gpu is not None
    stack = resolve(catalog, Request(gpu="", instance=instance, images=images))
    assert (stack.target.gpu, stack.target.instance) == (gpu.id, instance)
    assert stack.target.arch == known.attributes["arch"]
    wants_efa = known.attributes.get("efa")
    if wants_efa is not None:
        assert (stack.pin("efa-driver") is not None) is wants_efa
    holds_for(stack, gpu, images, catalog)


def holds_for(stack: Stack, gpu: Gpu, images: Images, catalog: Catalog) -> None:
    """What is true of every good answer, read from the matrices and not from the solver."""
    assert stack.solved, stack.conflict
    the_image_is_of_the_family_and_architecture(stack, images, catalog)
    driver = stack.pin("driver")
    assert driver is not None
    floor = gpu.attributes.get("min_driver") or gpu.attributes.get("min_driver_branch")
    if floor is not None:
        assert Version(driver.version).public >= Version(str(floor)).public
    cuda, first = stack.pin("cuda"), gpu.attributes.get("first_cuda")
    assert cuda is not None
    if isinstance(first, Version) and Version(cuda.version).public < first.public:
        assert cuda.grade in (Grade.CAVEAT, Grade.DEGRADED), "older than the GPU, and nobody is told"
    for needed in ("fabric_manager", "nvlsm", "imex"):
        if gpu.attributes.get(needed):
            assert stack.pin(needed.replace("_", "-")) is not None
    assert not [p.component for p in stack.pins if p.grade is Grade.BROKEN]


def the_image_is_of_the_family_and_architecture(stack: Stack, images: Images, catalog: Catalog) -> None:
    if images == "none":
        assert stack.image is None
        return
    fitting = [
        i
        for i in catalog.images
        if i.verified
        and i.family == images
        and (stack.target.arch in i.arch or (not i.arch and stack.target.arch == "x86_64"))
    ]
    if not fitting:
        assert stack.image is None
        assert any(images in n and stack.target.arch in n for n in stack.notes), (
            "it must say that there is none"
        )
        return
    assert stack.image is not None
    assert stack.image.family == images
    assert stack.image.verified
    assert f"{stack.image.repository}:{stack.image.tag}" in {i.name for i in fitting}
    assert stack.image.reference


@pytest.mark.parametrize("images", get_args(Images))
def test_the_command_says_the_same_as_the_library(
    images: str, call: Call, catalog: Catalog, schema: Schema
) -> None:
    for gpu in catalog.gpu_ids[::5]:
        outcome = call("resolve", "--gpu", gpu, "--images", images, "--format", "json")
        assert outcome.code == 0
        jsonschema.validate(outcome.json, schema("stack"))
        assert outcome.json == stack_to_json(resolve(catalog, Request(gpu=gpu, images=images)))  # type: ignore[arg-type]


def test_names_and_aliases_of_gpus_mean_the_same_target(call: Call, catalog: Catalog) -> None:
    gpu = catalog.gpu("h100")
    assert gpu is not None
    answers = {
        call("resolve", "--gpu", name, "--format", "json").out
        for name in (gpu.id, gpu.name, "H100", *gpu.aliases[:3])
    }
    assert len(answers) == 1


def test_an_answer_does_not_depend_on_the_run(call: Call) -> None:
    assert call("resolve", "--gpu", "b300").out == call("resolve", "--gpu", "b300").out


def _told(call: Call, catalog: Catalog, *arguments: str) -> str:
    body = call("resolve", *arguments, "--format", "json").json
    return " ".join(c for pin in body["components"].values() for c in pin.get("caveats", ()))


def test_an_unknown_version_is_called_newer_only_if_it_is(call: Call, catalog: Catalog) -> None:
    driver = catalog.component("driver")
    assert driver is not None
    newest = driver.releases[-1].version
    asked = ("--gpu", "h100", "--images", "none", "--with")
    future = f"{int(newest.text.partition('.')[0]) + 100}.1"
    assert f"newer than the newest known, {newest}" in _told(call, catalog, *asked, f"driver=={future}")
    between = f"{newest.text.partition('.')[0]}.0.1"
    told = _told(call, catalog, *asked, f"driver=={between}")
    assert "the nearest known are" in told
    assert "newer than" not in told


def test_a_kernel_of_a_host_is_not_told_as_unknown(call: Call, catalog: Catalog, tmp_path: Path) -> None:
    assert "kernel" in catalog.policy["landmarks"]
    host = tmp_path / "host.json"
    seen = {"driver": "580.126.16", "kernel": "6.8.0-1044-aws", "os": "ubuntu-21.10"}
    host.write_text(json.dumps({"schema": "stackcheck.inventory/1", "subject": "n", "components": seen}))
    told = _told(call, catalog, "--instance", "p5.48xlarge", "--host", str(host))
    assert "no matrix knows kernel" not in told
    assert "no matrix knows os" not in told
