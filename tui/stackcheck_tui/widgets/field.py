"""A labelled one-line input with completion."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.suggester import Suggester
from textual.widgets import Input, Label


class LastWord(Suggester):
    """Completes the last word of what is typed from a list of words."""

    def __init__(self, words: Sequence[str] = ()) -> None:
        super().__init__(use_cache=False, case_sensitive=False)
        self.words = tuple(words)

    async def get_suggestion(self, value: str) -> str | None:
        """Return the completed text, or None."""
        head, blank, last = value.rpartition(" ")
        if not last:
            return None
        found = next((w for w in self.words if w.startswith(last)), None)
        return f"{head}{blank}{found}" if found else None


class Field(Horizontal):
    """A label and an input of one line."""

    DEFAULT_CSS = """
    Field { height: 1; margin: 0 0 0 0; }
    Field Label { width: 12; color: $text-muted; padding: 0 1 0 0; text-align: right; }
    Field Input { width: 1fr; }
    """

    def __init__(
        self,
        label: str,
        *,
        key: str,
        value: str = "",
        hint: str = "",
        words: Sequence[str] = (),
        replaced: bool = False,
    ) -> None:
        super().__init__(classes="field")
        self.label = label
        self.suggester = LastWord(words)
        self.input = Input(
            value, placeholder=hint, id=key, compact=True, suggester=self.suggester, select_on_focus=replaced
        )

    def compose(self) -> ComposeResult:
        """Build the field."""
        yield Label(self.label)
        yield self.input
