"""Images in order: by date, by what they hold where none is known; names that do not fit say so."""

from __future__ import annotations

import pytest

from stackcheck.catalog.image_age import days
from stackcheck.model.kinds import Grade
from stackcheck.model.release import Image
from stackcheck.solver.image_search import Hit
from stackcheck_tui.image_order import cut, newest_first
from tests.tui.driving import driven, screen_text
from tests.tui.small import catalog


def hit(tag: str, grade: Grade = Grade.SUPPORTED) -> Hit:
    return Hit(Image("example.com/pytorch", tag, "ngc", ""), grade)


def test_an_image_is_not_older_than_the_newest_release_inside_or_the_month_in_its_tag() -> None:
    held = {"torch": "2.9.1+cu130", "nccl": "2.21.5", "cuda": "no version", "nosuch": "1"}
    images = [
        Image("example.com/pytorch", "x", "ngc", "", contents=held),
        Image("example.com/pytorch", "25.12-py3", "ngc", "", contents=held),
        Image("example.com/pytorch", "25.10-py3", "ngc", "", contents=held),
        Image("example.com/pytorch", "25.10-py3", "ngc", "", date="2025-10-30", contents=held),
        Image("r", "v0.25.10", "ngc", ""),
        Image("r", "25.13", "ngc", ""),
    ]
    assert days(catalog(), images) == ("2025-11-12", "2025-12", "2025-11-12", "2025-10-30", "", "")


def test_newest_first_and_tags_of_one_day_by_their_numbers() -> None:
    hits = [hit("0.9"), hit("0.10"), hit("old"), hit("new")]
    days = ["2026-01-01", "2026-01-01", "2025-01-01", "2026-02-01"]
    assert newest_first(hits, days, unknown_last=False) == (3, 1, 0, 2)
    unknown = [hit("a", Grade.UNKNOWN), hit("b")]
    assert newest_first(unknown, ["2026-01-01", ""], unknown_last=True) == (1, 0)
    assert newest_first(unknown, ["2026-01-01", ""], unknown_last=False) == (0, 1)


@pytest.mark.parametrize(("width", "shown"), [(20, "vllm-runtime:1.1.1"), (11, "vllm…:1.1.1"), (1, "v…")])
def test_what_is_left_out_of_a_name_is_marked(width: int, shown: str) -> None:
    assert cut("vllm-runtime:1.1.1", width) == shown


@pytest.mark.asyncio
async def test_the_image_of_a_stack_is_named_on_a_small_terminal() -> None:
    async with driven("resolve", size=(80, 24)) as (app, _):
        image = app.page.stack.image  # type: ignore[union-attr]
        assert image is not None
        lines = (line.strip() for line in screen_text(app).splitlines())
        assert image.reference in "".join(lines)
