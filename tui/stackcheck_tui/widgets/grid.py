"""A grid of grades with frozen headers: only the lines on the screen are ever made, so its size does not matter."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Click
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from stackcheck.model.kinds import Grade
from stackcheck_tui.messages import CellMoved, CellOpened
from stackcheck_tui.widgets.looks import looks

TIMES = "\N{MULTIPLICATION SIGN}"
_PIECE = re.compile(r"[^.\-+:]+")
_WIDEST_HEADER = 34
_NARROWEST_CELL = 3


class GradeGrid(ScrollView, can_focus=True):
    """Rows and columns of grades; arrows move a cursor, enter or a second click opens a cell."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1, 0)", "Up", show=False),
        Binding("down,j", "move(1, 0)", "Down", show=False),
        Binding("left,h", "move(0, -1)", "Left", show=False),
        Binding("right,l", "move(0, 1)", "Right", show=False),
        Binding("pageup", "page(-1, 0)", "Page up", show=False),
        Binding("pagedown", "page(1, 0)", "Page down", show=False),
        Binding("shift+left", "page(0, -1)", "Page left", show=False),
        Binding("shift+right", "page(0, 1)", "Page right", show=False),
        Binding("home", "edge(0, -1)", "First column", show=False),
        Binding("end", "edge(0, 1)", "Last column", show=False),
        Binding("ctrl+home", "edge(-1, 0)", "First row", show=False),
        Binding("ctrl+end", "edge(1, 0)", "Last row", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.row_labels: Sequence[str] = ()
        self.column_labels: Sequence[str] = ()
        self.grade_at: Callable[[int, int], Grade] = lambda _row, _column: Grade.UNKNOWN
        self.wide: bool | None = None
        """Whether column labels stand on one line; None chooses by the room there is."""
        self.row = 0
        self.column = 0
        self._caption = ""
        self._empty: Sequence[str] = ()
        self._looks: dict[str, Style] = {}
        self._sign: Callable[[Grade], str] = str

    # what is shown

    def show(
        self,
        rows: Sequence[str],
        columns: Sequence[str],
        grade_at: Callable[[int, int], Grade],
        *,
        at: tuple[int, int] = (0, 0),
        empty: str = "",
    ) -> None:
        """Show other labels and grades, the cursor at a row and column; where there are none, a text in their place."""
        from stackcheck_tui.telling import sign  # the first paint has no signs yet

        self._sign = sign
        self.row_labels, self.column_labels, self.grade_at = rows, columns, grade_at
        self._empty = () if rows and columns else empty.splitlines()
        self.row = max(0, min(at[0], len(rows) - 1))
        self.column = max(0, min(at[1], len(columns) - 1))
        self._lay_out()
        self._keep_in_view()
        self._tell()

    @property
    def caption(self) -> str:
        """What stands below the grid after its size: the order of the rows."""
        return self._caption

    @caption.setter
    def caption(self, text: str) -> None:
        self._caption = text
        self._write_caption()

    def _write_caption(self) -> None:
        """Say how large the grid is, and which of its columns are seen if they do not all fit."""
        rows, columns, seen = len(self.row_labels), len(self.column_labels), self._seen()
        size = f"{rows} {TIMES} {columns}"
        if len(seen) < columns and rows:
            back, on = "◂ " if seen.start else "", " ▸" if seen.stop < columns else ""
            size = f"{rows} rows · {back}columns {seen.start + 1}-{seen.stop} of {columns}{on}"
        self.border_subtitle = " · ".join(p for p in (size if columns or rows else "", self._caption) if p)

    def _seen(self) -> range:
        """Return the columns that there is room for."""
        first = round(self.scroll_offset.x) // self.cell_width
        return range(first, min(len(self.column_labels), first + self._room))

    @property
    def _room(self) -> int:
        return max(1, (self.size.width - self.row_width) // self.cell_width)

    def watch_scroll_x(self, old_value: float, new_value: float) -> None:
        """Tell which columns are seen now."""
        super().watch_scroll_x(old_value, new_value)
        self._write_caption()

    def toggle_width(self) -> None:
        """Show column labels on one line, or stacked."""
        self.wide = not self._is_wide
        self._lay_out()
        self._keep_in_view()

    @property
    def _is_wide(self) -> bool:
        if self.wide is not None:
            return self.wide
        longest = max(map(len, self.column_labels), default=0) + 2
        return longest * len(self.column_labels) <= self.size.width - self.row_width

    def _lay_out(self) -> None:
        self.row_width = min(max(map(len, self.row_labels), default=4), self._widest_header) + 3
        if self._is_wide:
            self._heads = [(label,) for label in self.column_labels]
        else:
            self._heads = [stacked(label) for label in self.column_labels]
        widest = max((len(p) for h in self._heads for p in h), default=1)
        self.cell_width = max(widest + (2 if self._is_wide else 1), _NARROWEST_CELL)
        self.head_height = max(map(len, self._heads), default=1)
        # As wide as what is seen and what is not: scrolling goes by whole columns, and has to reach the last one.
        beyond = max(0, len(self.column_labels) - self._room)
        width = self.size.width if beyond else self.row_width + self.cell_width * len(self.column_labels)
        width += self.cell_width * beyond
        self.virtual_size = (
            Size(0, 0) if self._empty else Size(width, self.head_height + len(self.row_labels))
        )
        self._write_caption()
        self.refresh()

    @property
    def _widest_header(self) -> int:
        return max(12, min(_WIDEST_HEADER, self.size.width // 3)) if self.size.width else _WIDEST_HEADER

    row_width = 8
    cell_width = 4
    head_height = 1
    _heads: Sequence[tuple[str, ...]] = ()

    def on_resize(self) -> None:
        """Choose the layout anew."""
        self._lay_out()
        self._keep_in_view()

    def notify_style_update(self) -> None:
        """Forget looks of another theme."""
        self._looks.clear()
        super().notify_style_update()

    def _look(self, name: str) -> Style:
        if not self._looks:
            self._looks = looks(self.app.theme_variables)
        return self._looks[name]

    # lines

    def render_line(self, y: int) -> Strip:
        """Return one line of the screen: a header line, or a row."""
        width, shown = self.size.width, self._seen()
        if self._empty:
            text = self._empty[y - 1] if 0 < y <= len(self._empty) else ""
            segments = [Segment(f" {text}", self._look("head"))]
        elif y < self.head_height:
            segments = self._head_line(y, shown)
        else:
            row = y - self.head_height + round(self.scroll_offset.y)
            segments = self._row_line(row, shown) if row < len(self.row_labels) else []
        return Strip(segments).adjust_cell_length(width, self.rich_style).crop(0, width)

    def _head_line(self, y: int, shown: range) -> list[Segment]:
        head, here = self._look("head"), self._look("head-here")
        segments = [Segment(" " * self.row_width, head)]
        for column in shown:
            pieces = self._heads[column]
            place = y - (self.head_height - len(pieces))
            text = pieces[place] if place >= 0 else ""
            style = here if column == self.column else head
            segments.append(Segment(text.center(self.cell_width), style))
        return segments

    def _row_line(self, row: int, shown: range) -> list[Segment]:
        on_row = row == self.row
        label = self.row_labels[row]
        room = self.row_width - 3
        if len(label) > room:
            label = f"…{label[-(room - 1) :]}"
        style = self._look("head-here") if on_row else self._look("head")
        segments = [Segment(f" {label:>{room}}  ", style)]
        cursor = self.column if on_row else -1
        for column in shown:
            grade = self.grade_at(row, column)
            text = self._sign(grade).center(self.cell_width)
            look = self._look(grade)
            if column == cursor:
                look = look + self._look("cursor") if self.has_focus else look + Style(reverse=True, dim=True)
                text = f"[{text[1:-1]}]" if self.app.no_color else text
            segments.append(Segment(text, look))
        return segments

    # moving

    def action_move(self, rows: int, columns: int) -> None:
        """Move the cursor."""
        self.move_to(self.row + rows, self.column + columns)

    def action_page(self, rows: int, columns: int) -> None:
        """Move by a screen."""
        height = max(1, self.size.height - self.head_height - 1)
        width = max(1, self._room - 1)
        self.move_to(self.row + rows * height, self.column + columns * width)

    def action_edge(self, rows: int, columns: int) -> None:
        """Move to a border."""
        row = self.row if not rows else (0 if rows < 0 else len(self.row_labels) - 1)
        column = self.column if not columns else (0 if columns < 0 else len(self.column_labels) - 1)
        self.move_to(row, column)

    def move_to(self, row: int, column: int) -> None:
        """Put the cursor on a cell."""
        row = max(0, min(row, len(self.row_labels) - 1))
        column = max(0, min(column, len(self.column_labels) - 1))
        if (row, column) == (self.row, self.column):
            return
        old_row, self.row, self.column = self.row, row, column
        if not self._keep_in_view():
            top = self.head_height - round(self.scroll_offset.y)
            self.refresh(
                Region(0, 0, self.size.width, self.head_height),
                Region(0, top + old_row, self.size.width, 1),
                Region(0, top + row, self.size.width, 1),
            )
        self._tell()

    def _keep_in_view(self) -> bool:
        """Scroll so that the cursor can be seen; return whether anything moved."""
        columns, rows = self._room, max(1, self.size.height - self.head_height)
        x, y = round(self.scroll_offset.x) // self.cell_width, round(self.scroll_offset.y)
        new_x = min(max(x, self.column - columns + 1), self.column)
        new_y = min(max(y, self.row - rows + 1), self.row)
        if (new_x, new_y) == (x, y):
            return False
        self.scroll_to(new_x * self.cell_width, new_y, animate=False, force=True, immediate=True)
        return True

    def _tell(self) -> None:
        if self.row_labels and self.column_labels:
            self.post_message(CellMoved(self.row, self.column))

    def on_click(self, event: Click) -> None:
        """Put the cursor on the cell under the mouse; a click on the cursor opens it."""
        offset = event.get_content_offset(self)
        if offset is None or not self.row_labels:
            return
        column = (
            round(self.scroll_offset.x) // self.cell_width + (offset.x - self.row_width) // self.cell_width
        )
        row = offset.y - self.head_height + round(self.scroll_offset.y)
        at = (
            self.row if offset.y < self.head_height else row,
            self.column if offset.x < self.row_width else column,
        )
        if at == (self.row, self.column):
            self.post_message(CellOpened(*at))
        elif at[0] < len(self.row_labels) and at[1] < len(self.column_labels):
            self.move_to(*at)


def stacked(label: str) -> tuple[str, ...]:
    """Return a label in short pieces to stand on top of each other: 580.95.05 as 580, 95, 05."""
    pieces = _PIECE.findall(label) or [label]
    if len(pieces) > 4:
        pieces = [*pieces[:3], "".join(pieces[3:])]
    return tuple(p[:9] for p in pieces)
