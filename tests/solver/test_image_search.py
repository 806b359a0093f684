"""Which images fit, and what two differ in; on the shipped data, so that the queries people make are those tested."""

from __future__ import annotations

import pytest

from stackcheck.catalog import open_catalog
from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.identify import parsed_version
from stackcheck.model.errors import UsageError
from stackcheck.model.kinds import Grade
from stackcheck.model.ranges import Range
from stackcheck.solver.image_search import Query, differences, search


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return open_catalog(None)


def test_an_empty_query_finds_every_image_newest_first(catalog: Catalog) -> None:
    hits = search(catalog, Query())
    assert len(hits) == len(catalog.images)
    dates = [h.image.date for h in hits]
    assert dates == sorted(dates, reverse=True)


def test_what_it_must_hold_is_held(catalog: Catalog) -> None:
    torch = catalog.component("torch")
    assert torch is not None
    hits = search(catalog, Query(holds="torch>=2.9"))
    assert hits
    for hit in hits:
        version = parsed_version(torch, hit.image.contents["torch"])
        assert version is not None
        assert version in Range(">=2.9", "pep440")


def test_a_driver_rules_out_images_of_a_newer_cuda_major_without_compat(catalog: Catalog) -> None:
    cuda = catalog.component("cuda")
    assert cuda is not None
    hits = search(catalog, Query(driver="550"))
    known = [h for h in hits if h.grade is not Grade.UNKNOWN and "cuda" in h.image.contents]
    assert known
    for hit in known:
        version = parsed_version(cuda, hit.image.contents["cuda"])
        assert version is not None
        assert version.major < 13 or "cuda-compat" in hit.image.contents, hit.image.name


def test_images_of_which_nobody_says_whether_they_fit_stand_last(catalog: Catalog) -> None:
    unknown = [h.grade is Grade.UNKNOWN for h in search(catalog, Query(driver="550"))]
    assert unknown == sorted(unknown)


def test_a_gpu_leaves_out_what_is_broken_on_it(catalog: Catalog) -> None:
    hits = search(catalog, Query(gpu="b300", holds="torch>=2"))
    assert hits
    assert all(not h.image.contents["torch"].startswith("2.5.") for h in hits if h.image.family == "dlc")


@pytest.mark.parametrize(
    "query",
    [Query(gpu="b400"), Query(driver="next"), Query(holds="tortch>=2"), Query(holds="torch>=a.b")],
    ids=str,
)
def test_what_nobody_knows_is_one_line(catalog: Catalog, query: Query) -> None:
    with pytest.raises(UsageError, match=";"):
        search(catalog, query)


def test_differences_stand_first_and_say_what_is_not_stated(catalog: Catalog) -> None:
    left, right = (h.image for h in search(catalog, Query(family="ngc", holds="torch cuda"))[:2])
    rows = differences(left, right)
    assert [r.same for r in rows] == sorted(r.same for r in rows)
    named = {r.component for r in rows}
    assert set(left.contents) | set(right.contents) <= named
    for row in rows:
        if row.component in left.contents:
            assert row.left == left.contents[row.component]
    assert all(r.same for r in differences(left, left))
