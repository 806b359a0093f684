"""Requirement lines to rows: markers become architectures and Pythons, extras are kept where reviewers keep them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stackcheck.catalog import open_catalog
from stackcheck.harvest import upstreams
from stackcheck.harvest.core_metadata import Metadata, checked, parse
from stackcheck.harvest.interface import HarvestError
from stackcheck.harvest.requirement_rows import Names, names_of, range_text, rows_of
from tests.harvest.upstream import core

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def names() -> Names:
    return names_of(open_catalog(environ={}), upstreams.load(str(ROOT / "matrices" / "upstreams.json")))


def rows(
    names: Names, *lines: str, name: str = "some", extras: tuple[str, ...] = ()
) -> list[tuple[str, ...]]:
    metadata = parse(core(name, "1.0", *lines, extras=extras).encode())
    found = rows_of(metadata, names, keep_extras=extras).rows[1:]
    return [tuple(str(v) for v in (r.component, r.range, r.extra, r.python, "/".join(r.arch))) for r in found]


def test_python_comes_first_and_packages_nobody_models_are_left_out(names: Names) -> None:
    metadata = parse(core("some", "1.0", "requests>=2", "torch==2.14.0", python="<3.15, >=3.11").encode())
    found = rows_of(metadata, names, keep_extras=()).rows
    assert [(r.component, r.range) for r in found] == [("python", ">=3.11,<3.15"), ("torch", "==2.14.0")]


def test_a_package_name_becomes_its_component(names: Names) -> None:
    assert rows(names, "nvidia-nccl-cu13 (==2.30.7)", "SGLang_Kernel>=0.4") == [
        ("nccl", "==2.30.7", "", "", ""),
        ("sgl-kernel", ">=0.4", "", "", ""),
    ]


@pytest.mark.parametrize(
    ("marker", "python", "arch"),
    [
        ('platform_system == "Linux"', "", ""),
        ('sys_platform != "win32" and os_name == "posix"', "", ""),
        ('platform_machine == "x86_64"', "", "x86_64"),
        ('platform_machine != "aarch64"', "", "x86_64"),
        ('platform_machine == "aarch64" and python_version >= "3.12"', ">=3.12", "aarch64"),
        ('python_version < "3.13"', "<3.13", ""),
        ('python_version >= "3.11" and python_version < "3.13"', ">=3.11,<3.13", ""),
        ('python_version == "3.11" or python_version == "3.13"', "==3.11.* || ==3.13.*", ""),
        ('python_full_version >= "3.10.1"', ">=3.11", ""),
        ('implementation_name == "cpython"', "", ""),
    ],
)
def test_a_marker_says_where_a_row_holds(names: Names, marker: str, python: str, arch: str) -> None:
    assert rows(names, f"torch==2.14.0; {marker}") == [("torch", "==2.14.0", "", python, arch)]


@pytest.mark.parametrize(
    "marker",
    ['sys_platform == "darwin"', 'platform_machine == "arm64"', 'python_version < "3"', 'extra == "never"'],
)
def test_a_row_that_never_holds_on_linux_is_no_row(names: Names, marker: str) -> None:
    assert rows(names, f"torch==2.14.0; {marker}") == []


def test_an_extra_is_kept_only_if_asked_for_and_says_more_than_the_package(names: Names) -> None:
    lines = ["torch>=2", 'torch>=2; extra == "a"', 'vllm==0.33.0; extra == "a"', 'ray; extra == "test"']
    metadata = parse(core("some", "1.0", *lines, extras=("a", "test")).encode())
    found = rows_of(metadata, names, keep_extras=("a",))
    assert [(r.component, r.extra) for r in found.rows[1:]] == [("torch", ""), ("vllm", "a")]
    assert found.dropped_extras == ("test",)


def test_an_extra_brings_what_the_extras_it_names_bring(names: Names) -> None:
    lines = [
        'some[core]; extra == "all"',
        'some[deep]; extra == "core"',
        'torch==2.11.0; extra == "core"',
        'vllm==0.24.0; extra == "deep"',
        'some[all]; extra == "deep"',
    ]
    assert rows(names, *lines, extras=("all", "core", "deep"))[:2] == [
        ("torch", "==2.11.0", "all", "", ""),
        ("vllm", "==0.24.0", "all", "", ""),
    ]


def test_parts_that_another_package_pins_to_itself_take_its_range(names: Names) -> None:
    found = rows(names, "transformer-engine[pytorch,core_cu13]>=2.9,<2.12")
    assert ("transformer-engine-torch", ">=2.9,<2.12", "", "", "") in found
    assert ("transformer-engine-cu13", ">=2.9,<2.12", "", "", "") in found


def test_a_package_without_content_is_read_as_what_its_extras_bring(names: Names) -> None:
    """The toolkit 13.2.2 has cuBLAS 13.4.1.3 (nvidia-cublas==13.4.1.3.* in its metadata)."""
    found = rows(names, "cuda-toolkit[cublas,cudart,nvtx]==13.2.2")
    assert found == [("cublas", "==13.4.1.3.*", "", "", ""), ("cuda", "==13.2.*", "", "", "")]


def test_a_cuda_runtime_wheel_is_a_runtime_of_its_minor(names: Names) -> None:
    assert rows(names, "nvidia-cuda-runtime-cu12==12.8.90") == [("cuda", "==12.8.*", "", "", "")]
    assert rows(names, "nvidia-cuda-runtime-cu12>=12.1.105") == [("cuda", ">=12.1,<13", "", "", "")]


def test_a_line_about_a_known_component_that_cannot_be_read_is_no_silence(names: Names) -> None:
    with pytest.raises(HarvestError, match="torch"):
        rows(names, "torch===>2")
    assert rows(names, "unknown===>2") == []


def test_ranges_are_written_one_way() -> None:
    assert range_text("!=5.6.0,<5.11,>=5.5.3") == ">=5.5.3,<5.11,!=5.6.0"
    assert range_text("<=1.2, >=1.2") == "==1.2"
    assert range_text("") == ">=0"


def test_metadata_beyond_reason_is_refused() -> None:
    for data, said in (
        (b"", "no name"),
        (b"<html>", "no name"),
        (b"Name: a\nVersion: one\n", "PEP 440"),
        (b"Name: a\nVersion: 1\n" + b"x" * 5_000_000, "bytes"),
        (b"Name: a\nVersion: 1\n" + b"Requires-Dist: b\n" * 6000, "6000 requirements"),
    ):
        with pytest.raises(HarvestError, match=said):
            parse(data)


def test_only_the_header_counts() -> None:
    assert parse(core("some", "1.0", "torch").encode()).requires == ("torch",)


def test_rows_agree_with_what_reviewers_wrote_for_the_newest_engines(names: Names) -> None:
    """The lines are those of the wheels, as recorded; the rows of the matrices were written independently."""
    recorded = json.loads((ROOT / "tests/harvest/recorded/metadata.json").read_text())
    for entry in recorded["releases"]:
        component = names.catalog.component(names.component_of[entry["name"]])
        assert component is not None
        release = next(r for r in component.releases if r.version.text == entry["version"])
        extras = sorted({r.extra for r in release.requires or () if r.extra})
        metadata: Metadata = checked(
            name=entry["name"],
            version=entry["version"],
            requires_python=entry["requires_python"],
            requires=entry["requires_dist"],
            extras=extras,
            where="recorded",
        )
        mine = {
            (r.component, r.range) for r in rows_of(metadata, names, keep_extras=extras).rows if not r.extra
        }
        reviewed = {(r.component, r.range) for r in release.requires or () if not r.extra}
        reviewed |= {(r.component, r.range) for b in release.builds if b.default for r in b.requires}
        assert mine - reviewed <= {("cusparselt", "==0.8.1")}, entry["name"]
        assert {("torch", "==2.14.0"), ("nccl", "==2.30.7")} & mine
