"""Resolve: say what must run, see the stack that does, and why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

from textual import on
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import DataTable, Input, OptionList, Static
from textual.widgets.option_list import Option

from stackcheck.model.explanation import Explanation
from stackcheck.model.stack import Pin, Stack, StackImage
from stackcheck.solver.request import ImageChoice, Policy, Request
from stackcheck_tui import telling
from stackcheck_tui.actions import bindings
from stackcheck_tui.form import Form, request_of, with_change
from stackcheck_tui.image_order import cut
from stackcheck_tui.screens.page import Page
from stackcheck_tui.screens.story import StoryScreen
from stackcheck_tui.widgets.field import Field
from stackcheck_tui.widgets.panel import Panel
from stackcheck_tui.widgets.table import Table, quiet

_PAUSE = 0.15  # seconds without a key before an answer is asked for
_POLICIES: tuple[Policy, ...] = get_args(Policy)
_IMAGES: tuple[ImageChoice, ...] = get_args(ImageChoice)


class ResolvePage(Page):
    """Requirements at the left, the stack at the right."""

    PAGE = "resolve"
    CSS_PATH = ["../styles/lists.tcss", "../styles/resolve.tcss"]  # noqa: RUF012 - Textual declares it so
    BINDINGS = bindings("resolve")

    def __init__(self) -> None:
        super().__init__()
        self.form = Form()
        self.stack: Stack | None = None
        self.base: Stack | None = None
        """The stack that answers are compared with."""
        self._rest: Timer | None = None
        self._pause: Timer | None = None
        self._rows: tuple[str, ...] = ()
        self.request: Request | None = None
        self.explained: Explanation | None = None
        self.wrong = ""
        """What is wrong with what is typed; empty if the answer shown is the answer to it."""

    def body(self) -> Iterable[Widget]:
        """Build the screen."""
        with Vertical(id="form"):
            yield Field(
                "target", key="search", value=self.form.target, hint="e.g. b200, p5en.48xlarge", replaced=True
            )
            yield Field("frameworks", key="frameworks", hint="none; e.g. vllm torch==2.11.0")
            yield Field("pins", key="pins", hint="none; e.g. driver==580.* cuda>=13")
            yield Field("without", key="without", hint="none; e.g. flash-attn")
            yield Static(id="choices")
            yield Panel("Notes", id="notes")
        with Vertical(id="answer"):
            yield Static(id="fault", markup=False)
            yield Static(id="image")
            yield Table(id="stack", enter="Why")
            yield OptionList(id="ways", compact=True)
            yield Panel("Why", id="why")

    def on_mount(self) -> None:
        """Ask for the first stack."""
        self.query_one(
            "#ways", OptionList
        ).border_title = "Ways out · enter, then a applies the highlighted one"
        self.query_one("#ways").display = False
        self.query_one("#fault").display = False
        self._choices()
        self.query_one(Table).focus()
        self.ask("words", self._words)
        self._ask()

    def _words(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        catalog = self.desk.catalog
        return (*catalog.gpu_ids, *catalog.instance_ids), catalog.component_ids

    def answer_words(self, words: tuple[tuple[str, ...], tuple[str, ...]]) -> None:
        """Let the fields complete names."""
        for field in self.query(Field):
            field.suggester.words = words[0] if field.input.id == "search" else words[1]

    def home(self) -> None:
        """Focus the stack, or the ways out."""
        ways = self.query_one("#ways", OptionList)
        (ways if ways.display else self.query_one(Table)).focus()

    def crumbs(self) -> tuple[str, ...]:
        """Return the path to the pin."""
        pin = self._pin()
        asked = (" ".join(t for t in (self.form.target, self.form.frameworks, self.form.pins) if t),)
        return ("Resolve", *asked, *((f"{pin.component} {pin.version}",) if pin else ()))

    # asking

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        name = "target" if event.input.id == "search" else event.input.id or ""
        if getattr(self.form, name) == event.value:
            return
        self.form = self.form.changed(**{name: event.value})
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(_PAUSE, self._ask)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.home()

    def _ask(self) -> None:
        form = self.form
        self.query_one(Table).border_subtitle = "resolving …"
        self.ask("stack", lambda: self._resolved(form))

    def _resolved(self, form: Form) -> tuple[Request, Stack]:
        request = request_of(form, self.desk.catalog.instance_ids)
        return request, self.desk.resolve(request)

    def fault(self, topic: str, text: str) -> None:
        """Show what is wrong with what was typed, where one looks."""
        del topic
        self.wrong = text
        self.query_one("#fault", Static).update(
            Content.assemble(("✗ not yet a question: ", "bold $text-error"), text)
        )
        self._mark_old()

    def _mark_old(self) -> None:
        """Tell an answer to what was typed before from an answer to what is typed."""
        old = bool(self.wrong)
        self.query_one("#fault").display = old
        self.query_one("#answer").set_class(old, "-old")
        table = self.query_one(Table)
        if old:
            table.border_subtitle = ""
        if old and self.stack is not None:
            table.border_title = f"OLD ANSWER, to another question: {_where(self.stack)}"

    def answer_stack(self, answer: tuple[Request, Stack]) -> None:
        """Show an answer."""
        self.request, stack = answer
        self.wrong = ""
        self._mark_old()
        self.stack, self.explained = stack, None
        table, ways = self.query_one(Table), self.query_one("#ways", OptionList)
        ways.display = bool(stack.alternatives)
        table.display = stack.solved
        self.set_class(stack.solved, "-solved")
        if stack.solved:
            self._fill(table, stack)
        else:
            ways.clear_options()
            ways.add_options(Option(telling.alternative(a)) for a in stack.alternatives)
            ways.highlighted = 0 if stack.alternatives else None
            self.query_one("#why", Panel).show(telling.conflict(stack), "Conflict")
            if not isinstance(self.focused, Input):
                self.home()
        self.query_one("#image").set_class(not stack.solved, "-none")
        self._name_image(stack.image)
        self._notes(stack)
        self.show_crumbs()

    def _name_image(self, image: StackImage | None) -> None:
        """Name the image above the stack, where there is no room for notes."""
        shown = Content.styled("no image: everything is installed", telling.MUTED)
        if image is not None:
            # the sign last: in front of a reference longer than a line it would get a line of its own
            grade = (f" {telling.sign(image.grade)} {image.grade}", telling.GRADE_STYLES[image.grade])
            shown = Content.assemble(image.reference or f"{image.repository}:{image.tag}", grade)
        self.query_one("#image", Static).update(shown)

    def _notes(self, stack: Stack) -> None:
        told: list[Content] = []
        image = stack.image
        if image is not None:
            told += [telling.heading("image"), Content(image.reference or f"{image.repository}:{image.tag}")]
            if not image.reference:
                told.append(Content.styled("no source says that this tag exists", "$text-warning"))
            told += [Content.styled(w, telling.MUTED) for w in image.why]
        for note in stack.notes:
            told += [Content(), Content.styled(note, telling.MUTED)]
        self.query_one("#notes", Panel).show(telling.lines(told), "Notes")

    # the stack

    def _fill(self, table: Table, stack: Stack) -> None:
        here = self._rows[table.cursor_row] if table.cursor_row < len(self._rows) else ""
        comparing = self.base is not None
        columns = [("", 1), ("component", 24), ("version", 20), ("compared with", 20), ("because", 0)]
        table.lay_columns([c for c in columns if comparing or c[0] != "compared with"])
        base = {p.component: p for p in self.base.pins} if self.base is not None else {}
        pins = {p.component: p for p in stack.pins}
        self._rows = (*pins, *(n for n in base if n not in pins))
        for name in self._rows:
            table.add_row(*self._cells(pins.get(name), base.get(name), comparing=comparing), key=name)
        if here in self._rows:
            table.move_cursor(row=self._rows.index(here), animate=False)
        table.border_title = Content(_where(stack))
        table.border_subtitle = f"{len(pins)} components · {stack.policy}"
        self._show_pin()

    def _cells(self, pin: Pin | None, other: Pin | None, *, comparing: bool) -> list[Content]:
        one = pin or other
        assert one is not None  # noqa: S101
        changed = comparing and (pin is None or other is None or pin.version != other.version)
        look = "bold $text-accent" if changed else ""
        cells = [
            Content.styled(telling.sign(one.grade), telling.GRADE_STYLES[one.grade]),
            Content.styled(cut(one.component, 24), look),
            Content.styled(cut(pin.version, 20) if pin else "—", look or "bold"),
        ]
        if comparing:
            cells.append(
                Content.styled(
                    other.version if other else "—", telling.MUTED if not changed else "$text-warning"
                )
            )
        cells.append(quiet(_because(pin)))
        return cells

    def _pin(self) -> Pin | None:
        if self.stack is None or not self.stack.solved:
            return None
        row = self.query_one(Table).cursor_row
        return self.stack.pin(self._rows[row]) if row < len(self._rows) else None

    @on(DataTable.RowHighlighted)
    def _show_pin(self) -> None:
        pin = self._pin()
        if pin is not None:
            panel = self.query_one("#why", Panel)
            panel.show(
                telling.pin(pin, width=max(30, panel.size.width - 4)), f"Why {pin.component} {pin.version}"
            )
            if self._pause is not None:
                self._pause.stop()
            self._pause = self.set_timer(_PAUSE, self._explain)
        self.show_crumbs()

    def _explain(self) -> None:
        pin, request = self._pin(), self.request
        if pin is not None and request is not None:
            self.ask("explained", lambda: self.desk.explain(request, pin.component))

    def answer_explained(self, explained: Explanation | None) -> None:
        """Show why, as soon as it is known in full."""
        pin = self._pin()
        if explained is not None and pin is not None and explained.component == pin.component:
            self.explained = explained
            panel = self.query_one("#why", Panel)
            panel.show(telling.explanation(explained, width=max(30, panel.size.width - 4)))

    @on(DataTable.RowSelected)
    def _open_pin(self) -> None:
        self.action_why()

    def action_why(self) -> None:
        """Show the reasons over the whole screen."""
        pin = self._pin()
        if pin is not None:
            whole = self.explained if self.explained and self.explained.component == pin.component else None
            told = telling.explanation(whole) if whole else telling.pin(pin)
            self.app.push_screen(StoryScreen(f"Why {pin.component} {pin.version}", told))
        elif self.stack is not None and not self.stack.solved:
            self.app.push_screen(StoryScreen("Conflict", telling.conflict(self.stack)))

    # choices

    @on(OptionList.OptionSelected, "#ways")
    def _chosen_way(self) -> None:
        self.action_alternative()

    def action_alternative(self) -> None:
        """Apply the highlighted way out of a conflict."""
        ways = self.query_one("#ways", OptionList)
        if self.stack is None or not self.stack.alternatives or not ways.display:
            self.notify("There is no conflict to resolve", severity="warning")
            return
        chosen = self.stack.alternatives[ways.highlighted or 0]
        for change in chosen.change:
            self.form = with_change(self.form, change)
        self._write_form()
        self.query_one(Table).focus()
        self._ask()

    def _write_form(self) -> None:
        for field in self.query(Field):
            name = "target" if field.input.id == "search" else field.input.id or ""
            field.input.value = getattr(self.form, name)
        self._choices()

    def _choices(self) -> None:
        parts = [
            Content.assemble((f"{label} ", telling.MUTED), (value, "bold"), (f" {key}", "$text-accent"))
            for label, key, value in (("policy", "p", self.form.policy), ("images", "i", self.form.images))
        ]
        self.query_one("#choices", Static).update(Content("   ").join(parts))

    def action_policy(self) -> None:
        """Take the next policy."""
        place = (_POLICIES.index(self.form.policy) + 1) % len(_POLICIES)
        self.form = self.form.changed(policy=_POLICIES[place])
        self._choices()
        self._ask()

    def action_images(self) -> None:
        """Take the next choice of image families."""
        place = (_IMAGES.index(self.form.images) + 1) % len(_IMAGES)
        self.form = self.form.changed(images=_IMAGES[place])
        self._choices()
        self._ask()

    def action_compare(self) -> None:
        """Keep this stack to compare with, or stop comparing."""
        if self.base is not None:
            self.base = None
        elif self.stack is not None and self.stack.solved:
            self.base = self.stack
            self.notify("Kept. Change something: the next stacks are shown beside it.")
        if self.stack is not None and self.stack.solved:
            self._fill(self.query_one(Table), self.stack)

    def action_export(self) -> None:
        """Save the stack in some form."""
        from stackcheck_tui.screens.export import ExportScreen

        if self.wrong:
            self.notify(f"Mend the fields first: {self.wrong}", severity="warning", markup=False)
            return
        if self.stack is None or not self.stack.solved:
            self.notify("There is no stack to save", severity="warning")
            return
        self.app.push_screen(ExportScreen(self.stack))

    def visit(self, subject: Any) -> None:
        """Show a form."""
        if isinstance(subject, Form):
            self.form = subject
            self._write_form()
            self._ask()

    def place(self) -> Any:
        """Return the form."""
        return self.form

    def copyable(self) -> str:
        """Return the pin, or the conflict, as text."""
        pin = self._pin()
        if pin is not None:
            return f"{pin.component}=={pin.version}"
        return telling.conflict(self.stack).plain if self.stack is not None and self.stack.conflict else ""

    def sources(self) -> tuple[str, ...]:
        """Return the sources of pin or conflict."""
        pin = self._pin()
        if pin is not None:
            return telling.all_sources(self.explained) if self.explained else pin.sources
        return self.stack.conflict.sources if self.stack is not None and self.stack.conflict else ()


def _where(stack: Stack) -> str:
    """Return what the stack is for: 8 of which GPU, in which instance."""
    target = stack.target
    count = f"{target.gpu_count} {telling.TIMES} " if target.gpu_count else ""
    return f"{count}{target.gpu_name}{f' · {target.instance}' if target.instance else ''}"


def _because(pin: Pin | None) -> str:
    """Return the shortest reason of a pin: what holds it back, what is to know about it, or why it is there."""
    if pin is None:
        return "not in this stack"
    held = next((h for h in pin.held_back if h.because), None)
    if held is not None:
        return f"not {held.version}: {held.because[0]}"
    return next(iter((*pin.caveats, *pin.why)), "")
