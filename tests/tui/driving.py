"""Driving the app in tests: keys, and waiting until nothing moves any more."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from textual.app import App
from textual.events import Paste
from textual.pilot import Pilot

from stackcheck_tui.app import StackcheckApp
from stackcheck_tui.screens.page import Page
from tests.tui.small import catalog

_NAMES = {
    " ": "space",
    "=": "equals_sign",
    ">": "greater_than_sign",
    "<": "less_than_sign",
    ".": "full_stop",
    "-": "minus",
    ":": "colon",
    "/": "slash",
    "*": "asterisk",
    "_": "underscore",
    ",": "comma",
}
_CALM = 3  # looks in a row at which nothing is at work and the screen is as it was
_GLANCE = 0.01  # seconds between two of them
_DEADLINE = 60.0  # seconds; many times what a loaded machine needs


@asynccontextmanager
async def driven(
    start: str = "matrix", size: tuple[int, int] = (120, 40), **options: Any
) -> AsyncIterator[tuple[StackcheckApp, Pilot[int]]]:
    """Run the app on the small data set, and hand out the app and its pilot once it is calm."""
    data = options.pop("catalog", None) or catalog()
    app = StackcheckApp(lambda: data, start=start, **options)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        yield app, pilot


async def settle(pilot: Pilot[int]) -> None:
    """Wait until no worker is at work, no timer is about to start one, and the screen changes no more."""
    calm, seen = 0, ""
    end = time.monotonic() + _DEADLINE
    while calm < _CALM:
        assert time.monotonic() < end, "the app does not come to rest"
        await pilot.pause(_GLANCE)
        before, seen = seen, screen_text(pilot.app)
        calm = 0 if seen != before or _is_busy(pilot.app) else calm + 1


def _is_busy(app: App[int]) -> bool:
    """Whether a worker is at work, or a pause that a screen makes before it asks is not over yet."""
    screens = [s for stack in app._screen_stacks.values() for s in stack if isinstance(s, Page)]
    once = [t for s in screens for t in s._timers if t._repeat == 0]
    waiting = any(t._task is not None and not t._task.done() for t in once)
    return waiting or any(not w.is_finished for w in app.workers)


async def until(pilot: Pilot[int], holds: Callable[[], bool]) -> None:
    """Wait until something holds, while workers may still be at work."""
    end = time.monotonic() + _DEADLINE
    while not holds():
        assert time.monotonic() < end, "it never came to hold"
        await pilot.pause(0.02)


async def press(pilot: Pilot[int], *keys: str) -> None:
    """Press keys one after the other and wait."""
    await pilot.press(*keys)
    await settle(pilot)


async def type_text(pilot: Pilot[int], text: str) -> None:
    """Type a text key by key and wait; `fill` is many times faster where single keys do not matter."""
    await pilot.press(*(_NAMES.get(c, c) for c in text))
    await settle(pilot)


async def fill(pilot: Pilot[int], text: str) -> None:
    """Put a text into the field with the focus at once, as a terminal pastes it, and wait."""
    assert pilot.app.focused is not None
    pilot.app.post_message(Paste(text))
    await settle(pilot)


def page(app: StackcheckApp) -> Any:
    """Return the screen under any dialog."""
    found = app.page
    assert isinstance(found, Page)
    return found


def shown(app: StackcheckApp, selector: str) -> str:
    """Return the text of the panel or static that a selector means, on the screen on top."""
    from textual.widgets import Static

    widget = app.screen.query(selector).first()
    bodies = [widget] if isinstance(widget, Static) else list(widget.query(Static))
    return "\n".join(str(b.content) for b in bodies)


def screen_text(app: App[int]) -> str:
    """Return every character on the screen, line by line."""
    width, height = app.size
    lines = app.screen._compositor.render_strips()
    return "\n".join("".join(s.text for s in strip)[:width] for strip in lines[:height])


def picture(app: StackcheckApp) -> str:
    """Return the screen as SVG, with ids that do not change from run to run."""
    return re.sub(r"terminal-\d+", "terminal", app.export_screenshot(title="stackcheck"))
