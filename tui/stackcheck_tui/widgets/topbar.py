"""The top line: the six screens as tabs, and below it the breadcrumbs."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Click
from textual.widget import Widget
from textual.widgets import Static

from stackcheck.report.style import visible
from stackcheck_tui import telling
from stackcheck_tui.actions import PAGES
from stackcheck_tui.messages import BackChosen, TabChosen


class Tab(Static):
    """One tab; a click goes to its screen."""

    def __init__(self, page: str, number: int, *, active: bool) -> None:
        self.page = page
        label = Content.assemble((f"{number} ", "$text-accent"), page.capitalize())
        super().__init__(label, classes="-active" if active else "")

    def on_click(self, event: Click) -> None:
        """Go there."""
        event.stop()
        self.post_message(TabChosen(self.page))


class Crumbs(Static):
    """Where we are; a click goes back."""

    def on_click(self, event: Click) -> None:
        """Go back."""
        event.stop()
        self.post_message(BackChosen())


class TopBar(Widget):
    """Name, tabs, data version, breadcrumbs."""

    def __init__(self, page: str, version: str) -> None:
        self.page = page
        self.version = version
        super().__init__()

    def compose(self) -> ComposeResult:
        """Build the bar."""
        with Horizontal(id="tabs"):
            yield Static("stackcheck", id="brand")
            for number, page in enumerate(PAGES, 1):
                yield Tab(page, number, active=page == self.page)
            yield Static(f"matrices {self.version}", id="version")
        yield Crumbs(id="crumbs")

    def crumbs(self, parts: tuple[str, ...], *, back: bool) -> None:
        """Show the path to what is shown."""
        arrow = Content.styled("← " if back else "  ", "$text-accent")
        path = Content.styled(f" {telling.STEP} ", "$text-muted").join(
            Content.styled(visible(p, 80), "bold" if p is parts[-1] else "$text-muted") for p in parts
        )
        self.query_one(Crumbs).update(arrow + path)
