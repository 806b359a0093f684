"""From what a person typed to a thing of the catalog, and the nearest names where there is none."""

from __future__ import annotations

import pytest

from stackcheck.catalog import Catalog
from stackcheck.catalog.names import component_named, gpu_named, image_named, instance_named, offer
from stackcheck.model.errors import UsageError


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
