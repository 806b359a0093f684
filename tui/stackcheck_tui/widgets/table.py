"""A table whose enter key stands in the footer, and whose widest column takes the room that is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable


class Table(DataTable[Any]):
    """Rows to walk through; enter opens one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
    ]

    def __init__(self, *, id: str, header: bool = True, enter: str = "Open") -> None:  # noqa: A002
        super().__init__(id=id, cursor_type="row", show_header=header)
        self._bindings.key_to_bindings["enter"] = [
            Binding("enter", "select_cursor", enter, key_display="enter")
        ]
        self._widths: tuple[int, ...] = ()

    def lay_columns(self, columns: Sequence[tuple[str, int]]) -> None:
        """Set the columns anew, each with a title and a width; a width of 0 takes what is left."""
        self.clear(columns=True)
        self._widths = tuple(width for _, width in columns)
        for title, width in columns:
            self.add_column(title, width=width or self._rest())

    def on_resize(self) -> None:
        """Give what is left to the column that wants it."""
        changed = False
        for column, width in zip(self.ordered_columns, self._widths, strict=False):
            if not width and column.width != self._rest():
                column.width = self._rest()
                changed = True
        if changed:
            self._require_update_dimensions = True
            self.refresh(layout=True)

    @property
    def rest_width(self) -> int:
        """How wide the column is that takes what is left."""
        return self._rest()

    def _rest(self) -> int:
        taken = sum(w for w in self._widths) + 2 * len(self._widths)
        return max(16, self.size.width - taken - 1)


def quiet(text: str) -> Content:
    """Return a text that stays in the background of a cell."""
    return Content.styled(text, "dim")
