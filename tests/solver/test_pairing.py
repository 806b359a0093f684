"""The picture of pairs agrees with the facts told about each pair, and both with the rules."""

from __future__ import annotations

import random

import pytest

from stackcheck.catalog import open_catalog
from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.image_age import days, newest_first
from stackcheck.model.errors import UsageError
from stackcheck.model.kinds import Grade
from stackcheck.model.release import Image
from stackcheck.solver.arrange import Order, arranged, turned
from stackcheck.solver.axes import axis, axis_names
from stackcheck.solver.pair_facts import story
from stackcheck.solver.pairing import Context, Pairing, pair

SIDES = (
    ("torch", "gpu", ""),
    ("torch", "driver", "b200"),
    ("nccl", "aws-ofi-nccl", ""),
    ("image:ngc", "gpu", ""),
    ("image", "driver", "b300"),
    ("image", "instance", ""),
    ("flash-attn", "torch", ""),
    ("vllm", "torch", "h100"),
    ("efa-installer", "instance", ""),
)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return open_catalog(None)


def picture(catalog: Catalog, rows: str, columns: str, gpu: str = "") -> Pairing:
    context = Context(catalog.gpu(gpu) if gpu else None)
    return pair(
        catalog, axis(catalog, rows, without=(columns,)), axis(catalog, columns, without=(rows,)), context
    )


@pytest.mark.parametrize("sides", SIDES, ids=" ".join)
def test_the_masks_and_the_facts_of_a_pair_come_to_the_same_grade(
    catalog: Catalog, sides: tuple[str, str, str]
) -> None:
    made = picture(catalog, *sides)
    chance = random.Random(7)
    for _ in range(25):
        row = chance.randrange(len(made.rows.entries))
        column = chance.randrange(len(made.columns.entries))
        told = story(catalog, made, row, column)
        labels = (made.rows.entries[row].label, made.columns.entries[column].label)
        assert told.grade is made.grade(row, column), labels


def test_turning_the_picture_changes_no_grade(catalog: Catalog) -> None:
    one, other = picture(catalog, "torch", "driver"), picture(catalog, "driver", "torch")
    for row in range(len(one.rows.entries)):
        for column in range(0, len(one.columns.entries), 7):
            assert one.grade(row, column) is other.grade(column, row)


def test_known_pairs(catalog: Catalog) -> None:
    def grade(rows: str, row: str, columns: str, column: str) -> Grade:
        made = picture(catalog, rows, columns)
        places = [e.id for e in made.rows.entries], [e.id for e in made.columns.entries]
        return made.grade(places[0].index(row), places[1].index(column))

    assert grade("torch", "2.6.0", "gpu", "b300") is Grade.BROKEN  # no build with code for Blackwell
    assert grade("torch", "2.6.0", "gpu", "h100") is Grade.SUPPORTED
    assert grade("torchvision", "0.26.0", "torch", "2.2.0") is Grade.BROKEN  # pinned to another minor


def test_a_gpu_adds_what_is_wrong_with_it(catalog: Catalog) -> None:
    free, bound = picture(catalog, "torch", "driver"), picture(catalog, "torch", "driver", "b300")
    row = [e.id for e in free.rows.entries].index("2.6.0")
    assert all(bound.grade(row, c) is Grade.BROKEN for c in range(len(bound.columns.entries)))
    assert any(free.grade(row, c) is not Grade.BROKEN for c in range(len(free.columns.entries)))


def test_every_axis_can_be_made_and_unknown_ones_name_the_nearest(catalog: Catalog) -> None:
    for name in axis_names(catalog):
        assert axis(catalog, name).entries, name
    with pytest.raises(UsageError, match="torch"):
        axis(catalog, "tortch")


def test_folding_keeps_the_newest_of_each_series(catalog: Catalog) -> None:
    whole = axis(catalog, "driver")
    folded = whole.folded()
    assert len({e.group for e in whole.entries}) == len(folded.entries)
    first = {e.group: e.id for e in reversed(whole.entries)}
    assert all(first[e.group] == e.id for e in folded.entries)


def test_what_comes_along_and_alone_makes_a_grade_bad_is_named(catalog: Catalog) -> None:
    made = picture(catalog, "torch", "gpu")
    rows, columns = [e.id for e in made.rows.entries], [e.id for e in made.columns.entries]
    told = story(catalog, made, rows.index("2.9.1"), columns.index("b300"))
    assert told.grade is Grade.DEGRADED
    assert told.through() == (("triton 3.5.1, brought by torch 2.9.1",), Grade.CAVEAT)
    told = story(catalog, made, rows.index("2.6.0"), columns.index("b300"))
    assert told.through() == ((), Grade.BROKEN), "torch itself is broken there"
    order = (Grade.BROKEN, Grade.DEGRADED, Grade.CAVEAT, Grade.TESTED, Grade.SUPPORTED, Grade.UNKNOWN)
    for sides in (("torch", "gpu"), ("torch", "driver"), ("vllm", "gpu"), ("vllm", "torch")):
        made = picture(catalog, *sides)
        for row in range(0, len(made.rows.entries), 3):
            for column in range(0, len(made.columns.entries), 5):
                told = story(catalog, made, row, column)
                through, alone = told.through()
                assert not through or order.index(alone) > order.index(told.grade)


def test_images_stand_newest_first_and_those_without_a_day_last(catalog: Catalog) -> None:
    by_name = {i.name: i for i in catalog.images}
    for family in ("ngc", "dlc", "upstream"):
        images = [by_name[e.id] for e in axis(catalog, f"image:{family}").entries]
        known = days(catalog, images)
        assert list(known) == sorted(known, reverse=True)
        for repository in {i.repository for i in images}:
            tags = [i.tag for i, d in zip(images, known, strict=True) if i.repository == repository and not d]
            assert [
                tags[p] for p in newest_first([Image(repository, t, "", "") for t in tags], [""] * len(tags))
            ] == tags
    pytorch = [e.label for e in axis(catalog, "image:ngc").entries if e.label.startswith("pytorch:2")]
    assert pytorch == sorted(pytorch, reverse=True)


def test_rows_are_filtered_and_ordered(catalog: Catalog) -> None:
    made = picture(catalog, "torch", "gpu")
    names = [e.id for e in made.columns.entries]
    b300 = names.index("b300")
    rows, columns = arranged(made, "is:broken", Order.NEWEST, b300)
    assert rows
    assert all(made.grade(r, b300) is Grade.BROKEN for r in rows)
    assert len(columns) == len(names)
    rows, columns = arranged(made, "2.9 col:b300", Order.OLDEST, b300)
    assert [made.rows.entries[r].id for r in rows] == ["2.9.0", "2.9.1"]
    assert [names[c] for c in columns] == ["b300", "gb300"]
    for exact in ("col:=b300", 'col:"b300"', 'col:="NVIDIA B300"'):
        assert [names[c] for c in arranged(made, exact, Order.NEWEST, b300)[1]] == ["b300"], exact
    rows, _ = arranged(made, "=2.9.1", Order.NEWEST, b300)
    assert [made.rows.entries[r].id for r in rows] == ["2.9.1"]
    assert [made.rows.entries[r].id for r in arranged(made, "=2.9.", Order.NEWEST, b300)[0]] == []
    assert arranged(made, "is:nograde", Order.NEWEST, b300)[0] == ()
    assert turned('2.9 col:="NVIDIA B300" is:broken') == '="nvidia b300" col:2.9'
    rows, _ = arranged(made, "", Order.BEST_HERE, b300)
    order = (Grade.SUPPORTED, Grade.TESTED, Grade.CAVEAT, Grade.DEGRADED, Grade.UNKNOWN, Grade.BROKEN)
    ranks = [order.index(made.grade(r, b300)) for r in rows]
    assert ranks == sorted(ranks)
