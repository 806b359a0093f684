"""The app: six screens over one desk, the way back, and what holds everywhere."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, SystemCommand
from textual.events import Event, Key, Paste
from textual.screen import Screen
from textual.worker import WorkerFailed

from stackcheck_tui.actions import PAGES, bindings, known_on
from stackcheck_tui.desk import Desk
from stackcheck_tui.screens.page import Page
from stackcheck_tui.theme import NIGHT
from stackcheck_tui.turns import Turns

if TYPE_CHECKING:
    from textual.command import Provider

    from stackcheck.catalog.catalog import Catalog
    from stackcheck.model.inventory import Inventory

_LONGEST_TRAIL = 50


def _factory(page: str) -> Any:
    """Return what makes a screen; its module is imported when it is first shown."""

    def make() -> Page:
        import importlib

        module = importlib.import_module(f"stackcheck_tui.screens.{page}")
        made: Page = getattr(module, f"{page.capitalize()}Page")()
        return made

    return make


def _by_name() -> type[Provider]:
    """Return what the palette finds by name; imported when the palette is first opened."""
    from stackcheck_tui.named import NamedProvider

    return NamedProvider


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere one has been: a screen and what it showed."""

    page: str
    subject: Any


class StackcheckApp(App[int]):
    """See what goes with what and why, try a stack, read a node."""

    TITLE = "stackcheck"
    CSS_PATH: ClassVar[Any] = ["styles/app.tcss"]
    MODES: ClassVar[dict[str, Any]] = {page: _factory(page) for page in PAGES}
    BINDINGS = bindings()
    ENABLE_COMMAND_PALETTE = True
    COMMANDS: ClassVar[set[Any]] = App.COMMANDS | {_by_name}

    def __init__(
        self,
        opening: Callable[[], Catalog],
        *,
        files: Sequence[str] = (),
        inventory: Inventory | None = None,
        start: str = "matrix",
    ) -> None:
        # The mode to begin with is Textual's class attribute; ours depends on what is opened.
        vars(self)["DEFAULT_MODE"] = "node" if files or inventory is not None else start
        super().__init__()
        self.desk = Desk(opening)
        self.files = tuple(files)
        self.inventory = inventory
        self.register_theme(NIGHT)
        self.theme = NIGHT.name
        self.trail: list[Place] = []
        self.fault: Exception | None = None
        self._turns = Turns(self, super().on_event)

    async def on_event(self, event: Event) -> None:
        """Hand keys and pasted texts on in their order."""
        if isinstance(event, (Key, Paste)) and not event.is_forwarded:
            await self._turns.take(event)
        else:
            await super().on_event(event)

    # places

    @property
    def page(self) -> Page | None:
        """The screen of the mode we are in, below any dialog."""
        stack = self.screen_stack
        return next((s for s in reversed(stack) if isinstance(s, Page)), None)

    @property
    def can_go_back(self) -> bool:
        """Whether there is a place before this one."""
        return bool(self.trail)

    def go(self, page: str, subject: Any = None) -> None:
        """Go to a screen, and there to a subject."""
        here = self.page
        if here is not None and (page != here.PAGE or subject is not None):
            self.trail.append(Place(here.PAGE, here.place()))
            del self.trail[:-_LONGEST_TRAIL]
        self._enter(page, subject)

    def _enter(self, page: str, subject: Any) -> None:
        self.switch_mode(page)
        target = self.page
        if target is not None:
            if subject is not None:
                target.call_after_refresh(target.visit, subject)
            target.call_after_refresh(target.show_crumbs)

    def action_go(self, page: str) -> None:
        """Go to a screen."""
        if isinstance(self.screen, Page):
            self.go(page)

    def action_leave(self) -> None:
        """Close a dialog, leave a field, or go to the place before."""
        if not isinstance(self.screen, Page):
            self.pop_screen()
            return
        if self.screen.leave_field():
            return
        if self.trail:
            place = self.trail.pop()
            self._enter(place.page, place.subject)

    def give_up(self, error: Exception) -> None:
        """End with a fault that the command line then tells."""
        self.fault = error
        self.exit(return_code=2)

    # what holds everywhere

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer a way to the field where there is one alone."""
        del parameters
        return not (action == "search" and self.page is not None and not self.page.HAS_FIELD)

    def action_search(self) -> None:
        """Go to the search field of the screen."""
        if self.page is not None:
            self.page.action_search()

    def action_copy(self) -> None:
        """Copy what the cursor is on."""
        text = self.page.copyable() if self.page is not None else ""
        if text:
            self.copy_to_clipboard(text)
            self.notify(text if len(text) < 200 else f"{len(text)} characters", title="Copied", markup=False)
        else:
            self.notify("Nothing to copy here", severity="warning")

    def action_open_source(self) -> None:
        """Open the first source that has an address; over SSH, copy it."""
        from stackcheck.report.wording import link

        refs = self.page.sources() if self.page is not None else ()
        url = next((link(r) for r in refs if link(r)), "")
        if url:
            self.copy_to_clipboard(url)
            opened = self.is_web or _has_browser()
            if opened:
                self.open_url(url)
            self.notify(url, title="Opened and copied" if opened else "Copied", markup=False)
        elif refs:
            self.copy_to_clipboard(refs[0])
            self.notify(refs[0], title="Copied", markup=False)
        else:
            self.notify("No source is known for this", severity="warning")

    def action_help(self) -> None:
        """Show all keys."""
        from stackcheck_tui.screens.help import HelpScreen

        if isinstance(self.screen, Page):
            self.push_screen(HelpScreen(self.screen.PAGE))

    def action_next_theme(self) -> None:
        """Take the next theme."""
        names = [NIGHT.name, *sorted(n for n in self.available_themes if n != NIGHT.name)]
        self.theme = names[(names.index(self.theme) + 1) % len(names)]
        self.notify(self.theme, title="Theme", timeout=2)

    async def action_quit(self) -> None:
        """Leave."""
        self.exit(0)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Offer every action of the registry, and themes."""
        del screen
        page = self.page
        for action in known_on(page.PAGE if page is not None else ""):
            if action.method == "command_palette" or not self.check_action(action.method, ()):
                continue
            owner = page if action.page and page is not None else self
            yield SystemCommand(
                action.title, f"{action.help} ({action.shown_keys})", _runner(self, owner, action.method)
            )
        yield SystemCommand("Choose a theme", "See each one as you move", self.action_change_theme)

    def _handle_exception(self, error: Exception) -> None:
        # A traceback over a terminal helps nobody: `run` raises it again once the terminal is itself, for the one line on stderr.
        cause = error.error if isinstance(error, WorkerFailed) else error
        if self.fault is None and isinstance(cause, Exception):
            self.fault = cause
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self._return_code = 3
        self._close_messages_no_wait()


def _has_browser(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a browser can come up beside this terminal: over SSH, or without a display, one would come up inside it."""
    remote = any(name in environ for name in ("SSH_CONNECTION", "SSH_TTY"))
    shown = sys.platform == "darwin" or any(n in environ for n in ("DISPLAY", "WAYLAND_DISPLAY"))
    return shown and not remote


def _runner(app: StackcheckApp, owner: Any, method: str) -> Any:
    async def run() -> None:
        await app.run_action(method, owner)

    return run


def run(
    opening: Callable[[], Catalog],
    *,
    files: Sequence[str] = (),
    inventory: Inventory | None = None,
    web: bool = False,
    host: str | None = None,
    port: int | None = None,
    command: str = "",
) -> int:
    """Run the app in this terminal, or serve it to browsers; return the exit code.

    Raises:
        StackcheckError: the web server cannot be had.
        Exception: whatever went wrong inside the app, after the terminal was restored.
    """
    if web:
        from stackcheck_tui.web import serve

        return serve(command, host=host, port=port)
    gc.enable()  # the command line does without, but an app lives long
    app = StackcheckApp(opening, files=files, inventory=inventory)
    code = app.run()
    if app.fault is not None:
        raise app.fault
    return code or 0
