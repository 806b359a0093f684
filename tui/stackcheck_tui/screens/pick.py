"""Choose one of many by typing a part of its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Key
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from stackcheck_tui.screens.dialog import Dialog


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing to choose: what comes back, and what is shown."""

    value: str
    title: str
    note: str = ""


class PickScreen(Dialog[str]):
    """A list that narrows as one types."""

    def __init__(self, title: str, choices: Sequence[Choice], *, current: str = "") -> None:
        super().__init__()
        self.heading = title
        self.choices = tuple(choices)
        self.current = current

    def compose(self) -> ComposeResult:
        """Build the dialog."""
        with Vertical(id="box"):
            yield Input(placeholder="type to narrow", compact=True, id="narrow")
            yield OptionList(compact=True, id="choices")

    def on_mount(self) -> None:
        """Fill it."""
        self.query_one("#box").border_title = self.heading
        self._fill("")
        self.query_one(Input).focus()

    def _fill(self, text: str) -> None:
        words = text.lower().split()
        listing = self.query_one(OptionList)
        listing.clear_options()
        found = [c for c in self.choices if all(w in f"{c.value} {c.title} {c.note}".lower() for w in words)]
        starts = [c for c in found if words and c.value.lower().startswith(words[0])]
        found = [*starts, *(c for c in found if c not in starts)]
        listing.add_options(
            Option(Content.assemble(f"{c.title:<24} ", (c.note, "$text-muted")), id=c.value or "-")
            for c in found
        )
        place = next((i for i, c in enumerate(found) if c.value == self.current and not words), 0)
        listing.highlighted = place if found else None

    @on(Input.Changed)
    def _narrow(self, event: Input.Changed) -> None:
        self._fill(event.value)

    @on(Input.Submitted)
    def _submit(self) -> None:
        self.query_one(OptionList).action_select()

    @on(OptionList.OptionSelected)
    def _take(self, event: OptionList.OptionSelected) -> None:
        self.dismiss("" if event.option.id == "-" else event.option.id)

    def on_key(self, event: Key) -> None:
        """Let arrows move in the list while one types."""
        if event.key in ("down", "up") and isinstance(self.focused, Input):
            listing = self.query_one(OptionList)
            (listing.action_cursor_down if event.key == "down" else listing.action_cursor_up)()
            event.stop()
