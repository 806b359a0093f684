"""Matrix: what goes with what, by colour and sign."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from textual import on
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input

from stackcheck.model.kinds import Grade
from stackcheck_tui import telling
from stackcheck_tui.actions import bindings
from stackcheck_tui.desk import View
from stackcheck_tui.messages import CellMoved, CellOpened
from stackcheck_tui.screens.page import Page
from stackcheck_tui.widgets.grid import GradeGrid
from stackcheck_tui.widgets.legend import Legend
from stackcheck_tui.widgets.panel import Panel

if TYPE_CHECKING:  # what the first paint can do without is imported when it is needed
    from stackcheck.model.release import Gpu
    from stackcheck.solver.pair_facts import PairStory
    from stackcheck.solver.pairing import Pairing
    from stackcheck_tui.screens.pick import Choice

_PAUSE = 0.06  # seconds the cursor rests before the facts of its cell are asked for
PICTURES = (
    ("torch", "gpu"),
    ("torch", "driver"),
    ("cuda", "driver"),
    ("nccl", "aws-ofi-nccl"),
    ("efa-installer", "aws-ofi-nccl"),
    ("vllm", "gpu"),
    ("flash-attn", "torch"),
    ("image:ngc", "gpu"),
    ("image:ngc", "driver"),
    ("image:dlc", "instance"),
)

_UNDATED = {"newest first": "by name", "oldest first": "by name, from the end"}
"""What the orders by age come to where nothing has one."""


class MatrixPage(Page):
    """The central picture."""

    PAGE = "matrix"
    CSS_PATH = ["../styles/matrix.tcss"]  # noqa: RUF012 - Textual declares it so
    BINDINGS = bindings("matrix")

    def __init__(self) -> None:
        super().__init__()
        self.view = View()
        self.picture: Pairing | None = None
        self.story: PairStory | None = None
        self.order = ""
        self.filter = ""
        self.rows: tuple[int, ...] = ()
        self.columns: tuple[int, ...] = ()
        self._rest: Timer | None = None
        self._furnished = False
        self._wanted: tuple[str, str] = ("", "")

    def body(self) -> Iterable[Widget]:
        """Build the screen."""
        with Vertical(id="left"):
            yield GradeGrid(id="grid")

    def on_mount(self) -> None:
        """Paint the frame first, then bring in the rest and ask for the first picture."""
        self.query_one(GradeGrid).focus()
        self.after_first_paint(self._furnish)

    async def _furnish(self) -> None:
        """Mount what the first paint can do without."""
        hint = "/ filter rows: 2.1 · col:b200 · col:=b200 · is:broken"
        left = self.query_one("#left")
        await left.mount(Input(placeholder=hint, compact=True, id="search"), before="#grid")
        await left.mount(Legend(id="legend"))
        await self.query_one("#body").mount(Panel("Facts", id="facts"))
        self._furnished = True
        self._ask()

    def home(self) -> None:
        """Focus the grid."""
        self.query_one(GradeGrid).focus()

    def crumbs(self) -> tuple[str, ...]:
        """Return the path to the cell."""
        on = f" on {self.view.gpu}" if self.view.gpu else ""
        path: tuple[str, ...] = ("Matrix", f"{self.view.rows} {telling.TIMES} {self.view.columns}{on}")
        at = self._at()
        if at is not None and self.picture is not None:
            row, column = self.picture.rows.entries[at[0]], self.picture.columns.entries[at[1]]
            path = (*path, f"{row.label} {telling.TIMES} {column.label}")
        return path

    # picture

    def _ask(self) -> None:
        if not self._furnished:
            return  # asked for once there is a place to show it
        view = self.view
        self.ask("picture", lambda: self.desk.picture(view))

    def answer_picture(self, picture: Pairing) -> None:
        """Show a picture that came."""
        self.picture = picture
        self._arrange()

    def fault(self, topic: str, text: str) -> None:
        """Show why there is no picture."""
        self.query_one(GradeGrid).caption = "no picture"
        super().fault(topic, text)

    def _arrange(self) -> None:
        picture = self.picture
        if picture is None:
            return
        grid = self.query_one(GradeGrid)
        here = self._at()
        column = here[1] if here else 0
        from stackcheck.solver.arrange import Order, arranged

        order = Order(self.order) if self.order else Order.NEWEST
        self.rows, self.columns = arranged(picture, self.filter, order, column)
        rows, columns, cells = self.rows, self.columns, picture.cells
        grades = tuple(Grade)
        at = self._place_of(*self._wanted) or (
            rows.index(here[0]) if here and here[0] in rows else 0,
            columns.index(here[1]) if here and here[1] in columns else 0,
        )
        self._wanted = ("", "")
        grid.show(
            [picture.rows.entries[i].label for i in rows],
            [picture.columns.entries[i].label for i in columns],
            lambda row, column: grades[cells[rows[row]][columns[column]]],
            at=at,
            empty=self._why_empty(picture),
        )
        grid.border_title = Content(f"{picture.rows.title} {telling.TIMES} {picture.columns.title}")
        told = (
            _UNDATED.get(str(order), str(order)) if picture.rows.kind in ("gpu", "instance") else str(order)
        )
        grid.caption = (f"{told} · folded" if self.view.folded else told) if rows and columns else ""
        self._legend()
        if not (rows and columns):
            self._tell_nothing()
        self.show_crumbs()

    def _place_of(self, row: str, column: str) -> tuple[int, int] | None:
        if self.picture is None or not (row or column):
            return None
        rows = [self.picture.rows.entries[i].id for i in self.rows]
        columns = [self.picture.columns.entries[i].id for i in self.columns]
        return (rows.index(row) if row in rows else 0, columns.index(column) if column in columns else 0)

    def _legend(self) -> None:
        assert self.picture is not None  # noqa: S101
        counts = dict.fromkeys(Grade, 0)
        for row in self.rows:
            for grade, number in self.picture.counts(row, self.columns).items():
                counts[grade] += number
        self.query_one(Legend).count(counts)

    def _why_empty(self, picture: Pairing) -> str:
        sides = (("row", self.rows, picture.rows), ("column", self.columns, picture.columns))
        said = [
            f"None of {len(axis.entries)} {name}s fits the filter {self.filter.strip()[:24]!r}."
            if axis.entries
            else f"There is no {axis.title} to stand in a {name}."
            for name, left, axis in sides
            if not left
        ]
        return "\n".join((*said, "Clear it to see them: /, then ctrl+u." if self.filter.strip() else ""))

    def _tell_nothing(self) -> None:
        """Show no facts: there is no cell for them to be about."""
        if self._rest is not None:
            self._rest.stop()
        self.drop("story")
        self.story = None
        self.query_one("#facts", Panel).show(Content.styled("No cell is shown.", telling.MUTED))

    # cell

    def _at(self) -> tuple[int, int] | None:
        grid = self.query_one(GradeGrid)
        if self.picture is None or grid.row >= len(self.rows) or grid.column >= len(self.columns):
            return None
        at = (self.rows[grid.row], self.columns[grid.column])
        sizes = (len(self.picture.rows.entries), len(self.picture.columns.entries))
        return at if at[0] < sizes[0] and at[1] < sizes[1] else None

    def on_cell_moved(self, _message: CellMoved) -> None:
        """Wait a moment, then ask for the facts of the cell."""
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(_PAUSE, self._rested)

    def _rested(self) -> None:
        at, picture = self._at(), self.picture
        self.show_crumbs()
        if at is not None and picture is not None:
            self.ask("story", lambda: self.desk.story(picture, *at))

    def answer_story(self, story: PairStory) -> None:
        """Show the facts of a cell."""
        self.story = story
        self.query_one("#facts", Panel).show(
            telling.story(story, names=self._names(), width=self._panel_width())
        )

    def _panel_width(self) -> int:
        return max(30, self.query_one("#facts", Panel).size.width - 4)

    def _names(self) -> tuple[str, str]:
        assert self.picture is not None  # noqa: S101
        plain = ("component",)
        sides = (self.picture.rows, self.picture.columns)
        one, two = (s.title if s.kind in plain else "" for s in sides)
        return one, two

    def on_cell_opened(self, _message: CellOpened) -> None:
        """Show the facts over the whole screen."""
        self.action_open()

    def action_open(self) -> None:
        """Show the facts over the whole screen."""
        at, picture = self._at(), self.picture
        if at is not None and picture is not None:
            self.ask("opened", lambda: self.desk.story(picture, *at))

    def answer_opened(self, story: PairStory) -> None:
        """Open the dialog of a cell."""
        from stackcheck_tui.screens.story import StoryScreen

        self.story = story
        title = f"{story.row.label} {telling.TIMES} {story.column.label}"
        self.app.push_screen(StoryScreen(title, telling.story(story, names=self._names())))

    # choices

    def action_axis(self, side: str) -> None:
        """Choose an axis."""
        self.ask("axes", lambda: (side, self._axis_choices()))

    def _axis_choices(self) -> list[Choice]:
        from stackcheck_tui.screens.pick import Choice

        catalog = self.desk.catalog
        notes = {c.id: f"{c.layer} · {c.description}" for c in catalog.components()}
        notes |= {"gpu": "every GPU", "instance": "every instance type"}
        return [Choice(name, name, notes.get(name, "images")) for name in self.desk.axes()]

    def answer_axes(self, answer: tuple[str, list[Choice]]) -> None:
        """Open the list of axes."""
        from stackcheck_tui.screens.pick import PickScreen

        side, choices = answer

        def taken(name: str | None) -> None:
            if name and name != getattr(self.view, side):
                self._turn_to(rows=name) if side == "rows" else self._turn_to(columns=name)

        self.app.push_screen(
            PickScreen(f"What stands in the {side}?", choices, current=getattr(self.view, side)), taken
        )

    def action_context(self) -> None:
        """Choose a GPU for the whole picture."""
        self.ask("gpus", lambda: self.desk.catalog.gpus())

    def answer_gpus(self, gpus: tuple[Gpu, ...]) -> None:
        """Open the list of GPUs."""
        from stackcheck_tui.screens.pick import Choice, PickScreen

        choices = [Choice("", "any GPU"), *(Choice(g.id, g.id, g.name) for g in gpus)]

        def taken(name: str | None) -> None:
            if name is not None:
                self.view = replace(self.view, gpu=name)
                self._ask()

        self.app.push_screen(PickScreen("On which GPU?", choices, current=self.view.gpu), taken)

    def action_preset(self) -> None:
        """Choose one of the usual pictures."""
        from stackcheck_tui.screens.pick import Choice, PickScreen

        choices = [Choice(f"{a} {b}", f"{a} {telling.TIMES} {b}") for a, b in PICTURES]

        def taken(name: str | None) -> None:
            if name:
                self.visit(tuple(name.split()))

        self.app.push_screen(PickScreen("Which picture?", choices), taken)

    def _turn_to(self, *, rows: str = "", columns: str = "", filtered: str = "") -> None:
        """Ask for a picture with other axes; a filter belongs to its picture and does not come along."""
        view = self.view
        self.view = replace(view, rows=rows or view.rows, columns=columns or view.columns)
        self.filter = filtered
        for field in self.query("#search").results(Input):
            with self.prevent(Input.Changed):
                field.value = filtered
        self._ask()

    def visit(self, subject: Any) -> None:
        """Show a picture: rows, columns, and perhaps the row and column of a cell and a filter."""
        rows, columns, *cell = subject
        if len(cell) >= 2:
            self._wanted = (cell[0], cell[1])
        self._turn_to(rows=rows, columns=columns, filtered=cell[2] if len(cell) > 2 else "")

    def place(self) -> Any:
        """Return picture, cell and filter."""
        at = self._at()
        if at is None or self.picture is None:
            return (self.view.rows, self.view.columns, "", "", self.filter)
        row, column = self.picture.rows.entries[at[0]], self.picture.columns.entries[at[1]]
        return (self.view.rows, self.view.columns, row.id, column.id, self.filter)

    def action_swap(self) -> None:
        """Exchange rows and columns."""
        from stackcheck.solver.arrange import turned

        at = self._at()
        if at is not None and self.picture is not None:
            row, column = self.picture.rows.entries[at[0]], self.picture.columns.entries[at[1]]
            self._wanted = (column.id, row.id)
        self._turn_to(rows=self.view.columns, columns=self.view.rows, filtered=turned(self.filter))

    def action_fold(self) -> None:
        """Show the newest of each series, or all."""
        self.view = replace(self.view, folded=not self.view.folded)
        self._ask()

    def action_order(self) -> None:
        """Sort in the next way."""
        from stackcheck.solver.arrange import Order

        orders = [str(o) for o in Order]
        self.order = orders[(orders.index(self.order or orders[0]) + 1) % len(orders)]
        self._arrange()

    def action_zoom(self) -> None:
        """Stack column labels, or not."""
        self.query_one(GradeGrid).toggle_width()

    @on(Input.Changed, "#search")
    def _filter(self, event: Input.Changed) -> None:
        self.filter = event.value
        self._arrange()

    @on(Input.Submitted, "#search")
    def _filtered(self) -> None:
        self.home()

    def copyable(self) -> str:
        """Return the facts of the cell as text."""
        return telling.story(self.story, names=self._names()).plain if self.story is not None else ""

    def sources(self) -> tuple[str, ...]:
        """Return the sources of the cell's facts."""
        return tuple(s for f in self.story.facts for s in f.sources) if self.story is not None else ()
