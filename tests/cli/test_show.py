"""`stackcheck show`: what the matrices say, all of it, with sources; names resolve through aliases."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from stackcheck.catalog import Catalog
from stackcheck.catalog.identify import parsed_version
from stackcheck.model.kinds import Grade
from stackcheck.model.ranges import Range
from stackcheck.report.style import GRADE_LETTERS, GRADE_SIGNS
from tests.cli.conftest import Call

KINDS = ("gpu", "instance", "component", "image", "advisory")


def show(call: Call, *arguments: str) -> Any:
    outcome = call("show", *arguments, "--format", "json")
    assert outcome.code == 0, outcome.err
    body = outcome.json
    assert body["schema"] == "stackcheck.show/1"
    assert body["kind"] == arguments[0]
    return body["item"] if "item" in body else body["items"]


def test_the_tables_list_everything(call: Call, catalog: Catalog) -> None:
    assert [g["id"] for g in show(call, "gpu")] == list(catalog.gpu_ids)
    assert [i["id"] for i in show(call, "instance")] == list(catalog.instance_ids)
    assert [c["id"] for c in show(call, "component")] == list(catalog.component_ids)
    assert {i["name"] for i in show(call, "image")} == {i.name for i in catalog.images}
    assert [r["id"] for r in show(call, "advisory", "--all")] == [r.id for r in catalog.rules]
    assert [r["id"] for r in show(call, "advisory")] == [r.id for r in catalog.rules if r.is_advisory]


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_has_a_line_per_thing_that_starts_with_it_or_ends_in_it(call: Call, kind: str) -> None:
    flags = ("--all",) if kind == "advisory" else ()
    lines = call("show", kind, *flags).out.splitlines()
    for item in show(call, kind, *flags):
        name = item.get("id") or item["tag"]
        assert any(line.startswith(f"{name} ") or line.endswith(name) for line in lines), name


@pytest.mark.parametrize("kind", KINDS)
def test_lines_of_tables_have_no_blanks_at_the_end(call: Call, kind: str) -> None:
    for line in call("show", kind).out.splitlines():
        assert line == line.rstrip()


# GPUs


@pytest.mark.parametrize("name", ["b200", "B200", "NVIDIA B200", "nvidia b200"])
def test_a_gpu_by_any_of_its_names(call: Call, name: str) -> None:
    assert show(call, "gpu", name)["id"] == "b200"


def test_every_row_of_a_matrix_is_shown_with_sign_and_source(call: Call, catalog: Catalog) -> None:
    for gpu in catalog.gpus():
        text = call("show", "gpu", gpu.id).out
        folded = " ".join(text.split())
        for row in gpu.rows:
            assert f"{row.range or 'any version'} {row.grade}: {' '.join(row.why.split())}" in folded
            assert f"{GRADE_SIGNS[Grade(row.grade)]} {row.range}" in folded
            for key in row.sources:
                assert (gpu.sources[key].ref if key in gpu.sources else key) in folded
        body = show(call, "gpu", gpu.id)
        assert len(body["components"]) == len(gpu.rows)
        assert body["instances"] == [i.id for i in catalog.instances() if i.gpu == gpu.id]


def test_the_marks_of_sources_lead_to_the_list(call: Call) -> None:
    text = call("show", "gpu", "b200").out
    listed = set(re.findall(r"^\[(\d+)\] \S", text, re.MULTILINE))
    marked = set(re.findall(r"\[(\d+)\]", text.partition("\n[1] ")[0]))
    assert marked == listed
    assert listed == {str(i) for i in range(1, len(listed) + 1)}


def test_grades_can_be_told_apart_without_colour_and_without_unicode(call: Call, catalog: Catalog) -> None:
    from stackcheck.report.gpu_text import render_gpu

    assert len(set(GRADE_LETTERS.values())) == len(set(GRADE_SIGNS.values())) == len(Grade)
    for gpu in catalog.gpus():
        text = render_gpu(gpu, (), ascii_only=True)
        assert text.isascii()
        for row in gpu.rows:
            assert f"{GRADE_LETTERS[Grade(row.grade)]} {row.range}" in " ".join(text.split())


# instance types


def test_an_instance_type_tells_its_fabric(call: Call, catalog: Catalog) -> None:
    for instance in catalog.instances()[::7]:
        body = show(call, "instance", instance.id.upper())
        assert body["gpu"] == instance.gpu
        assert set(body["attributes"]) == set(instance.attributes)
        assert all(s["ref"] and s["read"] for s in body["sources"])
        text = call("show", "instance", instance.id).out
        assert "fabric" in text
        for name in instance.attributes:
            assert name in text


def test_instance_types_of_one_gpu(call: Call) -> None:
    found = show(call, "instance", "--gpu", "NVIDIA H100 80GB HBM3")
    assert found
    assert {i["gpu"] for i in found} == {"h100"}


# components


def test_releases_are_newest_first_and_all_of_them_with_all(call: Call, catalog: Catalog) -> None:
    torch = catalog.component("torch")
    assert torch is not None
    expected = [r.version.text for r in reversed(torch.releases)]
    assert [r["version"] for r in show(call, "component", "pytorch")["releases"]] == expected
    short = call("show", "component", "torch").out
    assert "older with --all" in short
    whole = call("show", "component", "torch", "--all").out
    for version in expected:
        assert re.search(rf"^  {re.escape(version)} ", whole, re.MULTILINE)
        assert f"\ntorch {version}" in whole


def test_a_specifier_picks_releases(call: Call) -> None:
    found = show(call, "component", "torch>=2.9,<2.11")["releases"]
    assert found
    assert all(r["version"].startswith(("2.9", "2.10")) for r in found)
    assert show(call, "component", "torch==0.0.1")["releases"] == []
    assert call("show", "component", "torch==0.0.1").code == 0


def test_unknown_requirements_are_not_told_as_none(call: Call, catalog: Catalog) -> None:
    for component in catalog.components():
        unread = next((r for r in component.releases if r.requires is None), None)
        if unread is None:
            continue
        entry = next(
            r
            for r in show(call, "component", component.id)["releases"]
            if r["version"] == unread.version.text
        )
        assert entry["requires"] is None
        assert (
            "requirements were not read" in call("show", "component", f"{component.id}=={unread.version}").out
        )
        return
    pytest.skip("every requirement is known")


def test_who_requires_a_component_does(call: Call, catalog: Catalog) -> None:
    required_by = show(call, "component", "torch")["required_by"]
    assert {"vllm", "torchvision"} <= {r["component"] for r in required_by}
    for row in required_by:
        component = catalog.component(row["component"])
        assert component is not None
        release = next(r for r in component.releases if r.version.text == row["version"])
        asked = [*(release.requires or ()), *(q for b in release.builds for q in b.requires)]
        assert any(q.component == "torch" and q.range == row["range"] for q in asked)


def test_who_brings_a_component_does(call: Call, catalog: Catalog) -> None:
    installer = catalog.component("efa-installer")
    assert installer is not None
    rows = {r["component"]: r for r in show(call, "component", "libfabric")["brought_by"]}
    assert rows["efa-installer"]["brings"] == (installer.releases[-1].bundles or {})["libfabric"]


def test_components_of_one_layer(call: Call) -> None:
    assert {c["layer"] for c in show(call, "component", "--layer", "serving")} == {"serving"}


# images


def test_only_verified_references_are_shown_as_something_to_pull(call: Call, catalog: Catalog) -> None:
    lines = call("show", "image").out.splitlines()
    bodies = {i["name"]: i for i in show(call, "image")}
    for image in catalog.images:
        body = bodies[image.name]
        if image.verified:
            assert body["reference"] == (image.public_reference or image.reference or None)
            continue
        assert body["reference"] is None
        assert body["private_reference"] is None
        references = [r for r in (image.reference, image.public_reference) if r]
        assert not any(line.endswith(r) for line in lines for r in references)
    unverified = [i for i in catalog.images if not i.verified][:5]
    for image in unverified:
        assert "tag not verified" in call("show", "image", image.name).out
    assert sum("tag not verified" in line for line in lines[:-1]) == sum(
        not i.verified for i in catalog.images
    )


def test_filters_of_images(call: Call, catalog: Catalog) -> None:
    assert {i["family"] for i in show(call, "image", "--family", "ngc")} == {"ngc"}
    for image in show(call, "image", "--arch", "aarch64"):
        assert image["arch"] is None or "aarch64" in image["arch"]
    vllm = catalog.component("vllm")
    assert vllm is not None
    found = show(call, "image", "--holds", "vllm>=0.20")
    assert found
    wanted = Range(">=0.20", vllm.scheme)
    names = set()
    for image in catalog.images:
        version = parsed_version(vllm, image.contents.get("vllm", "")) if "vllm" in image.contents else None
        if version is not None and version in wanted:
            names.add(image.name)
    assert {i["name"] for i in found} == names


def test_images_of_another_architecture_do_not_fit_a_gpu(call: Call, catalog: Catalog) -> None:
    fitting = {i["name"] for i in show(call, "image", "--gpu", "gb200")}
    only_x86 = {i.name for i in catalog.images if i.arch == ("x86_64",)}
    assert fitting
    assert not fitting & only_x86


def test_images_without_code_for_a_gpu_do_not_fit_it(call: Call, catalog: Catalog) -> None:
    torch = catalog.component("torch")
    assert torch is not None
    fitting = {i["name"] for i in show(call, "image", "--gpu", "b200")}
    for image in catalog.images:
        version = (
            parsed_version(torch, image.contents.get("torch", "")) if "torch" in image.contents else None
        )
        if version is not None and version.minor < (2, 6):
            assert image.name not in fitting


def test_an_image_by_its_tag_alone_or_its_whole_reference(call: Call, catalog: Catalog) -> None:
    image = next(i for i in catalog.images if i.verified and i.contents and i.public_reference)
    for name in (image.name, image.public_reference, f"{image.public_reference}@sha256:{'0' * 64}"):
        body = show(call, "image", name)
        assert body["name"] == image.name
        assert body["contents"] == dict(sorted(image.contents.items()))
    text = call("show", "image", image.name).out
    assert text.startswith(image.public_reference)
    for component, version in image.contents.items():
        assert re.search(rf"^  {re.escape(component)} +{re.escape(version)}", text, re.MULTILINE)


def test_an_image_on_a_gpu_is_graded_with_a_reason(call: Call) -> None:
    body = show(call, "image", "--gpu", "b200", "--family", "dlc")
    text = call("show", "image", body[0]["name"], "--gpu", "b200").out
    assert "on NVIDIA B200" in text


# advisories


def test_an_advisory_by_name_is_what_explain_tells(call: Call, catalog: Catalog) -> None:
    name = catalog.rules[0].id
    assert call("show", "advisory", name).out == call("explain", name).out


# overlays


def test_an_overlay_adds_to_what_is_shown(call: Call, tmp_path: Path, catalog: Catalog) -> None:
    import json

    from stackcheck.catalog import matrices_root

    body = json.loads(Path(matrices_root(), "gpus", "b200.json").read_text())
    body.update(id="mine", name="My \x1b[31mGPU", aliases=["my gpu"])
    (tmp_path / "gpus").mkdir()
    (tmp_path / "gpus" / "mine.json").write_text(json.dumps(body))
    overlay = ("--matrices", str(tmp_path))
    assert show(call, "gpu", "my gpu", *overlay)["id"] == "mine"
    assert {g["id"] for g in show(call, "gpu", *overlay)} == {*catalog.gpu_ids, "mine"}
    assert "\x1b" not in call("show", "gpu", "mine", *overlay).out, "an overlay is as hostile as any input"


def test_a_repository_lists_its_tags_newest_first(call: Call) -> None:
    listed = call("show", "image", "nvidia/pytorch", "--format", "json").json["items"]
    tags = [i["tag"] for i in listed if not i["date"]]
    assert tags == sorted(tags, reverse=True)
    assert {i["repository"].rpartition("/")[2] for i in listed} == {"pytorch"}


def test_images_that_run_over_a_driver(call: Call) -> None:
    over = [
        i["tag"]
        for i in call("show", "image", "nvidia/pytorch", "--driver", "550", "--format", "json").json["items"]
    ]
    assert over[0] == "25.12-py3", "through forward compatibility"
    assert "26.04-py3" not in over, "its compat library does not accept that branch"


def test_each_release_of_a_component_has_the_grade_of_the_first_row_that_holds_it(
    call: Call, catalog: Catalog
) -> None:
    gpu, torch = catalog.gpu("b300"), catalog.component("torch")
    assert gpu is not None
    assert torch is not None
    item = call("show", "component", "torch", "--gpu", "b300", "--format", "json").json["item"]
    assert item["gpu"] == "b300"
    told = {version: row["grade"] for row in item["on_gpu"] for version in row["releases"]}
    assert set(told) == {r.version.text for r in torch.releases}
    for release in torch.releases:
        first = next(
            (
                r
                for r in gpu.rows
                if r.component == "torch" and release.version in Range(r.range, torch.scheme)
            ),
            None,
        )
        assert told[release.version.text] == (first.grade if first else "unknown")
    text = call("show", "component", "torch", "--gpu", "b300").out
    assert "on NVIDIA B300" in text
    assert all(row.why.split()[0] in text for row in gpu.rows if row.component == "torch")


def test_a_component_that_the_matrix_of_a_gpu_does_not_name_is_unknown_there(call: Call) -> None:
    assert (
        "unknown: its matrix says nothing of these" in call("show", "component", "slurm", "--gpu", "b300").out
    )


def test_the_gpu_asks_about_one_component(call: Call) -> None:
    assert "show gpu b300" in call("show", "component", "--gpu", "b300").message


def test_the_places_that_a_node_fills_in_are_shown_without_braces(call: Call, catalog: Catalog) -> None:
    shown = call("show", "advisory", "--all").out
    assert "{" not in shown
    filled = [r for r in catalog.rules if "{nccl}" in r.title]
    assert filled
    for rule in filled:
        text = call("explain", rule.id).out
        assert "<nccl>" in text
        assert "{nccl}" not in text
        assert call("explain", rule.id, "--format", "json").json["title"] == rule.title


def test_the_status_of_the_matrices_has_a_total(call: Call, catalog: Catalog) -> None:
    known = [len(c.releases) for c in catalog.components()]
    text = call("matrices", "status").out
    assert re.search(rf"^{len(known)} components +{sum(known)} ", text, re.MULTILINE)
