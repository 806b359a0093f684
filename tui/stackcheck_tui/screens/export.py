"""Save a stack in one of the forms of the export registry."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from stackcheck.export.interface import Exporter
from stackcheck.export.registry import EXPORTERS
from stackcheck.model.errors import StackcheckError
from stackcheck.model.stack import Stack
from stackcheck_tui.messages import Answered, Failed
from stackcheck_tui.screens.dialog import Dialog


class ExportScreen(Dialog[None]):
    """Choose a form and a path; y copies the text instead."""

    BINDINGS: ClassVar[list[BindingType]] = [("y", "copy_text", "Copy")]

    def __init__(self, stack: Stack) -> None:
        super().__init__()
        self.stack = stack

    def compose(self) -> ComposeResult:
        """Build the dialog."""
        with Vertical(id="box"):
            yield OptionList(
                *(
                    Option(Content.assemble(f"{e.name:<18} ", (e.title, "$foreground-muted")), id=e.name)
                    for e in EXPORTERS
                ),
                compact=True,
                id="choices",
            )
            yield Input(compact=True, id="path")

    def on_mount(self) -> None:
        """Begin with the first form."""
        box = self.query_one("#box")
        box.border_title = "Save as"
        box.border_subtitle = "enter: path, then save · y copies the text · esc closes"
        self.query_one(OptionList).highlighted = 0
        self.query_one(OptionList).focus()

    @on(OptionList.OptionHighlighted)
    def _suggest(self, event: OptionList.OptionHighlighted) -> None:
        self.query_one(Input).value = EXPORTERS[event.option_index].default_path

    @on(OptionList.OptionSelected)
    def _to_path(self) -> None:
        self.query_one(Input).focus()

    def _text(self) -> str:
        return EXPORTERS[self.query_one(OptionList).highlighted or 0].render(self.stack)

    @on(Input.Submitted)
    def _save(self, event: Input.Submitted) -> None:
        path, chosen = event.value.strip(), EXPORTERS[self.query_one(OptionList).highlighted or 0]
        if path:
            self.run_worker(lambda: self._write(path, chosen), thread=True, exclusive=True)

    def _write(self, path: str, chosen: Exporter) -> None:
        import os

        from stackcheck.cli.streams import write_file

        try:
            text = chosen.render(self.stack)
            existed = os.path.exists(path)  # noqa: PTH110
            write_file(path, text)
        except StackcheckError as fault:
            self.post_message(Failed("saved", 0, fault))
        else:
            self.post_message(Answered("saved", 0, f"{'Replaced' if existed else 'Wrote'} {path}"))

    def on_answered(self, message: Answered) -> None:
        """Say where it is."""
        self.notify(str(message.value), title="Saved", markup=False)
        self.dismiss(None)

    def on_failed(self, message: Failed) -> None:
        """Say why not; the dialog stays for another path."""
        self.notify(str(message.error), severity="error", markup=False)

    def action_copy_text(self) -> None:
        """Copy the text instead of writing it."""
        text = self._text()
        self.app.copy_to_clipboard(text)
        self.notify(f"{len(text.splitlines())} lines", title="Copied", markup=False)
