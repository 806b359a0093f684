"""A panel of text that scrolls and can be replaced."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static


class Panel(VerticalScroll, can_focus=True):
    """Styled text in a frame with a title."""

    DEFAULT_CSS = """
    Panel { border: round $panel; border-title-color: $text-muted; border-subtitle-color: $text-disabled; padding: 0 1; scrollbar-size-vertical: 1; background: $background; }
    Panel:focus { border: round $primary; border-title-color: $text-primary; }
    Panel > Static { width: 1fr; height: auto; }
    Panel { scrollbar-size-horizontal: 1; }
    """

    def __init__(self, title: str = "", *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.border_title = Content(title) if title else None  # never read as markup
        self._shown = Content()

    def compose(self) -> ComposeResult:
        """Build the panel."""
        yield Static(self._shown, markup=False)

    def show(self, text: Content, title: str | None = None) -> None:
        """Replace the text, from its top."""
        if title is not None:
            self.border_title = Content(title) if title else None  # never read as markup
        self._shown = text
        for body in self.query(Static):
            body.update(text)
        self.scroll_home(animate=False)
