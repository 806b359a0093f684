"""The images: what is offered for pulling exists, what is said fits together, and every fact names a source."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.files import matrices_root, open_catalog
from stackcheck.model.version import Version

ROOT = Path(matrices_root())
FILES = sorted((ROOT / "images").glob("*/*.json"))
FAMILIES = ROOT / "images" / "families.json"
NO_OFI_PLUGIN_FROM = (26, 6)
TITLES = [f"{f.parent.name}/{f.stem}" for f in FILES]


def load(path: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return body


BODIES = {title: load(path) for title, path in zip(TITLES, FILES, strict=True)}


def each() -> Iterator[tuple[dict[str, Any], dict[str, Any], str]]:
    """Yield file, image and a name for messages."""
    for body in BODIES.values():
        for image in body["images"]:
            yield body, image, f"{body['repository']}:{image['tag']}"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return open_catalog()


def test_there_are_images_of_every_family() -> None:
    assert {body["family"] for body in BODIES.values()} == {"dlc", "ngc", "upstream"}


@pytest.mark.parametrize("title", TITLES)
def test_file_obeys_the_schema_and_lies_in_the_folder_of_its_family(title: str) -> None:
    schema = load(ROOT / "schema" / "image.schema.json")
    faults = [
        f"{e.json_path}: {e.message}"
        for e in jsonschema.Draft202012Validator(schema).iter_errors(BODIES[title])
    ]
    assert faults == []
    assert title.partition("/")[0] == BODIES[title]["family"]


@pytest.mark.parametrize("path", [*FILES, FAMILIES], ids=lambda p: p.stem)
def test_file_is_canonical_json_so_that_a_diff_shows_facts_alone(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def test_a_repository_has_one_file_and_a_tag_one_image() -> None:
    repositories = Counter(body["repository"] for body in BODIES.values())
    assert [r for r, n in repositories.items() if n > 1] == []
    tags = Counter(
        (body["repository"], tag)
        for body, image, _ in each()
        for tag in [image["tag"], *image.get("other_tags", ())]
    )
    assert [t for t, n in tags.items() if n > 1] == []


def test_only_a_tag_that_a_source_states_can_be_pulled() -> None:
    for body, image, name in each():
        if image["verified"]:
            assert image["reference"] == f"{body['repository']}:{image['tag']}", name
        else:
            assert not {"reference", "public_reference", "digest", "grade"} & set(image), name
            assert any("not verified" in n or "image list" in n for n in image["notes"]), name


def test_public_references_name_the_same_repository_and_tag() -> None:
    for body, image, name in each():
        public = image.get("public_reference")
        if public:
            assert public.endswith(f"/{body['repository'].rpartition('/')[2]}:{image['tag']}"), name
            assert "<" not in public, name


def test_dates_are_days_that_exist_and_stand_in_order() -> None:
    for body, image, name in each():
        read = dt.date.fromisoformat(body["read"])
        date = dt.date.fromisoformat(image["date"]) if image.get("date") else None
        eop = dt.date.fromisoformat(image["eop"]) if image.get("eop") else None
        assert date is None or date <= read, name
        assert date is None or eop is None or date < eop, name


def test_every_image_names_sources_that_can_be_looked_up() -> None:
    for body, image, name in each():
        assert image["sources"], name
        told = [*image["sources"], *(k for d in image.get("disagreements", ()) for k in d["sources"])]
        for key in told:
            if key in body["sources"]:
                continue
            assert key.startswith(("pkg:", "https://")), f"{name}: {key}"
            assert not re.search(r"/(issues|pull|discussions)/\d+", key), f"{name}: {key} is no vendor's word"
        assert all(d["sources"] for d in image.get("disagreements", ())), name


def test_no_source_is_left_without_a_fact() -> None:
    for title, body in BODIES.items():
        used = {k for image in body["images"] for k in image["sources"]}
        used |= {k for image in body["images"] for d in image.get("disagreements", ()) for k in d["sources"]}
        assert set(body["sources"]) <= used, title


def test_contents_are_versions_of_components_that_exist(catalog: Catalog) -> None:
    for _, image, name in each():
        for component, version in image["contents"].items():
            known = catalog.component(component)
            assert known is not None, f"{name}: {component}"
            assert Version(version, known.scheme).text == version, f"{name}: {component} {version}"
        assert set(image.get("absent", ())) <= set(catalog.component_ids), name


def test_operating_systems_are_known_to_the_os_component(catalog: Catalog) -> None:
    known = catalog.component("os")
    assert known is not None
    names = {name for release in known.releases for name in (release.version.text, *release.aka)}
    assert {image["os"] for _, image, _ in each() if "os" in image} <= names


def test_present_absent_and_derived_do_not_contradict_each_other() -> None:
    for _, image, name in each():
        contents = image["contents"]
        assert not set(contents) & set(image.get("absent", ())), name
        assert set(image.get("derived", ())) <= set(contents), name
        for row in image.get("disagreements", ()):
            key = row["attribute"].removeprefix("contents.")
            assert row["value"] != contents.get(key), f"{name}: {key} disagrees with itself"


def test_derived_fabric_parts_are_those_that_the_efa_installer_bundles(catalog: Catalog) -> None:
    installer = catalog.component("efa-installer")
    assert installer is not None
    bundles = {r.version.text: r.bundles or {} for r in installer.releases}
    seen = 0
    for _, image, name in each():
        for part in {"libfabric", "aws-ofi-nccl"} & set(image.get("derived", ())):
            seen += 1
            bundled = bundles[image["contents"]["efa-installer"]]
            assert str(bundled[part]) == image["contents"][part], f"{name}: {part}"
    assert seen > 100


def test_nothing_about_efa_is_derived_for_images_of_others() -> None:
    for body, image, name in each():
        if body["family"] != "dlc":
            assert not {"libfabric", "aws-ofi-nccl"} & set(image.get("derived", ())), name


@pytest.mark.parametrize("title", ["ngc/pytorch", "ngc/vllm", "ngc/sglang", "ngc/cuda-dl-base"])
def test_nvidia_images_have_no_ofi_plugin_from_the_release_on_that_dropped_it(title: str) -> None:
    for image in BODIES[title]["images"]:
        release = tuple(int(n) for n in image["tag"].split("-")[0].split(".")[:2])
        gone = "aws-ofi-nccl" in image.get("absent", ())
        assert gone == (release >= NO_OFI_PLUGIN_FROM), image["tag"]
        if title == "ngc/pytorch":
            assert (image.get("environment", {}).get("NCCL_NET_PLUGIN") == "spcx") == gone, image["tag"]


def test_cuda_and_python_agree_with_the_tag() -> None:
    for _, image, name in each():
        contents = image["contents"]
        disputed = {d["attribute"] for d in image.get("disagreements", ())}
        cuda = re.search(r"(?<![a-z])cu(\d\d)(\d)(?!\d)", image["tag"])
        if cuda and "cuda" in contents and "contents.cuda" not in disputed:
            assert contents["cuda"].startswith(f"{cuda[1]}.{cuda[2]}"), name
        python = re.search(r"-py3(\d+)-", f"{image['tag']}-")
        if python and "python" in contents:
            assert contents["python"].split(".")[:2] == ["3", python[1]], name


def test_framework_version_agrees_with_the_tag_of_aws_images() -> None:
    frameworks = {
        "vllm": "vllm",
        "sglang": "sglang",
        "pytorch-training": "torch",
        "pytorch-inference": "torch",
        "pytorch": "torch",
    }
    seen = 0
    for body, image, name in each():
        component = frameworks.get(body["repository"].rpartition("/")[2])
        told = re.match(r"(\d+\.\d+\.\d+)-", image["tag"])
        if body["family"] == "dlc" and component and told and component in image["contents"]:
            seen += 1
            inside = image["contents"][component].partition("+")[0]
            assert inside == told[1] or inside.startswith(f"{told[1]}."), name
    assert seen > 80


def test_gpu_code_is_what_the_compiler_of_that_cuda_can_make() -> None:
    for _, image, name in each():
        major = int(image["contents"].get("cuda", "0").partition(".")[0])
        numbers = {int(re.sub(r"\D", "", t)) for t in image.get("targets", ())}
        assert major < 13 or not any(n < 75 for n in numbers), name
        assert major > 12 or not any(n in (110, 121) for n in numbers), name


def test_images_for_one_architecture_say_so() -> None:
    for body, image, name in each():
        if body["repository"].endswith("-arm64") or "aarch64" in image["tag"]:
            assert image["arch"] == ["aarch64"], name
        elif body["family"] == "dlc" or image["tag"].endswith("-amd64"):
            assert image["arch"] == ["x86_64"], name


def test_sagemaker_tags_are_not_offered_for_ec2() -> None:
    for body, image, name in each():
        if body["family"] == "dlc":
            assert (image["platform"] == "sagemaker") or "sagemaker" not in image["tag"], name
            assert not image["tag"].endswith("-ec2") or image["platform"] == "ec2", name


def test_torch_and_nccl_of_an_index_wheel_belong_together(catalog: Catalog) -> None:
    """AWS's tables give the base image's NCCL; what counts is the one that torch loads."""
    torch = catalog.component("torch")
    assert torch is not None
    image = next(
        i for i in BODIES["dlc/vllm"]["images"] if i["tag"] == "0.13.0-gpu-py312-cu129-ubuntu22.04-ec2"
    )
    assert image["contents"]["nccl"] == "2.27.5"
    assert [d["value"] for d in image["disagreements"]] == ["2.28.3"]


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (
            "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.9.0-gpu-py312-cu130-ubuntu22.04-ec2",
            "2.9.0+cu130",
        ),
        ("public.ecr.aws/deep-learning-containers/pytorch-training:2.9-gpu-py312-ec2", "2.9.0+cu130"),
        ("nvcr.io/nvidia/pytorch:26.07-py3", "2.13.0a0+9186a08b2c"),
        ("vllm/vllm-openai:v0.26.0", "2.11.0"),
    ],
)
def test_image_is_found_by_what_people_write(catalog: Catalog, reference: str, expected: str) -> None:
    image = catalog.find_image(reference)
    assert image is not None
    assert str(image.contents["torch"]) == expected


def test_families_tell_where_to_pull_from_and_cite_what_they_say() -> None:
    body = load(FAMILIES)
    schema = load(ROOT / "schema" / "families.schema.json")
    assert [e.message for e in jsonschema.Draft202012Validator(schema).iter_errors(body)] == []
    told: set[str] = set()
    for family in body["families"].values():
        told |= set(family["sources"])
        told |= {key for fact in family["facts"] for key in fact["sources"]}
        told |= {key for row in family.get("tags", ()) for key in row["sources"]}
    assert told == set(body["sources"])
    for images in BODIES.values():
        registry = body["families"][images["family"]]["registry"]
        if images["family"] != "dlc":
            assert images["repository"].startswith((registry, "ghcr.io/nvidia")), images["repository"]
