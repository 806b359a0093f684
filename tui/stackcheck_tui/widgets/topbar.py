"""The top two lines: the six screens as tabs, and below them the breadcrumbs. One widget, since it is part of the first paint."""

from __future__ import annotations

from textual.content import Content
from textual.events import Click
from textual.widget import Widget

from stackcheck_tui.actions import PAGES
from stackcheck_tui.messages import BackChosen, TabChosen

STEP = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"
_NARROW = 100  # columns below which the name and the version of the data give way
_LONGEST = 80  # characters of one step of the path


class TopBar(Widget):
    """Name, tabs, version of the data, and the path to what is shown."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.page = page
        self.version = ""
        """The version of the data, once it is open."""
        self._path = Content()

    def crumbs(self, parts: tuple[str, ...], *, back: bool) -> None:
        """Show the path to what is shown."""
        from stackcheck.report.style import visible  # the first paint has no path yet

        arrow = Content.styled("← " if back else "  ", "$text-accent")
        steps = [
            Content.styled(visible(p, _LONGEST), "bold" if p is parts[-1] else "$foreground-muted")
            for p in parts
        ]
        self._path = arrow + Content.styled(f" {STEP} ", "$foreground-muted").join(steps)
        self.refresh()

    def _tabs(self) -> list[tuple[str, Content]]:
        """Return the tabs with the screen that each leads to; the name of the program leads nowhere."""
        roomy = self.size.width >= _NARROW
        tabs = [("", Content.styled(" stackcheck ", "bold $text-primary"))] if roomy else []
        for number, page in enumerate(PAGES, 1):
            here = page == self.page
            label = Content.assemble(
                (f" {number} ", "$text-accent"),
                (f"{page.capitalize()} ", "bold" if here else "$foreground-muted"),
            )
            tabs.append((page, label.stylize("on $panel") if here else label))
        return tabs

    def render(self) -> Content:
        """Return both lines."""
        line = Content("").join([t for _, t in self._tabs()])
        version = f"matrices {self.version} " if self.version else ""
        room = self.size.width - len(line.plain) - len(version)
        if self.size.width >= _NARROW and room > 0:
            line = Content.assemble(line, " " * room, (version, "$foreground-disabled"))
        return Content.assemble(line, "\n", self._path)

    def on_click(self, event: Click) -> None:
        """Go to the tab under the mouse, or back."""
        event.stop()
        if event.y > 0:
            self.post_message(BackChosen())
            return
        left = 0
        for page, label in self._tabs():
            left += len(label.plain)
            if event.x < left:
                if page:
                    self.post_message(TabChosen(page))
                return
