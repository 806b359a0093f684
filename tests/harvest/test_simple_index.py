"""Project pages: JSON and HTML to the same listing, and nothing that does not belong to the project."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stackcheck.harvest.interface import HarvestError
from stackcheck.harvest.simple_index import JSON_TYPE, parse
from stackcheck.harvest.wheel_tags import Variant, variants

PAGE = "https://index.example/simple/torch/"
DIGEST = "ab" * 32
WHEEL = "torch-2.14.0-cp312-cp312-manylinux_2_28_x86_64.whl"


def page(*files: dict[str, Any], name: str = "torch", version: str = "1.4") -> bytes:
    return json.dumps({"meta": {"api-version": version}, "name": name, "files": list(files)}).encode()


def file(name: str = WHEEL, more: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"filename": name, "url": f"../../files/{name}", "hashes": {"sha256": DIGEST}, **(more or {})}


def test_a_file_is_read_with_all_that_the_index_says() -> None:
    more = {"requires-python": ">=3.10", "size": 5, "upload-time": "2026-10-28T01:02:03.000Z"}
    row = file(more=more | {"core-metadata": {"sha256": DIGEST}, "yanked": False})
    (found,) = parse(page(row), JSON_TYPE, project="Torch", url=PAGE).files
    assert (found.version, found.wheel, found.url) == ("2.14.0", True, f"https://index.example/files/{WHEEL}")
    assert (found.uploaded, found.size, found.requires_python) == ("2026-10-28", 5, ">=3.10")
    assert (found.metadata, found.metadata_sha256, found.yanked) == (True, DIGEST, False)


def test_html_says_the_same_as_json() -> None:
    html = f"""<!DOCTYPE html><html><body><h1>Links</h1>
      <a href="../../files/{WHEEL}#sha256={DIGEST}" data-requires-python="&gt;=3.10" data-core-metadata="sha256={DIGEST}">{WHEEL}</a>
      <a href="../../files/torch-2.13.0.tar.gz" data-yanked="broken">x</a></body></html>""".encode()
    wheel, source = parse(html, "text/html; charset=utf-8", project="torch", url=PAGE).files
    from_json = parse(
        page(file(more={"requires-python": ">=3.10", "core-metadata": {"sha256": DIGEST}})),
        JSON_TYPE,
        project="torch",
        url=PAGE,
    ).files[0]
    assert wheel == from_json
    assert (source.version, source.wheel, source.yanked) == ("2.13.0", False, True)


@pytest.mark.parametrize(
    ("data", "kind", "said"),
    [
        (b'{"files": [', JSON_TYPE, "no JSON"),
        (b"<html>please log in</html>", JSON_TYPE, "no JSON"),
        (b"[" * 100_000, JSON_TYPE, "no JSON"),
        (b"{}", JSON_TYPE, "without a list"),
        (b"[]", JSON_TYPE, "without a list"),
        (page(version="2.0"), JSON_TYPE, "version"),
        (page(name="other"), JSON_TYPE, "about 'other'"),
        (b"\x89PNG", "image/png", "answered with image/png"),
    ],
)
def test_what_is_no_project_page_is_one_line(data: bytes, kind: str, said: str) -> None:
    with pytest.raises(HarvestError, match=said):
        parse(data, kind, project="torch", url=PAGE)


@pytest.mark.parametrize(
    "row",
    [
        file("other-1.0-py3-none-any.whl"),
        file("../../torch-1.0-py3-none-any.whl"),
        file("torch-not.a.version!-py3-none-any.whl"),
        file("torch.exe"),
        {"filename": WHEEL, "url": "file:///etc/passwd"},
        {"filename": WHEEL, "url": "javascript:alert(1)"},
        {"filename": 5, "url": []},
        "text",
        None,
    ],
)
def test_odd_files_are_left_out(row: Any) -> None:
    assert parse(page(row, file()), JSON_TYPE, project="torch", url=PAGE).versions() == ("2.14.0",)


def test_a_login_page_as_html_lists_nothing() -> None:
    assert parse(b"<html><a href='/login'>log in</a>", "text/html", project="torch", url=PAGE).files == ()


def test_wheel_tags_become_architectures_floors_and_pythons() -> None:
    names = [
        "torch-2.14.0-cp312-cp312-manylinux_2_28_x86_64.whl",
        "torch-2.14.0-cp313-cp313t-manylinux_2_28_x86_64.whl",
        "torch-2.14.0-cp312-cp312-manylinux_2_34_aarch64.whl",
        "torch-2.14.0-cp38-abi3-manylinux2014_aarch64.manylinux_2_17_aarch64.whl",
        "torch-2.14.0-cp312-cp312-macosx_14_0_arm64.whl",
        "torch-2.14.0-cp312-cp312-win_amd64.whl",
    ]
    files = parse(page(*map(file, names)), JSON_TYPE, project="torch", url=PAGE).files
    assert variants(files, ("3.9", "3.10", "3.12", "3.13")) == (
        Variant("x86_64", "2.28", ("3.12", "3.13")),
        Variant("aarch64", "2.17", ("3.9", "3.10", "3.12", "3.13")),
    )


def test_a_pure_python_release_has_no_variants() -> None:
    files = parse(page(file("torch-2.14.0-py3-none-any.whl")), JSON_TYPE, project="torch", url=PAGE).files
    assert variants(files, ("3.12",)) == ()
