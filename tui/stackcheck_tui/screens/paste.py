"""Take a pasted text of many lines."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static, TextArea

from stackcheck_tui.screens.dialog import Dialog

_LONGEST = 4_000_000  # characters; more belongs into a file


class PasteScreen(Dialog[str]):
    """A text area; ctrl+s reads it."""

    BINDINGS: ClassVar[list[BindingType]] = [("ctrl+s", "take", "Read it"), ("ctrl+j", "take", "Read it")]

    def compose(self) -> ComposeResult:
        """Build the dialog."""
        with Vertical(id="box"):
            yield TextArea(id="text", soft_wrap=False)
            yield Static("paste with the terminal's own key · ctrl+s reads it · esc closes", classes="hint")

    def on_mount(self) -> None:
        """Begin."""
        self.query_one("#box").border_title = "Paste collect_env, pip freeze, nvidia-smi, a log"
        self.query_one(TextArea).focus()

    def action_take(self) -> None:
        """Read the text."""
        self.dismiss(self.query_one(TextArea).text[:_LONGEST])
