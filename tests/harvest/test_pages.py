"""Release lists, changelogs and tables: what they say, agreed with the reviewed matrices, and one line when they say nothing."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from stackcheck.catalog.files import matrices_root, read_json
from stackcheck.harvest import release_pages, upstreams, vendor_tables
from stackcheck.harvest.interface import Candidate, HarvestError
from stackcheck.harvest.reconcile import compare
from stackcheck.harvest.upstreams import ReleasePage, Upstreams, VendorTable

RECORDED = Path(__file__).with_name("recorded")
TODAY = "2026-11-29"


@pytest.fixture(scope="module")
def shipped() -> Upstreams:
    return upstreams.load(f"{matrices_root()}/upstreams.json")


def page(shipped: Upstreams, component: str) -> ReleasePage:
    return next(p for p in shipped.releases if p.component == component)


def said(found: list[Candidate]) -> dict[str, dict[str, object]]:
    by_release: dict[str, dict[str, object]] = {}
    for fact in found:
        by_release.setdefault(fact.release, {})[fact.field] = fact.value
    return by_release


def reviewed(component: str) -> dict[str, object]:
    return dict(read_json(f"{matrices_root()}/components/{component}.json"))


def test_a_changelog_agrees_with_the_reviewed_releases(shipped: Upstreams) -> None:
    data = (RECORDED / "gdrcopy-changelog.md").read_bytes()
    found = list(release_pages.changelog(data, page(shipped, "gdrcopy"), TODAY))
    assert said(found) == {
        "2.4.3": {"exists": True, "date": "2024-12-02"},
        "2.4.2": {"exists": True, "date": "2024-10-31"},
        "2.4": {"exists": True, "date": "2023-09-19"},
    }
    assert compare(reviewed("gdrcopy"), found) == ()


def test_a_release_list_leaves_out_candidates_and_other_tags(shipped: Upstreams) -> None:
    data = (RECORDED / "git-releases.json").read_bytes()
    found = list(release_pages.git_releases(data, page(shipped, "nccl"), TODAY))
    assert said(found) == {
        "2.30.7": {"exists": True, "date": "2026-06-04"},
        "2.29.7": {"exists": True, "date": "2026-02-27"},
    }
    assert compare(reviewed("nccl"), found) == ()


def test_a_web_page_is_read_by_its_blocks_without_scripts(shipped: Upstreams) -> None:
    html = b"""<h2>Versions</h2><script>1.99.0</script><table><tr><td>1.51.0</td><td><p>x</p></td></tr>
    <tr><td><p>1.50.0</p></td></tr></table><p>since 1.2.3 it works</p>"""
    found = list(release_pages.web_page(html, page(shipped, "efa-installer"), TODAY))
    assert set(said(found)) == {"1.51.0", "1.50.0"}


def test_named_groups_become_attributes() -> None:
    plugin = ReleasePage(
        component="c", url="u", reader="changelog", pattern=r"^v(?P<version>\S+) nccl (?P<nccl_min>\S+)"
    )
    found = list(release_pages.changelog(b"v1.2 nccl 2.18\n", plugin, TODAY))
    assert said(found) == {"1.2": {"exists": True, "attribute:nccl_min": "2.18"}}


def test_the_cuda_table_is_found_by_its_header_and_agrees_with_the_reviewed_floors(
    shipped: Upstreams,
) -> None:
    data = (RECORDED / "cuda-driver-table.html").read_bytes()
    second = data.split(b"<table>")[2]
    (table,) = shipped.tables
    found = list(vendor_tables.candidates(b"<table>" + second, table, TODAY))
    assert said(found) == {
        "13.0.2": {"attribute:min_driver": "580.95.05"},
        "13.0.1": {"attribute:min_driver": "580.82.07"},
        "13.0.0": {"attribute:min_driver": "580.65.06"},
        "12.9.1": {"attribute:min_driver": "575.57.08"},
    }
    assert compare(reviewed("cuda"), found) == ()


def test_a_table_that_looks_alike_but_holds_no_such_rows_is_passed_over(shipped: Upstreams) -> None:
    """The table of minor-version floors has the same headers; its rows say 13.x, which is no release."""
    found = list(
        vendor_tables.candidates((RECORDED / "cuda-driver-table.html").read_bytes(), shipped.tables[0], TODAY)
    )
    assert "13.0.2" in said(found)


def test_irregular_names_are_named_in_the_data(shipped: Upstreams) -> None:
    (table,) = shipped.tables
    html = (
        b"<table><tr><th>CUDA Toolkit<th>Linux x86_64 Driver Version</tr>"
        b"<tr><td>CUDA 13.4 Update 1<td>&gt;=615.71.09</tr></table>"
    )
    assert set(said(list(vendor_tables.candidates(html, table, TODAY)))) == {"13.4.2"}


def test_cells_that_span_are_repeated() -> None:
    html = b"<table><tr><th>a<th>b</tr><tr><td rowspan=2>1<td>x</tr><tr><td>y</tr><tr><td colspan=2>z</tr></table>"
    assert vendor_tables.tables(html) == [[["a", "b"], ["1", "x"], ["1", "y"], ["z", "z"]]]


@pytest.mark.parametrize(
    "html",
    [
        b"",
        b"<html>please log in</html>",
        b"<table><tr><td>other</table>",
        b"\xff\xfe",
        b"<table>" * 3000,
        b"<td>" * 1000,
    ],
)
def test_a_page_that_changed_its_form_is_one_line(shipped: Upstreams, html: bytes) -> None:
    with pytest.raises(HarvestError):
        list(vendor_tables.candidates(html, shipped.tables[0], TODAY))
    with pytest.raises(HarvestError):
        list(release_pages.web_page(html, page(shipped, "efa-installer"), TODAY))
    with pytest.raises(HarvestError):
        list(release_pages.git_releases(html, page(shipped, "nccl"), TODAY))


def test_absurd_spans_and_many_cells_are_bounded() -> None:
    assert len(vendor_tables.tables(b"<table><tr><td colspan=99999999>x</table>")[0][0]) <= 200
    with pytest.raises(HarvestError, match="cells"):
        vendor_tables.tables(b"<table>" + b"<tr><td>x" * 200_002)


def test_long_lines_cannot_make_patterns_slow(shipped: Upstreams) -> None:
    start = time.monotonic()
    with pytest.raises(HarvestError):
        list(
            release_pages.changelog((b"## [" + b"1." * 100_000 + b"\n") * 20, page(shipped, "gdrcopy"), TODAY)
        )
    assert time.monotonic() - start < 5


def test_every_reader_that_the_data_names_exists(shipped: Upstreams) -> None:
    for entry in shipped.releases:
        assert entry.reader in release_pages.READERS
        assert f"components/{entry.component}.json" in [
            f"components/{p.name}" for p in Path(matrices_root(), "components").iterdir()
        ]
        assert entry.url.startswith("https://")


@pytest.mark.parametrize(
    "body", [[], {"releases": [{"component": "x"}]}, {"packages": {"truncate": {"a": "b"}}}, {"tables": 5}]
)
def test_damaged_upstreams_are_one_line(body: object) -> None:
    with pytest.raises(HarvestError, match="upstreams"):
        upstreams.parse(body, where="u.json")


def test_a_table_needs_all_its_columns() -> None:
    wanted = VendorTable(
        component="c", url="u", version_column="CUDA", columns={"a": "A", "b": "B"}, pattern="(.*)"
    )
    with pytest.raises(HarvestError):
        list(
            vendor_tables.candidates(
                b"<table><tr><th>CUDA<th>A</tr><tr><td>1<td>2</tr></table>", wanted, TODAY
            )
        )
