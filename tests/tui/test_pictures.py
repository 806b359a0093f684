"""Pictures of every screen, small and large; docs/tui.md shows the same files, so they cannot rot."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stackcheck.model.inventory_json import inventory_from_json
from tests.tui.driving import driven, fill, page, picture, press
from tests.tui.small import BROKEN_NODE

SIZES = ((80, 24), (160, 48))
PAGES = ("matrix", "resolve", "images", "components", "node", "advisories")

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("start", PAGES)
async def test_a_screen_looks_as_it_did(
    start: str, size: tuple[int, int], golden: Callable[[str, str], None]
) -> None:
    node = inventory_from_json(BROKEN_NODE, where="test") if start == "node" else None
    async with driven(start, size=size, inventory=node) as (app, pilot):
        if start == "matrix":
            await press(pilot, "right", "down")
        golden(f"tui/{start}-{size[0]}x{size[1]}.svg", picture(app))


async def test_a_conflict_looks_as_it_did(golden: Callable[[str, str], None]) -> None:
    async with driven("resolve", size=(120, 36)) as (app, pilot):
        await press(pilot, "slash", "tab")
        await fill(pilot, "torch==2.6.0")
        await press(pilot, "enter")
        golden("tui/conflict-120x36.svg", picture(app))


async def test_an_experiment_looks_as_it_did(golden: Callable[[str, str], None]) -> None:
    node = inventory_from_json(BROKEN_NODE, where="test")
    async with driven("node", size=(120, 36), inventory=node) as (app, pilot):
        await press(pilot, "space")
        golden("tui/what-if-120x36.svg", picture(app))


async def test_help_looks_as_it_did(golden: Callable[[str, str], None]) -> None:
    async with driven(size=(120, 48)) as (app, pilot):
        await press(pilot, "question_mark")
        golden("tui/help-120x48.svg", picture(app))


async def test_without_colour_everything_is_still_told(
    golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with driven(size=(80, 24)) as (app, _):
        assert page(app).app.no_color
        golden("tui/no-color-80x24.svg", picture(app))
