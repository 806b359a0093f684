"""Ask for one line."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from stackcheck_tui.screens.dialog import Dialog


class AskScreen(Dialog[str]):
    """One line of text."""

    def __init__(self, title: str, hint: str) -> None:
        super().__init__()
        self.heading = title
        self.hint = hint

    def compose(self) -> ComposeResult:
        """Build the dialog."""
        with Vertical(id="box"):
            yield Input(placeholder=self.hint, compact=True)
            yield Static("enter takes it · esc closes", classes="hint")

    def on_mount(self) -> None:
        """Begin."""
        self.query_one("#box").border_title = self.heading
        self.query_one(Input).focus()

    @on(Input.Submitted)
    def _done(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)
