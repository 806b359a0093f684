"""Components: a tree by layer, releases on a time line, and the graph around one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from rich.text import Text
from textual import on
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import DataTable, Input, Tree

from stackcheck.catalog.surroundings import Surroundings, surroundings
from stackcheck.catalog.timeline import Span, timeline
from stackcheck.model.release import Component
from stackcheck_tui.actions import bindings
from stackcheck_tui.graph import graph
from stackcheck_tui.screens.page import Page
from stackcheck_tui.screens.pick import Choice, PickScreen
from stackcheck_tui.widgets.panel import Panel
from stackcheck_tui.widgets.table import Table, quiet
from stackcheck_tui.widgets.timeline import bars, look, sign

_ROOMY = 84  # columns from which on there is room for dates and builds

Answer = tuple[Component, tuple[Span, ...], Surroundings]


class Around(Panel):
    """The graph, which is drawn anew when the room for it is another."""

    def on_resize(self) -> None:
        """Draw it for the new width."""
        cast("ComponentsPage", self.screen).draw_around()


class ComponentsPage(Page):
    """What there is, how it is looked after, and what hangs on it."""

    PAGE = "components"
    CSS_PATH = ["../styles/lists.tcss", "../styles/components.tcss"]  # noqa: RUF012 - Textual declares it so
    BINDINGS = bindings("components")

    def __init__(self) -> None:
        super().__init__()
        self.component = "torch"
        self.version = ""
        self.answer: Answer | None = None
        self._drawn = 0  # columns of the graph on the screen
        self._all: tuple[Component, ...] = ()
        self._layers: list[str] = []
        self._today = ""

    def body(self) -> Iterable[Widget]:
        """Build the screen."""
        with Vertical(id="left"):
            yield Input(placeholder="/ find a component", compact=True, id="search")
            yield Tree("components", id="tree")
        with Vertical(id="right"):
            yield Table(id="releases")
            yield Around("Around it", id="around")

    def on_mount(self) -> None:
        """Ask for everything there is."""
        tree: Tree[str] = self.query_one(Tree)
        tree.show_root = False
        tree.guide_depth = 2
        tree.border_title = "Components"
        tree.focus()
        self.ask("all", self._everything)

    def _everything(self) -> tuple[tuple[Component, ...], list[str]]:
        catalog = self.desk.catalog
        return catalog.components(), list(catalog.policy.get("lock_export_layers", ()))

    def answer_all(self, answer: tuple[tuple[Component, ...], list[str]]) -> None:
        """Grow the tree."""
        self._all, self._layers = answer
        self._grow("")
        self._ask()

    def _grow(self, text: str) -> None:
        tree: Tree[str] = self.query_one(Tree)
        tree.clear()
        words = text.lower().split()
        layers: dict[str, list[Component]] = {}
        for component in self._all:
            names = " ".join(
                (component.id, component.name, component.description, *component.aliases)
            ).lower()
            if all(w in names for w in words):
                layers.setdefault(component.layer, []).append(component)
        order = self._layers
        chosen = None
        for layer in sorted(layers, key=lambda n: (order.index(n) if n in order else len(order), n)):
            branch = tree.root.add(layer, expand=True)
            for component in layers[layer]:
                leaf = branch.add_leaf(component.id, data=component.id)
                if component.id == self.component or (words and chosen is None):
                    chosen = leaf
        tree.root.expand()
        if chosen is not None:
            self.call_after_refresh(tree.move_cursor, chosen)

    @on(Input.Changed, "#search")
    def _find(self, event: Input.Changed) -> None:
        self._grow(event.value)

    @on(Input.Submitted, "#search")
    def _found(self) -> None:
        self.home()

    def home(self) -> None:
        """Focus the tree."""
        self.query_one(Tree).focus()

    def crumbs(self) -> tuple[str, ...]:
        """Return the path to the release."""
        layer = (self.answer[0].layer,) if self.answer else ()
        return ("Components", *layer, self.component, *((self.version,) if self.version else ()))

    @on(Tree.NodeHighlighted)
    def _walked(self, event: Tree.NodeHighlighted[str]) -> None:
        if event.node.data and event.node.data != self.component:
            self.component, self.version = event.node.data, ""
            self._ask()

    def _ask(self) -> None:
        name, version = self.component, self.version

        def work() -> Answer | None:
            catalog = self.desk.catalog
            component = catalog.component(name)
            if component is None:
                return None
            today = self._today = catalog.version.replace(".", "-")
            return component, timeline(component, today), surroundings(catalog, component, version)

        self.ask("component", work)

    def answer_component(self, answer: Answer | None) -> None:
        """Show a component."""
        if answer is None:
            return
        fresh = self.answer is None or self.answer[0].id != answer[0].id
        self.answer = answer
        if fresh:
            self._fill(answer)
        self._drawn = 0
        self.draw_around()
        self.show_crumbs()

    def draw_around(self) -> None:
        """Draw what is around the release, unless it is there in this width already."""
        panel = self.query_one(Panel)
        width = panel.size.width - 4
        if self.answer is not None and width != self._drawn:
            self._drawn = width
            component, _, around = self.answer
            panel.show(graph(component, around, width), f"Around {component.id} {around.release}")

    def _fill(self, answer: Answer) -> None:
        component, spans, _ = answer
        table = self.query_one(Table)
        columns = [("", 1), ("release", 12), ("date", 10), ("until", 10), ("builds", 18), ("", 0)]
        roomy = table.size.width >= _ROOMY
        table.lay_columns([c for c in columns if roomy or c[0] not in ("date", "builds")])
        axis, lines = bars(spans, self._today, table.rest_width)
        table.ordered_columns[-1].label = Text(axis)
        for span, line in zip(spans, lines, strict=True):
            until = span.end if span.stated else ""
            builds = (quiet(" ".join(span.builds)),) if roomy else ()
            table.add_row(
                Content.styled(sign(span.state), look(span.state)),
                Content.styled(span.version, "bold"),
                *((quiet(span.start),) if roomy else ()),
                quiet(until),
                *builds,
                Content.styled(line, look(span.state)),
                key=span.version,
            )
        table.border_title = Content(f"{component.name}: {component.description}")
        table.border_subtitle = "● newest of its series · ○ superseded · ✗ ended · ━┤ stated end of support"
        place = next((i for i, s in enumerate(spans) if s.version == self.version), 0)
        table.move_cursor(row=place, animate=False)

    @on(DataTable.RowHighlighted, "#releases")
    def _release(self, event: DataTable.RowHighlighted) -> None:
        version = event.row_key.value or ""
        if self.answer is not None and version and version != self.answer[2].release:
            self.version = version
            self._ask()

    def on_resize(self) -> None:
        """Draw the time line anew."""
        if self.answer is not None:
            self.call_after_refresh(self._fill, self.answer)

    def action_relations(self) -> None:
        """Go to a neighbour."""
        if self.answer is None:
            return
        around = self.answer[2]
        choices = [
            Choice(a.component, f"requires {a.component}", f"{a.range} {a.when}") for a in around.requires
        ]
        choices += [Choice(n, f"brings {n}", v) for n, v in around.bundles]
        choices += [Choice(r.component, f"required by {r.component}", r.range) for r in around.required_by]
        choices += [Choice(b.component, f"comes inside {b.component}", b.brings) for b in around.brought_by]

        def taken(name: str | None) -> None:
            if name:
                self.stackcheck.go("components", (name, ""))

        self.app.push_screen(PickScreen(f"From {self.component} to", choices), taken)

    @on(Tree.NodeSelected)
    @on(DataTable.RowSelected)
    def _opened(self) -> None:
        self.action_relations()

    def action_picture(self) -> None:
        """Show the releases against the GPUs."""
        self.stackcheck.go("matrix", (self.component, "gpu"))

    def visit(self, subject: Any) -> None:
        """Show a component and a release."""
        self.component, self.version = subject
        tree: Tree[str] = self.query_one(Tree)
        for branch in tree.root.children:
            for leaf in branch.children:
                if leaf.data == self.component:
                    tree.move_cursor(leaf)
        self._ask()

    def place(self) -> Any:
        """Return component and release."""
        return (self.component, self.version)

    def copyable(self) -> str:
        """Return component and release."""
        return f"{self.component}=={self.version or (self.answer[2].release if self.answer else '')}"

    def sources(self) -> tuple[str, ...]:
        """Return the sources of the release."""
        if self.answer is None:
            return ()
        return next((s.sources for s in self.answer[1] if s.version == self.answer[2].release), ())
