"""The journeys of the people it is made for, by keys alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.widgets import OptionList, TextArea

from stackcheck.model.errors import MatrixError
from stackcheck.model.inventory_json import inventory_from_json
from stackcheck.model.stack_json import stack_from_json
from stackcheck_tui.actions import FIELDS, PAGES
from stackcheck_tui.named import Named
from stackcheck_tui.widgets.table import Table
from tests.tui.driving import driven, fill, page, press, screen_text, shown
from tests.tui.small import BROKEN_NODE

pytestmark = pytest.mark.asyncio


async def test_resolve_see_why_nccl_is_held_apply_an_alternative_and_export(tmp_path: Path) -> None:
    async with driven("resolve") as (app, pilot):
        table = app.screen.query_one(Table)
        row = next(i for i, key in enumerate(table.rows) if key.value == "nccl")
        await press(pilot, *["down"] * row)
        why = shown(app, "#why")
        assert "NCCL 2.27.5" in why
        assert "2.28.9" in why.partition("WHY NOT NEWER")[2]

        await press(pilot, "slash", "tab")
        await fill(pilot, "torch==2.6.0")
        assert "No stack fits all of this" in shown(app, "#why")
        assert "no wheel before 2.9 holds sm_100 code" in shown(app, "#why")
        await press(pilot, "enter", "a")
        assert page(app).stack.solved
        assert page(app).form.frameworks.startswith("torch==2.9.1")

        target = tmp_path / "stack.lock.json"
        await press(pilot, "w")
        await press(pilot, "enter", "ctrl+u")
        await fill(pilot, str(target))
        await press(pilot, "enter")
        lock = stack_from_json(json.loads(target.read_text()), where="lock")
        assert {p.component: p.version for p in lock.pins}["torch"].startswith("2.9.1")


async def test_open_a_broken_node_apply_remedies_and_see_it_green() -> None:
    inventory = inventory_from_json(BROKEN_NODE, where="test")
    async with driven("node", inventory=inventory) as (app, pilot):
        assert "✗ 1" in shown(app, "#summary")
        finding = shown(app, "#finding")
        assert "driver 570.195.03 is older than CUDA 13.0.2 needs" in finding
        assert "components/driver" in finding
        await press(pilot, "y")
        assert app.clipboard == "apt-get install nvidia-driver-580-open"
        await press(pilot, "space")
        assert "what if → ✗ 0" in shown(app, "#summary")
        assert "green" in shown(app, "#summary")
        await press(pilot, "space")
        assert "what if" not in shown(app, "#summary")


async def test_a_remedy_is_applied_by_the_mouse_too() -> None:
    inventory = inventory_from_json(BROKEN_NODE, where="test")
    async with driven("node", inventory=inventory) as (app, pilot):
        await pilot.click("#remedies", offset=(4, 1))
        await press(pilot)
        assert page(app).trials


async def test_the_newest_ngc_image_that_fits_driver_550_is_found_by_the_fields() -> None:
    async with driven("images", size=(160, 48)) as (app, pilot):
        await press(pilot, "f", "f")
        assert page(app).wanted.family == "ngc"
        app.screen.query_one("#driver").focus()
        await fill(pilot, "550")
        assert [h.image.tag for h in page(app).hits] == ["25.01-py3"]
        await press(pilot, "enter")
        await press(pilot, "y")
        assert app.clipboard == "nvcr.io/nvidia/pytorch:25.01-py3"


async def test_a_text_is_pasted_and_judged() -> None:
    async with driven("node") as (app, pilot):
        assert "Nothing is opened yet" in shown(app, "#finding")
        await press(pilot, "p")
        app.screen.query_one("#text", TextArea).load_text("torch==2.9.1+cu130\nvllm==0.20.0\n")
        await press(pilot, "ctrl+s")
        titles = [f.title for f, _ in page(app).rows]
        assert any("2.11.0" in t for t in titles), titles


async def test_files_of_a_node_are_opened_by_name(tmp_path: Path) -> None:
    file = tmp_path / "freeze.txt"
    file.write_text("vllm==0.20.0\ntorch==2.9.1\n")
    async with driven("node") as (app, pilot):
        await press(pilot, "f")
        await fill(pilot, str(file))
        await press(pilot, "enter")
        assert page(app).rows
        before = shown(app, "#summary")
        await press(pilot, "f")
        await fill(pilot, "/no/such/file")
        await press(pilot, "enter")
        assert "there is no such file" in shown(app, "#fault")
        assert app.screen.query_one("#fault").display
        assert shown(app, "#summary") == before, "what was open stays open"
        assert page(app).rows
        await press(pilot, "f")
        await fill(pilot, str(file))
        await press(pilot, "enter")
        assert not app.screen.query_one("#fault").display


async def test_a_field_is_offered_only_where_there_is_one() -> None:
    async with driven("node") as (app, pilot):
        assert "/ Field" not in screen_text(app)
        assert "Field" not in {c.title for c in app.get_system_commands(app.screen)}
        await press(pilot, "slash")
        assert app.screen.focused is app.screen.query_one(Table)
        await press(pilot, "question_mark")
        assert "Go to the first field" not in shown(app, "#box")
        await press(pilot, "escape", "3")
        assert "/ Field" in screen_text(app)


async def test_two_stacks_stand_side_by_side() -> None:
    async with driven("resolve", size=(160, 48)) as (app, pilot):
        await press(pilot, "c")
        await press(pilot, "slash", "ctrl+u")
        await fill(pilot, "h100")
        await press(pilot, "escape")
        assert "compared with" in screen_text(app)
        await press(pilot, "c")
        assert "compared with" not in screen_text(app)


async def test_two_images_are_compared() -> None:
    async with driven("images", size=(160, 48)) as (app, pilot):
        await press(pilot, "space", "down", "space", "d")
        told = shown(app, "#box")
        assert "≠ torch" in told


async def test_a_component_leads_to_its_neighbours_and_back() -> None:
    async with driven("components", size=(160, 48)) as (app, pilot):
        assert "vllm" in shown(app, "#around")
        await press(pilot, "enter")
        await fill(pilot, "required by vllm")
        await press(pilot, "enter")
        assert page(app).crumbs()[:3] == ("Components", "serving", "vllm")
        await press(pilot, "escape")
        assert page(app).component == "torch"
        await press(pilot, "m")
        assert page(app).PAGE == "matrix"


async def test_a_picture_can_be_asked_for_before_its_screen_was_ever_shown() -> None:
    async with driven("components") as (app, pilot):
        await press(pilot, "m")
        assert page(app).crumbs()[1] == "torch \N{MULTIPLICATION SIGN} gpu"
        assert "supported" in shown(app, "#legend")


async def test_what_a_fault_had_hidden_is_shown_when_the_fault_is_gone() -> None:
    """A finding that was folded under another one stands by itself once only the other one is cured."""
    from stackcheck.model.finding import Finding, Report
    from stackcheck.model.inventory import Inventory
    from stackcheck.model.kinds import Kind, Severity
    from stackcheck_tui.desk import Verdict

    def finding(name: str, *under: Finding) -> Finding:
        return Finding(
            id=name,
            kind=Kind.FABRIC,
            severity=Severity.ERROR,
            subjects=("x",),
            title=name,
            consequences=under,
        )

    hidden = finding("hidden")
    async with driven("node") as (app, _):
        node = Inventory(subject="n")
        page(app).answer_verdict(
            Verdict(
                Report(subject="n", inventory=node, findings=(finding("cause", hidden),)),
                Report(subject="n", inventory=node, findings=(hidden,)),
            )
        )
        assert [(f.id, gone) for f, gone in page(app).rows] == [("hidden", False), ("cause", True)]


async def test_the_end_of_support_of_a_release_is_drawn_and_written() -> None:
    async with driven("components", size=(160, 48)) as (app, pilot):
        page(app).visit(("driver", ""))
        await press(pilot)
        text = screen_text(app)
        assert "2028-08-31" in text
        assert "✗" in next(line for line in text.splitlines() if "570.195.03" in line)


async def test_advisories_are_searched_and_read() -> None:
    async with driven("advisories", size=(160, 48)) as (app, pilot):
        await press(pilot, "slash")
        await fill(pilot, "all-reduce")
        assert [r.id for r in page(app).shown] == ["SC-2026-0001"]
        told = shown(app, "#rule")
        assert "aws-ofi-nccl ==1.14.2" in told
        assert "nccl >=2.28" in told
        assert "https://github.com/example/project/issues/1" in told


async def test_every_action_stands_in_help_and_in_the_command_palette() -> None:
    from stackcheck_tui.actions import ACTIONS

    async with driven() as (app, pilot):
        commands = {c.title for c in app.get_system_commands(app.screen)}
        assert {a.title for a in ACTIONS if a.page in ("", "matrix")} - commands == {"Commands"}
        await press(pilot, "question_mark")
        told = shown(app, "#box")
        assert all(a.help in told for a in ACTIONS if a.page in ("", "matrix"))
        await press(pilot, "question_mark")
        assert app.screen is page(app)


@pytest.mark.parametrize(
    ("query", "offered", "crumbs"),
    [
        (
            "b300 runs",
            "b300 · what runs on it",
            ("Matrix", "torch \N{MULTIPLICATION SIGN} gpu", "2.11.0 \N{MULTIPLICATION SIGN} b300"),
        ),
        ("b300 stack", "b300 · a stack for it", ("Resolve", "b300")),
        ("p6-b300", "p6-b300.48xlarge · a stack for it", ("Resolve", "p6-b300.48xlarge")),
        ("aws-ofi", "aws-ofi-nccl · component", ("Components", "communication", "aws-ofi-nccl")),
        ("ngc", "ngc · images", ("Images", "ngc")),
        ("25.11", "pytorch:25.11-py3 · image", ("Images", "pytorch:25.11-py3")),
    ],
)
async def test_the_palette_finds_things_by_name_and_goes_there(
    query: str, offered: str, crumbs: tuple[str, ...]
) -> None:
    async with driven("advisories") as (app, pilot):
        await press(pilot, "ctrl+p")
        await fill(pilot, query)
        assert offered in screen_text(app)
        await press(pilot, "enter")
        assert page(app).crumbs()[: len(crumbs)] == crumbs
        await press(pilot, "escape")
        assert page(app).PAGE == "advisories"


async def test_the_palette_finds_actions_where_the_data_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with driven() as (app, pilot):

        def failing(_query: str) -> list[Named]:
            raise MatrixError("no JSON")

        monkeypatch.setattr(app.desk, "named", failing)
        await press(pilot, "ctrl+p")
        await fill(pilot, "Swap")
        await press(pilot, "enter")
        assert page(app).view.rows == "gpu"


@pytest.mark.parametrize("start", PAGES)
async def test_help_tells_what_fields_take(start: str) -> None:
    async with driven(start) as (app, pilot):
        await press(pilot, "question_mark")
        told = shown(app, "#box")
        assert all(w in told and m in told for w, m in FIELDS.get(start, ()))
        assert ("WHAT THE FIELDS TAKE" in told) is (start in FIELDS)


async def test_the_palette_runs_an_action() -> None:
    async with driven() as (app, pilot):
        await press(pilot, "ctrl+p")
        await fill(pilot, "Swap")
        await press(pilot, "enter")
        assert page(app).view.rows == "gpu"


@pytest.mark.parametrize(
    ("start", "seen"),
    [
        ("matrix", ("2.11.0", "2.6.0", "enter Facts")),
        ("resolve", ("python", "driver", "enter Why")),
        ("images", ("25.11-py3", "space Mark")),
        ("components", ("torch", "2.11.0")),
        ("node", ("570.195.03", "enter Finding")),
        ("advisories", ("SC-2026-0001", "enter Open")),
    ],
)
async def test_the_smallest_terminal_shows_what_a_screen_is_about(start: str, seen: tuple[str, ...]) -> None:
    node = inventory_from_json(BROKEN_NODE, where="test") if start == "node" else None
    async with driven(start, size=(50, 12), inventory=node) as (app, pilot):
        text = screen_text(app)
        assert [s for s in (*seen, "? Help") if s not in text] == []
        assert "…" not in text.splitlines()[-1]
        if start == "node":
            assert "✗ error" in text
            await press(pilot, "enter")
            assert "REMEDIES" in shown(app, "#box")


@pytest.mark.parametrize("start", PAGES)
async def test_keys_in_the_footer_are_whole_and_a_click_does_what_they_say(start: str) -> None:
    async with driven(start, size=(80, 24)) as (app, pilot):
        for width in (80, 60, 40, 24):
            await pilot.resize_terminal(width, 24)
            await press(pilot)
            footer = screen_text(app).splitlines()[-1]
            assert "? Help" in footer
            assert "q Quit" in footer
            assert "…" not in footer
        await pilot.click("KeyBar", offset=(footer.index("Help"), 0))
        await press(pilot)
        assert "All keys" in shown(app, "#box")


async def test_the_app_survives_being_made_tiny_and_large_again() -> None:
    async with driven() as (app, pilot):
        for size in ((20, 6), (200, 60), (80, 24)):
            await pilot.resize_terminal(*size)
            await press(pilot, "down")
        assert "torch" in screen_text(app)


async def test_ways_out_can_be_chosen_in_the_list() -> None:
    async with driven("resolve") as (app, pilot):
        await press(pilot, "slash", "tab")
        await fill(pilot, "torch==2.6.0")
        await press(pilot, "enter")
        assert isinstance(app.screen.focused, OptionList)
        await press(pilot, "enter")
        assert page(app).stack.solved
