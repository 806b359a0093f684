"""A dialog over a screen: one panel, closed with escape."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual.binding import BindingType
from textual.screen import ModalScreen

Result = TypeVar("Result")


class Dialog(ModalScreen[Result]):
    """A dialog that escape, or a click outside it, closes."""

    CSS_PATH = ["../styles/lists.tcss", "../styles/dialogs.tcss"]  # noqa: RUF012 - Textual declares it so
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "close", "Close")]

    def action_close(self) -> None:
        """Close without a result."""
        self.dismiss(None)

    def on_click(self, event: object) -> None:
        """Close on a click outside the box."""
        widget = getattr(event, "widget", None)
        if widget is self:
            self.dismiss(None)
