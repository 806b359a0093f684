"""What goes wrong: slow work, broken data, our own faults. A message, never a crash; and a restored terminal if there must be one."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key, Paste
from textual.worker import WorkerFailed

from stackcheck.catalog.catalog import Catalog
from stackcheck.model.errors import InputError, MatrixError
from stackcheck.model.inventory import Inventory
from stackcheck_tui.app import StackcheckApp
from tests.tui.driving import driven, fill, page, press, screen_text, settle, shown, type_text, until
from tests.tui.small import DictStore, catalog


class SlowProbe(threading.Event):
    """Stands in for a machine that answers only when told to."""

    def __call__(self, progress: Any) -> Inventory:
        progress("gpu 1 of 9")
        self.wait(20)
        return Inventory(subject="slow machine")


@pytest.mark.asyncio
async def test_keys_work_and_progress_is_told_while_a_probe_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    async with driven("node") as (app, pilot):
        probe = SlowProbe()
        monkeypatch.setattr(app.desk, "probe", probe)
        await pilot.press("b")
        await until(pilot, lambda: "gpu 1 of 9" in shown(app, "#summary"))
        await pilot.press("1")
        await until(pilot, lambda: page(app).PAGE == "matrix")
        probe.set()
        await settle(pilot)
        await press(pilot, "5")
        assert page(app).inventory.subject == "slow machine"


@pytest.mark.asyncio
async def test_a_failing_probe_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_progress: Any) -> Inventory:
        raise InputError("the driver does not answer", fix="try again as root")

    async with driven("node") as (app, pilot):
        monkeypatch.setattr(app.desk, "probe", failing)
        await press(pilot, "b")
        assert "the driver does not answer; try again as root" in shown(app, "#fault")
        assert shown(app, "#summary") == "", "nothing is being read any more"


class BrokenStore(DictStore):
    """An overlay with one file that cannot be read."""

    def read(self, name: str) -> Any:
        if name == "components/torch.json":
            raise MatrixError("no JSON: Expecting value", where="overlay/components/torch.json:3:1")
        return super().read(name)


@pytest.mark.asyncio
async def test_a_broken_overlay_is_told_on_every_screen() -> None:
    sound = catalog()
    broken = Catalog(BrokenStore(sound._store.files))  # type: ignore[attr-defined]
    async with driven(catalog=broken) as (app, pilot):
        for key in "123456":
            await press(pilot, key)
        assert app.fault is None
        told = [n.message for n in app._notifications]
        assert any("overlay/components/torch.json:3:1" in m for m in told)


@pytest.mark.asyncio
async def test_an_older_answer_never_overwrites_a_newer_one() -> None:
    async with driven("resolve") as (app, _):
        here = page(app)
        before = here.stack
        generation = here._generations["stack"]
        from stackcheck_tui.messages import Answered

        here.on_answered(Answered("stack", generation - 1, ("old", "answer")))
        assert here.stack is before


@pytest.mark.asyncio
@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_what_cannot_be_read_is_said_and_the_answer_before_is_marked_as_old(
    size: tuple[int, int],
) -> None:
    async with driven("resolve", size=size) as (app, pilot):
        await press(pilot, "slash", "ctrl+u")
        await fill(pilot, "nosuchgpu")
        seen = screen_text(app)
        assert "unknown GPU 'nosuchgpu'" in seen
        assert "OLD ANSWER" in seen
        await press(pilot, "escape", "w")
        assert app.screen is page(app), "an old answer is not saved"
        await press(pilot, "slash", "ctrl+u")
        await fill(pilot, "b300")
        seen = screen_text(app)
        assert "unknown GPU" not in seen
        assert "OLD ANSWER" not in seen


@pytest.mark.asyncio
async def test_letters_and_digits_typed_into_a_field_are_no_commands() -> None:
    async with driven("resolve", size=(80, 24)) as (app, pilot):
        await press(pilot, "slash", "ctrl+u")
        await type_text(pilot, "p6-b200.48xlarge q/")
        assert page(app).PAGE == "resolve"
        assert app.focused is page(app).query("Input").first()
        assert page(app).form.target == "p6-b200.48xlarge q/"


def _at_once(app: StackcheckApp, *keys: str) -> None:
    """Send keys as a terminal does that has them all in its buffer."""
    for key in keys:
        app.post_message(Key(key, key if len(key) == 1 else None))


@pytest.mark.asyncio
async def test_keys_that_come_in_at_once_keep_their_order() -> None:
    async with driven("images", size=(160, 48)) as (app, pilot):
        _at_once(app, "slash", *"ngc", "tab", "tab", *"550", "tab", *"torch", "enter", "down")
        app.post_message(Paste("never lands in a table"))
        await settle(pilot)
        wanted = page(app).wanted
        assert (wanted.family, wanted.gpu, wanted.driver, wanted.holds) == ("ngc", "", "550", "torch")
        _at_once(app, "slash", "tab", *"b2")
        app.post_message(Paste("00"))
        _at_once(app, "backspace", "shift+tab", *["backspace"] * 3, *"dlc", "escape")
        await settle(pilot)
        wanted = page(app).wanted
        assert (wanted.family, wanted.gpu, wanted.driver, wanted.holds) == ("dlc", "b20", "550", "torch")


@pytest.mark.asyncio
async def test_keys_behind_one_that_opens_a_dialog_or_a_screen_land_there() -> None:
    async with driven("node") as (app, pilot):
        _at_once(app, "f", *"/no/file", "enter")
        await settle(pilot)
        assert "/no/file" in shown(app, "#fault")
        _at_once(app, "3", "slash", *"ngc", "escape", "2", "slash", "tab", *"vllm")
        await settle(pilot)
        assert page(app).PAGE == "resolve"
        assert page(app).form.frameworks == "vllm"
        assert next(p for p in app._screen_stacks["images"]).wanted.family == "ngc"  # type: ignore[attr-defined]


@pytest.mark.asyncio
async def test_a_half_typed_requirement_is_a_note_and_the_answer_stays() -> None:
    async with driven("resolve", size=(160, 48)) as (app, pilot):
        await press(pilot, "slash", "tab")
        await fill(pilot, "torch==")
        assert page(app).stack.solved
        assert "torch" in shown(app, "#fault")
        await fill(pilot, "2.11.0")
        assert page(app).stack.pin("torch").version.startswith("2.11.0")


@pytest.mark.asyncio
async def test_an_unknown_gpu_names_the_nearest() -> None:
    async with driven("resolve", size=(160, 48)) as (app, pilot):
        await press(pilot, "slash", "ctrl+u")
        await fill(pilot, "b20")
        assert "b200" in shown(app, "#fault")


@pytest.mark.asyncio
async def test_our_own_fault_ends_the_app_and_is_kept_for_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    app = StackcheckApp(catalog)
    with pytest.raises(WorkerFailed):
        async with app.run_test() as pilot:
            await settle(pilot)
            monkeypatch.setattr(app.desk, "picture", lambda _view: 1 / 0)
            await pilot.press("x")
            await until(pilot, lambda: app.fault is not None)
    assert isinstance(app.fault, ZeroDivisionError)


@pytest.mark.asyncio
async def test_hostile_text_is_shown_as_what_it_is(tmp_path: Path) -> None:
    file = tmp_path / "env.txt"
    file.write_text("[@click=app.quit]x[/] \x1b]0;owned\x07 torch==2.9.1\nvllm==0.20.0\n")
    async with driven("node", files=[str(file)]) as (app, _):
        assert page(app).rows
        assert "\x1b" not in shown(app, "#finding")


@pytest.mark.asyncio
@pytest.mark.slow
async def test_this_very_machine_is_probed_and_told_probe_by_probe() -> None:
    async with driven("node") as (app, pilot):
        told: list[str] = []
        inventory = app.desk.probe(told.append)
        assert told[-1].startswith(f"probing: {len(told) - 1} of {len(told) - 1} done")
        assert inventory.components
        await press(pilot, "b")
        assert page(app).inventory is not None


@pytest.mark.asyncio
async def test_a_title_that_looks_like_markup_is_a_title() -> None:
    from textual.content import Content

    from stackcheck_tui.screens.story import StoryScreen

    async with driven() as (app, pilot):
        app.push_screen(StoryScreen("[/nope] [@click=app.quit]x", Content("[/neither]")))
        await press(pilot)
        text = screen_text(app)
        assert "[/nope] [@click=app.quit]x" in text
        assert "[/neither]" in text


@pytest.mark.asyncio
async def test_every_theme_can_be_taken() -> None:
    async with driven() as (app, pilot):
        first = app.theme
        seen = set()
        for _ in app.available_themes:
            await pilot.press("T")
            await pilot.pause()
            seen.add(app.theme)
        assert seen == set(app.available_themes)
        assert app.theme == first
        assert app.fault is None
