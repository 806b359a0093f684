"""Images: what DLC, NGC and upstream images hold, which fit a GPU or a driver, what two differ in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from textual import on
from textual.containers import Container, Vertical
from textual.content import Content
from textual.coordinate import Coordinate
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import DataTable, Input

from stackcheck.catalog.image_age import days as image_days
from stackcheck.model.release import Image
from stackcheck.report.style import visible
from stackcheck.solver.image_search import Hit, Query, differences, search
from stackcheck_tui import telling
from stackcheck_tui.actions import bindings
from stackcheck_tui.image_order import cut, newest_first
from stackcheck_tui.screens.page import Page
from stackcheck_tui.screens.story import StoryScreen
from stackcheck_tui.widgets.field import Field
from stackcheck_tui.widgets.panel import Panel
from stackcheck_tui.widgets.table import Table, quiet

_PAUSE = 0.12
_NAME_ROOM = 40  # columns for the name before anything held gets a column of its own
_SHOWN = (("torch", 13), ("cuda", 7), ("nccl", 7), ("aws-ofi-nccl", 12), ("vllm", 8))
"""Contents that have a column, and how wide it is."""


class ImagesPage(Page):
    """A table of images with a filter, and the contents of one."""

    PAGE = "images"
    CSS_PATH = ["../styles/lists.tcss", "../styles/images.tcss"]  # noqa: RUF012 - Textual declares it so
    BINDINGS = bindings("images")

    def __init__(self) -> None:
        super().__init__()
        self.wanted = Query()
        self.hits: tuple[Hit, ...] = ()
        self.marked: list[Image] = []
        self._rest: Timer | None = None
        self._return_to = ""
        self.days: tuple[str, ...] = ()
        """By hit: its date, or the day before which it cannot have been made."""
        self.families: tuple[str, ...] = ()
        self.total = 0
        self._laid: tuple[tuple[tuple[str, int], ...], int] = ((), 0)

    def body(self) -> Iterable[Widget]:
        """Build the screen."""
        with Vertical(id="left"):
            with Container(id="filters"):
                yield Field(
                    "family", key="family", hint="any; dlc, ngc or upstream", words=("dlc", "ngc", "upstream")
                )
                yield Field("on GPU", key="gpu", hint="any; e.g. b300")
                yield Field("on driver", key="driver", hint="any; e.g. 550")
                yield Field("holds", key="search", hint="any; e.g. torch>=2.9 vllm")
            yield Table(id="images")
        yield Panel("Contents", id="contents")

    def on_mount(self) -> None:
        """Ask for all images."""
        self.query_one(Table).focus()
        self.ask("words", lambda: self.desk.catalog.gpu_ids)
        self._ask()

    def _columns(self) -> tuple[tuple[str, int], ...]:
        """Return the contents that have a column: as many as leave the name its room."""
        room = self.query_one(Table).size.width - _NAME_ROOM - 1 - sum(w + 2 for w in (1, 1, 10, 0))
        taken = (sum(w + 2 for _, w in _SHOWN[:n]) for n in range(len(_SHOWN), 2, -1))
        count = next((len(_SHOWN) - i for i, t in enumerate(taken) if t <= room), 2)
        return _SHOWN[:count]

    def on_resize(self) -> None:
        """Show more or fewer columns, and as much of the names as there is room for."""
        self.call_after_refresh(self._lay_out)

    def _lay_out(self) -> None:
        table, columns = self.query_one(Table), self._columns()
        if (columns, table.rest_width) != self._laid:
            self._return_to = self._return_to or (getattr(self._image(), "name", ""))
            table.lay_columns((("", 1), ("", 1), ("date", 10), ("image", 0), *columns))
            self._laid = (columns, table.rest_width)
            self._show_hits()

    def answer_words(self, gpus: tuple[str, ...]) -> None:
        """Let the field of GPUs complete names."""
        for field in self.query(Field):
            if field.input.id == "gpu":
                field.suggester.words = gpus

    def home(self) -> None:
        """Focus the table."""
        self.query_one(Table).focus()

    def crumbs(self) -> tuple[str, ...]:
        """Return the path to the image."""
        asked = (
            self.wanted.family,
            self.wanted.gpu,
            self.wanted.driver and f"driver {self.wanted.driver}",
            self.wanted.holds,
        )
        image = self._image()
        return (
            "Images",
            *(" ".join(a for a in asked if a),) * any(asked),
            *((_short(image),) if image else ()),
        )

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        name = "holds" if event.input.id == "search" else event.input.id or ""
        if getattr(self.wanted, name) == event.value.strip():
            return
        self.wanted = replace(self.wanted, **{name: event.value.strip()})
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(_PAUSE, self._ask)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.home()

    def _ask(self) -> None:
        query = self.wanted
        self.query_one(Table).border_subtitle = "…"
        self.ask("hits", lambda: self._searched(query))

    def _searched(self, query: Query) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
        catalog = self.desk.catalog
        if not self.families:
            self.families = tuple(dict.fromkeys(i.family for i in catalog.images))
            self.total = len(catalog.images)
        hits = search(catalog, query)
        days = image_days(catalog, [h.image for h in hits])
        order = newest_first(hits, days, unknown_last=bool(query.gpu or query.driver))
        return tuple(hits[p] for p in order), tuple(days[p] for p in order)

    def fault(self, topic: str, text: str) -> None:
        """Show what is wrong with the filter."""
        del topic
        self.query_one(Table).border_subtitle = Content(visible(text, 200))

    def answer_hits(self, found: tuple[tuple[Hit, ...], tuple[str, ...]]) -> None:
        """Show the images found."""
        self._return_to = self._return_to or getattr(self._image(), "name", "")
        self.hits, self.days = found
        self._lay_out()
        self._show_hits()

    def _show_hits(self) -> None:
        here = self._return_to
        if self.hits:  # an empty table may be one whose answer is still to come
            self._return_to = ""
        hits, table = self.hits, self.query_one(Table)
        table.clear()
        table.add_rows(self._cells(hit, day) for hit, day in zip(hits, self.days, strict=True))
        names = [h.image.name for h in hits]
        if here in names:
            table.move_cursor(row=names.index(here), animate=False)
        table.border_title = "Images" if hits else "No image fits all of that"
        order = "newest first" + (", unknown last" if self.wanted.gpu or self.wanted.driver else "")
        table.border_subtitle = f"{len(hits)} of {self.total} · {order}"
        if not hits:
            self.query_one(Panel).show(
                Content.styled("No image fits all of that. Clear a field to see more.", telling.MUTED)
            )
        self.show_crumbs()

    def _cells(self, hit: Hit, day: str) -> list[Any]:
        image = hit.image
        mark = Content.styled("●" if image in self.marked else " ", "bold $text-accent")
        held = [image.contents.get(n, "—" if n in image.absent else "") for n, _ in self._columns()]
        look = "" if image.verified else "dim"
        return [
            mark,
            Content.styled(telling.sign(hit.grade), telling.GRADE_STYLES[hit.grade]),
            quiet(image.date or (day and f"≥ {day[:7]}")),
            Content.styled(cut(_short(image), self.query_one(Table).rest_width), look),
            *(Content.styled(cut(t, w), look) for t, (_, w) in zip(held, self._columns(), strict=True)),
        ]

    def _image(self) -> Image | None:
        row = self.query_one(Table).cursor_row
        return self.hits[row].image if row < len(self.hits) else None

    @on(DataTable.RowHighlighted)
    def _highlighted(self) -> None:
        image = self._image()
        if image is not None:
            panel = self.query_one(Panel)
            row = self.query_one(Table).cursor_row
            panel.show(
                image_story(image, self.hits[row], width=max(30, panel.size.width - 4)), _short(image)[:60]
            )
        self.show_crumbs()

    @on(DataTable.RowSelected)
    def _selected(self) -> None:
        self.action_take()

    def action_take(self) -> None:
        """Show everything about the image."""
        image = self._image()
        if image is not None:
            hit = self.hits[self.query_one(Table).cursor_row]
            self.app.push_screen(StoryScreen(_short(image), image_story(image, hit)))

    def action_family(self) -> None:
        """Take the next family."""
        families = ("", *self.families)
        now = self.wanted.family if self.wanted.family in families else ""
        self.query_one("#family", Input).value = families[(families.index(now) + 1) % len(families)]

    def action_mark(self) -> None:
        """Mark the image, or take the mark away; two marks at most."""
        image = self._image()
        if image is None:
            return
        if image in self.marked:
            self.marked.remove(image)
        else:
            self.marked = [*self.marked[-1:], image]
        table = self.query_one(Table)
        for row, hit in enumerate(self.hits):
            mark = "●" if hit.image in self.marked else " "
            table.update_cell_at(Coordinate(row, 0), Content.styled(mark, "bold $text-accent"))
        if len(self.marked) == 2:
            self.notify("d compares them", title="Two images marked", timeout=3)

    def action_differ(self) -> None:
        """Compare the two marked images, or the marked one with this one."""
        image = self._image()
        pair = [
            *self.marked,
            *([image] if image and len(self.marked) == 1 and image not in self.marked else []),
        ]
        if len(pair) < 2:
            self.notify("Mark two images with space first", severity="warning")
            return
        self.app.push_screen(StoryScreen("Two images", differing(pair[0], pair[1])))

    def visit(self, subject: Any) -> None:
        """Show a filter and an image."""
        query, name = subject
        self._return_to = name
        self.wanted = query
        for field in self.query(Field):
            key = "holds" if field.input.id == "search" else field.input.id or ""
            field.input.value = getattr(query, key)
        self._ask()

    def place(self) -> Any:
        """Return filter and image."""
        image = self._image()
        return (self.wanted, image.name if image else "")

    def copyable(self) -> str:
        """Return the reference to pull."""
        image = self._image()
        return (image.public_reference or image.reference or image.name) if image else ""

    def sources(self) -> tuple[str, ...]:
        """Return the sources of the image."""
        image = self._image()
        return (
            tuple(image.source_table[s].ref if s in image.source_table else s for s in image.sources)
            if image
            else ()
        )


def _short(image: Image) -> str:
    return f"{image.repository.rpartition('/')[2]}:{image.tag}"


def image_story(image: Image, hit: Hit, *, width: int = 0) -> Content:
    """Return everything about an image."""
    told = [telling.graded(hit.grade)]
    if image.verified:
        told.append(Content.styled(image.public_reference or image.reference or image.name, "bold"))
    else:
        told += [
            Content.styled(image.name, "bold"),
            Content.styled("no source says that this tag exists", "$text-warning"),
        ]
    facts = (
        ("date", image.date),
        ("patched until", image.eop),
        ("system", image.os),
        ("cpu", ", ".join(sorted(image.arch))),
        ("platform", image.platform),
        ("purpose", ", ".join(image.purpose)),
        ("digest", image.digest),
        ("min driver", str(image.attributes.get("min_driver") or "")),
    )
    told += [Content.assemble((f"{n:>14}  ", telling.MUTED), v) for n, v in facts if v]
    told += [Content(), telling.heading("holds")]
    told += [Content.assemble(f"  {n:<22} ", (v, "bold")) for n, v in sorted(image.contents.items())]
    if image.absent:
        told += [Content(), telling.heading("lacks"), Content(f"  {', '.join(image.absent)}")]
    if image.environment:
        told += [Content(), telling.heading("environment")]
        told += [Content(f"  {n}={v}") for n, v in sorted(image.environment.items())]
    told += [Content.styled(f"\n{n}", telling.MUTED) for n in image.notes]
    refs = tuple(image.source_table[s].ref if s in image.source_table else s for s in image.sources)
    return telling.lines([*told, Content(), *telling.sources(refs, width=width)])


def differing(left: Image, right: Image) -> Content:
    """Return the differences of two images as a table."""
    wide = max(len(_short(left)), len(_short(right)), 24)
    wide = min(wide, 40)
    told = [
        Content.assemble((f"{'':<22}  {_short(left)[:wide]:<{wide}}  {_short(right)[:wide]}", "bold")),
        Content(),
    ]
    for row in differences(left, right):
        one, two = row.left or "?", row.right or "?"
        look = telling.MUTED if row.same else ""
        sign = " " if row.same else "≠"
        told.append(
            Content.assemble(
                (f"{sign} {row.component:<20}  ", look or "$text-accent"),
                (f"{one:<{wide}}  ", look),
                (two, look or "bold"),
            )
        )
    told += [Content(), Content.styled("? not stated by any source", telling.MUTED)]
    return telling.lines(told)
