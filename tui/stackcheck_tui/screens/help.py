"""All keys, made from the registry of actions."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content

from stackcheck.model.kinds import Grade
from stackcheck_tui.actions import ACTIONS, FIELDS
from stackcheck_tui.screens.dialog import Dialog
from stackcheck_tui.telling import graded, heading, lines
from stackcheck_tui.widgets.panel import Panel

_MEANING = {
    Grade.SUPPORTED: "documented by its vendor",
    Grade.TESTED: "seen to work, or shipped together",
    Grade.CAVEAT: "works under a condition",
    Grade.DEGRADED: "runs, but slower than it could",
    Grade.BROKEN: "fails, or gives wrong results",
    Grade.UNKNOWN: "nobody whose word we have says anything",
}


class HelpScreen(Dialog[None]):
    """What every key does here, and what the signs mean."""

    BINDINGS: ClassVar[list[BindingType]] = [("question_mark,q", "close", "Close")]

    def __init__(self, page: str) -> None:
        super().__init__()
        self.page = page

    def compose(self) -> ComposeResult:
        """Build the dialog."""
        yield Panel("Help", id="box")

    def on_mount(self) -> None:
        """Fill it."""
        told: list[Content] = [heading("signs")]
        told += [graded(g, f"{g:<10} {_MEANING[g]}") for g in Grade]
        for page, title in ((self.page, self.page), ("", "everywhere")):
            told += [Content(), heading(title)]
            told += [
                Content.assemble(
                    (f"{a.shown_keys:>8}  ", "bold $text-accent"), f"{a.title:<14} ", (a.help, "$text-muted")
                )
                for a in ACTIONS
                if a.page == page and self.app.check_action(a.method, ())
            ]
        if self.page in FIELDS:
            told += [Content(), heading("what the fields take")]
            told += [
                Content.assemble((f"  {words:<18} ", "bold $text-accent"), (meaning, "$text-muted"))
                for words, meaning in FIELDS[self.page]
            ]
        told += [
            Content(),
            Content.styled(
                "arrows or hjkl move · tab goes to the next pane · the mouse works everywhere", "$text-muted"
            ),
        ]
        panel = self.query_one(Panel)
        panel.show(lines(told))
        panel.focus()
