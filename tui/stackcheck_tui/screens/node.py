"""Node: read what is on a node, see what is wrong, try remedies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from textual import on
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import DataTable, OptionList, Static
from textual.widgets.option_list import Option

from stackcheck.model.finding import Finding, Report, Severity
from stackcheck.model.inventory import Inventory
from stackcheck.report.style import visible
from stackcheck.report.wording import remedy_lines
from stackcheck_tui import telling
from stackcheck_tui.actions import bindings
from stackcheck_tui.desk import Verdict
from stackcheck_tui.screens.page import Page
from stackcheck_tui.screens.story import StoryScreen
from stackcheck_tui.widgets.panel import Panel
from stackcheck_tui.widgets.table import Table

Trial = tuple[str, int]
"""A finding's id and the place of one of its remedies."""


class NodePage(Page):
    """Findings worst first, the evidence of one, its remedies, and what would be if they were applied."""

    PAGE = "node"
    HAS_FIELD = False
    CSS_PATH = ["../styles/lists.tcss", "../styles/node.tcss"]  # noqa: RUF012 - Textual declares it so
    BINDINGS = bindings("node")

    def __init__(self) -> None:
        super().__init__()
        self.inventory: Inventory | None = None
        self.verdict: Verdict | None = None
        self.trials: dict[Trial, Mapping[str, Any]] = {}
        self.rows: tuple[tuple[Finding, bool], ...] = ()
        """Findings shown, and whether each is gone in the experiment."""

    def body(self) -> Iterable[Widget]:
        """Build the screen."""
        with Vertical(id="top"):
            yield Static(id="summary")
            yield Static(id="fault", markup=False)
        yield Table(id="findings", header=False, enter="Finding")
        with Vertical(id="right"):
            yield Panel("Finding", id="finding")
            yield OptionList(id="remedies", compact=True)

    def on_mount(self) -> None:
        """Read what the command line named."""
        self.query_one("#fault").display = False
        table = self.query_one(Table)
        table.border_title = "Findings"
        table.lay_columns((("", 1), ("finding", 0)))
        table.focus()
        self.query_one(OptionList).border_title = "Remedies · space tries one · y copies"
        if self.stackcheck.inventory is not None:
            self._judge(self.stackcheck.inventory)
        elif self.stackcheck.files:
            self._read(self.stackcheck.files)
        else:
            self._invite()

    def _invite(self) -> None:
        keys = (
            ("f", "open files or a captured directory"),
            ("p", "paste a text: collect_env, pip freeze, an NCCL log"),
            ("b", "look at this very machine"),
        )
        told = [Content("Nothing is opened yet."), Content()]
        told += [Content.assemble((f"  {k}  ", "bold $text-accent"), t) for k, t in keys]
        self.query_one("#finding", Panel).show(telling.lines(told), "Begin")
        self.query_one(OptionList).add_class("-none")

    def home(self) -> None:
        """Focus the findings."""
        self.query_one(Table).focus()

    def crumbs(self) -> tuple[str, ...]:
        """Return the path to the finding."""
        subject = (visible(self.inventory.subject, 40),) if self.inventory and self.inventory.subject else ()
        finding = self._finding()
        return ("Node", *subject, *((finding.id,) if finding else ()))

    # where it comes from

    def action_open_files(self) -> None:
        """Ask which files."""
        from stackcheck_tui.screens.ask import AskScreen

        def taken(text: str | None) -> None:
            if text and text.strip():
                import shlex

                try:
                    self._read(tuple(shlex.split(text)))
                except ValueError as fault:
                    self.notify(f"cannot be split: {fault}", severity="error", markup=False)

        self.app.push_screen(
            AskScreen("Open files or a captured directory", "collect_env.txt nccl.log, or a directory"), taken
        )

    def action_paste(self) -> None:
        """Ask for a text."""
        from stackcheck_tui.screens.paste import PasteScreen

        def taken(text: str | None) -> None:
            if text and text.strip():
                self._wait("reading the text")
                self.ask("inventory", lambda: self.desk.pasted(text))

        self.app.push_screen(PasteScreen(), taken)

    def action_probe(self) -> None:
        """Look at this machine."""
        self._wait("probing")
        self.ask_slowly("inventory", self.desk.probe)

    def _read(self, names: tuple[str, ...]) -> None:
        self._wait(f"reading {', '.join(names)}")
        self.ask("inventory", lambda: self.desk.read(names))

    def _wait(self, text: str) -> None:
        self.query_one("#fault").display = False
        self.query_one("#summary", Static).update(Content.styled(f"… {visible(text, 200)}", "$text-accent"))

    def progress(self, text: str) -> None:
        """Show what the probe looks at."""
        self._wait(text)

    def fault(self, topic: str, text: str) -> None:
        """Show what could not be read; what was there stays."""
        super().fault(topic, text)
        line = self.query_one("#fault", Static)
        line.display = True
        line.update(Content.styled(f"✗ {visible(text, 300)}", "$text-error"))
        if self.verdict is None:
            self.query_one("#summary", Static).update(Content())
        else:
            self.inventory = self.verdict.before.inventory
            self._summary(self.verdict)

    def answer_inventory(self, inventory: Inventory) -> None:
        """Judge what was read."""
        self._judge(inventory)

    # judging

    def _judge(self, inventory: Inventory) -> None:
        self.inventory = inventory
        self.trials = {}
        self._check()

    def _check(self) -> None:
        inventory, sets = self.inventory, tuple(self.trials.values())
        if inventory is not None:
            self._wait("checking")
            self.ask("verdict", lambda: self.desk.check(inventory, sets))

    def answer_verdict(self, verdict: Verdict) -> None:
        """Show findings, those that the experiment removes as gone, those that it brings as new."""
        here = self._finding()
        self.verdict = verdict
        after = {f.id for f in verdict.after.findings}
        before = {f.id for f in verdict.before.findings}
        gone = self._gone(verdict.before.findings, after)
        fresh = [(f, False) for f in verdict.after.findings if f.id not in before]
        self.rows = (*fresh, *((f, f.id in gone) for f in verdict.before.findings))
        table = self.query_one(Table)
        table.clear()
        for finding, is_gone in self.rows:
            look = "$foreground-disabled strike" if is_gone else ""
            sign = (
                Content.styled("✓", "$text-success")
                if is_gone
                else Content.styled(
                    telling.SEVERITY_SIGNS[finding.severity],
                    f"bold {telling.SEVERITY_STYLES[finding.severity]}",
                )
            )
            table.add_row(sign, Content.styled(visible(finding.title, 160), look))
        ids = [f.id for f, _ in self.rows]
        if here is not None and here.id in ids:
            table.move_cursor(row=ids.index(here.id), animate=False)
        self._summary(verdict)
        if not self.rows:
            self._all_well(verdict.before)
        self._show()

    @staticmethod
    def _gone(findings: tuple[Finding, ...], after: set[str]) -> set[str]:
        return {f.id for f in findings if f.id not in after}

    def _summary(self, verdict: Verdict) -> None:
        def counts(report: Report) -> Content:
            return Content("  ").join(
                Content.styled(
                    f"{telling.SEVERITY_SIGNS[s]} {report.count(s)}", f"bold {telling.SEVERITY_STYLES[s]}"
                )
                for s in Severity
            )

        inventory = verdict.before.inventory
        name = inventory.instance or inventory.gpu_model or inventory.subject or "node"
        told = Content.assemble((f" {visible(name, 40)}  ", "bold"), counts(verdict.before))
        if self.trials:
            green = verdict.after.count(Severity.ERROR) == 0
            told = Content.assemble(told, ("  what if → ", telling.MUTED), counts(verdict.after))
            told += Content.styled("  green" if green else "", "bold $text-success")
        self.query_one("#summary", Static).update(told)

    def _all_well(self, report: Report) -> None:
        seen = len(report.inventory.components)
        notes = [
            Content.styled(f"  {visible(n.source)}: {visible(n.text, 200)}", telling.MUTED)
            for n in report.inventory.notes
        ]
        told = [
            Content.styled("✓ Nothing to say against this node.", "bold $text-success"),
            Content(),
            Content(f"{seen} components were seen."),
            *notes,
        ]
        self.query_one("#finding", Panel).show(telling.lines(told), "All well")

    # one finding

    def _finding(self) -> Finding | None:
        row = self.query_one(Table).cursor_row
        return self.rows[row][0] if row < len(self.rows) else None

    @on(DataTable.RowHighlighted, "#findings")
    def _highlighted(self) -> None:
        self._show()

    def _show(self) -> None:
        finding, listing = self._finding(), self.query_one(OptionList)
        kept = listing.highlighted
        listing.clear_options()
        listing.set_class(not (finding and finding.remedy), "-none")
        if finding is not None:
            panel = self.query_one("#finding", Panel)
            panel.show(telling.finding(finding, width=max(30, panel.size.width - 4)), "Finding")
            listing.add_options(
                Option(telling.remedy(r, tried=(finding.id, i) in self.trials))
                for i, r in enumerate(finding.remedy)
            )
            if finding.remedy:
                listing.highlighted = min(kept or 0, len(finding.remedy) - 1)
        self.show_crumbs()

    @on(DataTable.RowSelected, "#findings")
    def _open(self) -> None:
        finding = self._finding()
        if finding is not None:
            told = [telling.finding(finding), Content(), telling.heading("remedies")]
            told += [telling.remedy(r, tried=False) for r in finding.remedy]
            self.app.push_screen(StoryScreen(visible(finding.title, 90), telling.lines(told)))

    # what if

    @on(OptionList.OptionSelected, "#remedies")
    def _chosen(self) -> None:
        self.action_try_remedy()

    def action_try_remedy(self) -> None:
        """Apply the highlighted remedy as an experiment, or take it back."""
        finding, listing = self._finding(), self.query_one(OptionList)
        if finding is None or listing.highlighted is None:
            return
        place = listing.highlighted
        trial, remedy = (finding.id, place), finding.remedy[place]
        if not remedy.sets:
            self.notify("This remedy changes something outside what can be checked here", severity="warning")
        elif trial in self.trials:
            del self.trials[trial]
            self._check()
        else:
            self.trials = {t: s for t, s in self.trials.items() if t[0] != finding.id} | {trial: remedy.sets}
            self._check()

    def action_reset(self) -> None:
        """Take back all remedies."""
        self.trials = {}
        self._check()

    def copyable(self) -> str:
        """Return the highlighted remedy: its command if it has one, else its words."""
        finding, listing = self._finding(), self.query_one(OptionList)
        if finding is None:
            return ""
        if not finding.remedy or listing.highlighted is None:
            return telling.finding(finding).plain
        remedy = finding.remedy[listing.highlighted]
        return remedy.run or "\n".join(line.strip() for line in remedy_lines(remedy))

    def sources(self) -> tuple[str, ...]:
        """Return the sources of the finding."""
        finding = self._finding()
        return finding.sources if finding else ()
