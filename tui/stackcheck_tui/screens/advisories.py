"""Advisories and rules: search, read, follow the sources."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from textual import on
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import DataTable, Input

from stackcheck.model.rule import Rule
from stackcheck.solver.encode import refs
from stackcheck_tui import telling
from stackcheck_tui.actions import bindings
from stackcheck_tui.rule_story import blanks, rule_story
from stackcheck_tui.screens.page import Page
from stackcheck_tui.screens.story import StoryScreen
from stackcheck_tui.widgets.panel import Panel
from stackcheck_tui.widgets.table import Table, quiet

_PAUSE = 0.1  # seconds without a key before the table is filled anew
_ROOMY = 110  # columns from which on an id has all the room it wants
_SCOPES = ("both", "advisories", "rules")


class AdvisoriesPage(Page):
    """A table of known faults and rules, and everything about one."""

    PAGE = "advisories"
    CSS_PATH = ["../styles/lists.tcss", "../styles/advisories.tcss"]  # noqa: RUF012 - Textual declares it so
    BINDINGS = bindings("advisories")

    def __init__(self) -> None:
        super().__init__()
        self.scope = "both"
        self.filter = ""
        self.all: tuple[tuple[Rule, str], ...] = ()
        """Every rule with the text in which a search looks."""
        self._rest: Timer | None = None
        self.shown: tuple[Rule, ...] = ()
        self._return_to = ""

    def body(self) -> Iterable[Widget]:
        """Build the screen."""
        with Vertical(id="left"):
            yield Input(placeholder="/ search: nccl b300 · error · NCCL_PROTO", compact=True, id="search")
            yield Table(id="rules")
        yield Panel("Advisory", id="rule")

    def on_mount(self) -> None:
        """Ask for the rules."""
        table = self.query_one(Table)
        table.lay_columns((("", 1), ("id", 34 if self.app.size.width >= _ROOMY else 20), ("what", 0)))
        table.focus()
        self.ask("rules", lambda: [(r, searched(r)) for r in self.desk.catalog.rules])

    def answer_rules(self, rules: list[tuple[Rule, str]]) -> None:
        """Show the rules."""
        self.all = tuple(sorted(rules, key=lambda r: (not r[0].is_advisory, r[0].severity.rank, r[0].id)))
        self._fill()

    def home(self) -> None:
        """Focus the table."""
        self.query_one(Table).focus()

    def crumbs(self) -> tuple[str, ...]:
        """Return the path to the rule."""
        rule = self._rule()
        return ("Advisories", *((self.filter,) if self.filter else ()), *((rule.id,) if rule else ()))

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self.filter = event.value.strip()
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(_PAUSE, self._fill)

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.home()

    def action_scope(self) -> None:
        """Show advisories, rules or both."""
        self.scope = _SCOPES[(_SCOPES.index(self.scope) + 1) % len(_SCOPES)]
        self._fill()

    def _fill(self) -> None:
        words = self.filter.lower().split()
        here = self._return_to or (self._rule().id if self._rule() else "")  # type: ignore[union-attr]
        self.shown = tuple(r for r, text in self.all if self._in_scope(r) and all(w in text for w in words))
        table = self.query_one(Table)
        table.clear()
        for rule in self.shown:
            table.add_row(
                Content.styled(telling.SEVERITY_SIGNS[rule.severity], telling.SEVERITY_STYLES[rule.severity]),
                Content.styled(rule.id, "bold" if rule.is_advisory else ""),
                quiet(blanks(rule.title)),
            )
        ids = [r.id for r in self.shown]
        if here in ids:
            table.move_cursor(row=ids.index(here), animate=False)
            self._return_to = ""
        table.border_title = {"both": "Advisories and rules", "advisories": "Advisories", "rules": "Rules"}[
            self.scope
        ]
        table.border_subtitle = f"{len(self.shown)} of {len(self.all)}"
        self._show()

    def _in_scope(self, rule: Rule) -> bool:
        return self.scope == "both" or rule.is_advisory is (self.scope == "advisories")

    def _rule(self) -> Rule | None:
        row = self.query_one(Table).cursor_row
        return self.shown[row] if row < len(self.shown) else None

    @on(DataTable.RowHighlighted)
    def _show(self) -> None:
        rule, panel = self._rule(), self.query_one(Panel)
        if rule is None:
            panel.show(Content.styled("Nothing matches.", telling.MUTED), "Advisory")
        else:
            panel.show(rule_story(rule, width=max(30, panel.size.width - 4)), rule.id)
        self.show_crumbs()

    @on(DataTable.RowSelected)
    def _open(self) -> None:
        rule = self._rule()
        if rule is not None:
            self.app.push_screen(StoryScreen(rule.id, rule_story(rule)))

    def visit(self, subject: Any) -> None:
        """Show a search and a rule."""
        text, self._return_to = subject
        self.query_one(Input).value = text
        self.filter = text
        self._fill()

    def place(self) -> Any:
        """Return search and rule."""
        rule = self._rule()
        return (self.filter, rule.id if rule else "")

    def copyable(self) -> str:
        """Return everything about the rule as text."""
        rule = self._rule()
        return rule_story(rule).plain if rule else ""

    def sources(self) -> tuple[str, ...]:
        """Return the sources of the rule."""
        rule = self._rule()
        return refs(rule.source_table, rule.sources) if rule else ()


def searched(rule: Rule) -> str:
    """Return the text in which a search looks."""
    parts = (
        rule.id,
        rule.title,
        rule.why,
        rule.symptom,
        rule.impact,
        rule.kind,
        rule.severity,
        *rule.subjects,
    )
    return " ".join((*map(str, parts), *rule.subject_names())).lower()
