"""A panel of text that scrolls and can be replaced."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static


class Panel(VerticalScroll, can_focus=True):
    """Styled text in a frame with a title."""

    def __init__(self, title: str = "", *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.border_title = title
        self._shown = Content()

    def compose(self) -> ComposeResult:
        """Build the panel."""
        yield Static(self._shown, markup=False)

    def show(self, text: Content, title: str | None = None) -> None:
        """Replace the text, from its top."""
        if title is not None:
            self.border_title = title
        self._shown = text
        for body in self.query(Static):
            body.update(text)
        self.scroll_home(animate=False)
