"""The Matrix screen: grades by sign, facts behind a cell, filter, sort, axes, the way back."""

from __future__ import annotations

import pytest
from textual.widgets import Input

from stackcheck.model.kinds import Grade
from stackcheck_tui.widgets.grid import GradeGrid, stacked
from tests.tui.driving import driven, fill, page, press, screen_text, shown

pytestmark = pytest.mark.asyncio


async def test_the_first_picture_is_torch_against_gpus_and_tells_the_facts_of_the_cell() -> None:
    async with driven() as (app, _):
        grid = app.screen.query_one(GradeGrid)
        assert list(grid.row_labels) == ["2.11.0", "2.9.1", "2.6.0"]
        assert list(grid.column_labels) == ["b200", "b300", "h100"]
        assert grid.grade_at(0, 0) is Grade.SUPPORTED
        assert grid.grade_at(1, 1) is Grade.CAVEAT
        assert grid.grade_at(2, 0) is Grade.BROKEN
        assert "first wheels with sm_100 code" in shown(app, "#facts")


async def test_a_new_user_finds_which_torch_runs_on_b300_and_why_2_6_does_not() -> None:
    async with driven() as (app, pilot):
        await press(pilot, "right", "down", "down")
        assert page(app).crumbs()[-1] == "2.6.0 \N{MULTIPLICATION SIGN} b300"
        facts = shown(app, "#facts")
        assert "✗ broken" in facts
        assert "no wheel before 2.9 holds code for it" in facts
        assert "docs.example.com/guide.html" in facts
        await press(pilot, "enter")
        assert "no wheel before 2.9 holds code for it" in shown(app, "#box")
        await press(pilot, "escape")
        assert app.screen is page(app)


async def test_grades_are_told_apart_without_colour() -> None:
    async with driven() as (app, _):
        lines = screen_text(app).splitlines()
        row = next(line for line in lines if line.lstrip("│ ").startswith("2.9.1"))
        assert row.index("✓") < row.index("!") < row.rindex("✓")
        assert "✗" in next(line for line in lines if line.lstrip("│ ").startswith("2.6.0"))


async def test_the_filter_keeps_rows_columns_and_grades() -> None:
    async with driven() as (app, pilot):
        await press(pilot, "slash")
        await fill(pilot, "2.9 col:b300")
        grid = app.screen.query_one(GradeGrid)
        assert (list(grid.row_labels), list(grid.column_labels)) == (["2.9.1"], ["b300"])
        assert grid.grade_at(0, 0) is Grade.CAVEAT
        await press(pilot, "escape")
        assert app.screen.focused is grid


async def test_a_filter_that_nothing_fits_says_so_and_tells_no_facts_of_another_cell() -> None:
    async with driven() as (app, pilot):
        await press(pilot, "slash")
        await fill(pilot, "9.9")
        assert "None of 3 rows fits the filter '9.9'." in screen_text(app)
        assert "─ 0 \N{MULTIPLICATION SIGN} 3 ─╯" in screen_text(app)
        assert shown(app, "#facts") == "No cell is shown."
        await press(pilot, "ctrl+u")
        await fill(pilot, "col:a100")
        assert "None of 3 columns fits the filter 'col:a100'." in screen_text(app)
        await press(pilot, "escape", "y", "o", "down", "right", "enter")
        assert app.clipboard == ""
        assert app.screen is page(app)
        await press(pilot, "slash", "ctrl+u")
        assert "None of" not in screen_text(app)
        assert "first wheels with sm_100 code" in shown(app, "#facts")


async def test_a_filter_belongs_to_its_picture() -> None:
    async with driven() as (app, pilot):
        field = app.screen.query_one("#search", Input)
        grid = app.screen.query_one(GradeGrid)
        await press(pilot, "slash")
        await fill(pilot, "2.9 col:=b300")
        await press(pilot, "escape", "x")
        assert field.value == "=b300 col:2.9"
        assert (list(grid.row_labels), list(grid.column_labels)) == (["b300"], ["2.9.1"])
        await press(pilot, "2", "escape")
        assert field.value == "=b300 col:2.9"
        await press(pilot, "p")
        await fill(pilot, "torch driver")
        await press(pilot, "enter")
        assert field.value == ""
        assert (len(grid.row_labels), len(grid.column_labels)) == (3, 4)
        await press(pilot, "slash")
        await fill(pilot, "2.9")
        await press(pilot, "escape", "c")
        await fill(pilot, "gpu")
        await press(pilot, "enter")
        assert field.value == ""
        assert len(grid.row_labels) == 3


async def test_the_counts_are_those_of_the_rows_and_columns_that_are_left() -> None:
    async with driven() as (app, pilot):
        assert "supported 6" in shown(app, "#legend")
        await press(pilot, "slash")
        await fill(pilot, "col:=b300")
        legend = shown(app, "#legend")
        assert [f"{g} {n}" in legend for g, n in (("supported", 1), ("caveat", 1), ("broken", 1))] == [
            True
        ] * 3
        await fill(pilot, " 2.6")
        assert "broken 1" in shown(app, "#legend")
        assert "supported 1" not in shown(app, "#legend")


@pytest.mark.parametrize("width", [20, 24, 80, 120, 160])
async def test_counts_are_never_cut(width: int) -> None:
    async with driven(size=(width, 30)) as (app, _):
        told = shown(app, "#legend")
        line = next(line for line in screen_text(app).splitlines() if told.strip() in line)
        assert "…" not in line
        assert "6" in told


async def test_columns_that_go_on_beyond_the_border_are_told_and_the_last_can_be_reached() -> None:
    async with driven(size=(120, 40)) as (app, pilot):
        grid = app.screen.query_one(GradeGrid)
        assert grid.border_subtitle == "3 \N{MULTIPLICATION SIGN} 3 · newest first"
        labels = [f"column-{n}" for n in range(14)]
        for width in range(120, 128):
            await pilot.resize_terminal(width, 40)
            grid.show(["row"], labels, lambda _row, _column: Grade.BROKEN)
            await press(pilot)
            seen = len(grid._seen())
            assert seen < 14
            assert f"columns 1-{seen} of 14 ▸" in screen_text(app)
            await press(pilot, "end")
            assert f"◂ columns {15 - seen}-14 of 14 ·" in screen_text(app)
            assert grid._seen().stop == 14


async def test_rows_can_be_sorted_by_the_cursors_column() -> None:
    async with driven() as (app, pilot):
        await press(pilot, "s")
        assert app.screen.query_one(GradeGrid).row_labels[0] == "2.6.0"
        await press(pilot, "s")
        assert app.screen.query_one(GradeGrid).row_labels[-1] == "2.6.0"


async def test_the_order_told_is_the_order_there_is() -> None:
    async with driven() as (app, pilot):
        grid = app.screen.query_one(GradeGrid)
        await press(pilot, "x")
        assert list(grid.row_labels) == ["b200", "b300", "h100"]
        assert grid.caption == "by name"
        await press(pilot, "s")
        assert list(grid.row_labels) == ["h100", "b300", "b200"]
        assert grid.caption == "by name, from the end"
        page(app).visit(("image:ngc", "gpu"))
        await press(pilot, "s", "s", "s")
        assert grid.caption == "newest first"
        assert [label.partition(":")[2] for label in grid.row_labels] == [
            "26.04-py3",
            "25.11-py3",
            "25.01-py3",
        ]


async def test_swap_keeps_the_cell_and_back_returns_to_it() -> None:
    async with driven() as (app, pilot):
        await press(pilot, "right", "down")
        await press(pilot, "x")
        grid = app.screen.query_one(GradeGrid)
        assert grid.row_labels[grid.row] == "b300"
        assert grid.column_labels[grid.column] == "2.9.1"
        await press(pilot, "2")
        assert page(app).PAGE == "resolve"
        await press(pilot, "escape")
        assert page(app).PAGE == "matrix"
        assert page(app).crumbs()[-1] == "b300 \N{MULTIPLICATION SIGN} 2.9.1"


async def test_another_axis_is_chosen_by_typing_a_part_of_its_name() -> None:
    async with driven() as (app, pilot):
        await press(pilot, "c")
        await fill(pilot, "driv")
        await press(pilot, "enter")
        grid = app.screen.query_one(GradeGrid)
        assert grid.column_labels[0] == "580.95.05"
        assert grid.grade_at(0, 1) is Grade.BROKEN  # torch 2.11.0 is of CUDA 13, 570 is below its floor
        assert "580.65.06" in shown(app, "#facts")


async def test_a_grade_that_something_else_brings_along_says_so() -> None:
    async with driven(size=(160, 48)) as (app, pilot):
        page(app).visit(("torch", "driver", "2.11.0", "570.195.03"))
        await press(pilot)
        assert "because of cuda 13.0.2, brought by torch 2.11.0" in shown(app, "#facts")
        page(app).visit(("torch", "gpu", "2.6.0", "b300"))
        await press(pilot)
        assert "because of" not in shown(app, "#facts")


async def test_a_gpu_narrows_the_whole_picture() -> None:
    async with driven() as (app, pilot):
        page(app).visit(("torch", "driver"))
        await press(pilot, "g")
        await fill(pilot, "b200")
        await press(pilot, "enter")
        grid = app.screen.query_one(GradeGrid)
        labels = list(grid.column_labels)
        assert grid.grade_at(1, labels.index("550.54.15")) is Grade.BROKEN
        assert "on b200" in page(app).crumbs()[1]


async def test_folding_shows_the_newest_of_each_series() -> None:
    async with driven() as (app, pilot):
        page(app).visit(("torch", "driver"))
        await press(pilot, "f")
        assert list(app.screen.query_one(GradeGrid).column_labels) == [
            "580.95.05",
            "570.195.03",
            "550.163.01",
        ]


async def test_the_mouse_moves_the_cursor_and_opens_a_cell() -> None:
    async with driven() as (app, pilot):
        grid = app.screen.query_one(GradeGrid)
        offset = (grid.row_width + grid.cell_width + 2, grid.head_height + 2)
        await pilot.click(GradeGrid, offset=offset)
        assert (grid.row, grid.column) == (1, 1)
        await pilot.click(GradeGrid, offset=offset)
        await press(pilot)
        assert app.screen is not page(app)


async def test_copy_takes_the_facts_and_their_source() -> None:
    async with driven() as (app, pilot):
        await press(pilot, "y")
        assert "https://docs.example.com/guide.html" in app.clipboard


@pytest.mark.parametrize(
    ("label", "pieces"),
    [
        ("580.95.05", ("580", "95", "05")),
        ("rtx-pro-6000", ("rtx", "pro", "6000")),
        ("b200", ("b200",)),
        ("1.2.3.4.5", ("1", "2", "3", "45")),
    ],
)
async def test_a_label_is_stacked_by_its_parts(label: str, pieces: tuple[str, ...]) -> None:
    assert stacked(label) == pieces
