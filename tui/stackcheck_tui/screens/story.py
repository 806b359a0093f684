"""A text over the whole screen, with its sources: the facts of a cell, the reasons of a pin, a diff."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content

from stackcheck_tui.screens.dialog import Dialog
from stackcheck_tui.widgets.panel import Panel


class StoryScreen(Dialog[None]):
    """A text to read."""

    def __init__(self, title: str, text: Content) -> None:
        super().__init__()
        self.heading = title
        self.text = text

    def compose(self) -> ComposeResult:
        """Build the dialog."""
        yield Panel(self.heading, id="box")

    def on_mount(self) -> None:
        """Fill it."""
        panel = self.query_one(Panel)
        panel.show(self.text)
        panel.border_subtitle = "y copy · o source · esc close"
        panel.focus()
