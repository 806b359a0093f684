"""Every action: its keys, its name, what it does and where. Bindings, help, command palette and docs/tui.md are made from this table."""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding, BindingType

PAGES = ("matrix", "resolve", "images", "components", "node", "advisories")
"""The screens, in the order of their tabs and number keys."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a person can do: `method` is the name of the action method, `page` where it is known (empty: everywhere)."""

    method: str
    keys: str
    title: str
    help: str
    page: str = ""
    footer: bool = False
    spare: int = 0
    """Which of the footer's keys give way first where there is no room for all: those with the highest number."""

    @property
    def shown_keys(self) -> str:
        """The keys as a person reads them."""
        return " or ".join(_NAMES.get(k, k) for k in self.keys.split(","))


_NAMES = {
    "question_mark": "?",
    "slash": "/",
    "escape": "esc",
    "enter": "enter",
    "space": "space",
    "ctrl+p": "ctrl+p",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
}

ACTIONS: tuple[Action, ...] = (
    *(
        Action(f"go('{page}')", str(number), page.capitalize(), f"Go to {page.capitalize()}")
        for number, page in enumerate(PAGES, 1)
    ),
    Action(
        "leave",
        "escape",
        "Back",
        "Close what is open, leave a field, or go back to the place before",
        footer=True,
        spare=3,
    ),
    Action(
        "search",
        "slash",
        "Field",
        "Go to the first field of this screen; tab goes on to the next",
        footer=True,
        spare=1,
    ),
    Action("copy", "y", "Copy", "Copy what the cursor is on to the clipboard (also over SSH, by OSC 52)"),
    Action("open_source", "o", "Source", "Open the first source of what is shown, or copy its address"),
    Action("help", "question_mark", "Help", "All keys", footer=True, spare=-1),
    Action(
        "command_palette",
        "ctrl+p",
        "Commands",
        "Find any action, screen or theme, GPU, instance type, component or image by name",
    ),
    Action("next_theme", "T", "Theme", "Next colour theme"),
    Action("quit", "q", "Quit", "Leave", footer=True, spare=-1),
    # matrix
    Action(
        "open", "enter", "Facts", "Show the facts behind the cell, with their sources", "matrix", footer=True
    ),
    Action("axis('rows')", "r", "Rows", "Choose what stands in the rows", "matrix", footer=True),
    Action("axis('columns')", "c", "Columns", "Choose what stands in the columns", "matrix", footer=True),
    Action("swap", "x", "Swap", "Exchange rows and columns", "matrix", footer=True, spare=4),
    Action("context", "g", "GPU", "Choose a GPU on which all of it runs, or none", "matrix"),
    Action(
        "fold",
        "f",
        "Fold",
        "Show the newest release of each series only, or all",
        "matrix",
        footer=True,
        spare=2,
    ),
    Action("order", "s", "Sort", "Sort rows: newest, oldest, best in this column, most supported", "matrix"),
    Action("zoom", "z", "Zoom", "Narrow or wide columns", "matrix"),
    Action("preset", "p", "Pictures", "Choose one of the pictures people ask for most", "matrix"),
    # resolve
    Action("why", "enter", "Why", "Why this version, and why not a newer one", "resolve", footer=True),
    Action(
        "alternative",
        "a",
        "Apply way out",
        "Apply the highlighted way out of a conflict",
        "resolve",
        footer=True,
    ),
    Action(
        "compare",
        "c",
        "Compare",
        "Keep this stack to compare the next ones with, or stop comparing",
        "resolve",
        footer=True,
    ),
    Action(
        "export", "w", "Save", "Save as lock, Dockerfile, constraints and other forms", "resolve", footer=True
    ),
    Action("policy", "p", "Policy", "Next policy: newest, tested, stable", "resolve"),
    Action("images", "i", "Images", "Next choice of image families", "resolve"),
    # images
    Action(
        "mark", "space", "Mark", "Mark an image; two marked images can be compared", "images", footer=True
    ),
    Action("differ", "d", "Diff", "Compare the two marked images", "images", footer=True),
    Action("family", "f", "Family", "Next image family", "images", footer=True),
    Action("take", "enter", "Contents", "Show everything about the image", "images"),
    # components
    Action("relations", "enter", "Graph", "Show the graph around the component", "components", footer=True),
    Action("picture", "m", "Matrix", "Show its releases against the GPUs", "components", footer=True),
    # node
    Action("open_files", "f", "Files", "Open inventories, texts or a capture directory", "node", footer=True),
    Action("paste", "p", "Paste", "Paste a text: collect_env, pip freeze, a log", "node", footer=True),
    Action("probe", "b", "Probe", "Look at this machine", "node", footer=True),
    Action(
        "try_remedy",
        "space",
        "What if",
        "Apply the highlighted remedy as an experiment, or take it back",
        "node",
        footer=True,
    ),
    Action("reset", "0", "Reset", "Take back all remedies", "node"),
    # advisories
    Action("scope", "f", "Scope", "Show advisories, rules or both", "advisories", footer=True),
)


FIELDS: dict[str, tuple[tuple[str, str], ...]] = {
    "matrix": (
        ("2.9", "part of a row's name"),
        ("col:b200", "part of a column's name"),
        ("col:=b300", "the whole name, so gb300 is left out; quotes do the same"),
        ("is:broken", "rows with that grade in the cursor's column"),
    ),
    "images": (
        ("550", "on driver: a version, or a branch for its newest release"),
        ("torch>=2.9 vllm", "holds: requirements, and parts of a name or purpose"),
    ),
}
"""By screen: what can be typed into its fields, and what it means; all words have to hold."""


def bindings(page: str = "") -> list[BindingType]:
    """Return the key bindings of a screen, or those that hold everywhere."""
    return [
        Binding(a.keys, a.method, a.title, show=a.footer, tooltip=a.help, key_display=a.shown_keys)
        for a in ACTIONS
        if a.page == page
    ]


def spare(key: str, method: str) -> int:
    """Return how soon a key gives way in the footer: the higher the sooner."""
    return next((a.spare for a in ACTIONS if a.method == method and key in a.keys.split(",")), 0)


def known_on(page: str) -> tuple[Action, ...]:
    """Return the actions known on a screen, its own first."""
    own = tuple(a for a in ACTIONS if a.page == page and page)
    return own + tuple(a for a in ACTIONS if not a.page)


def markdown() -> str:
    """Return the table of keys for docs/tui.md."""
    lines: list[str] = []
    for page in ("", *PAGES):
        lines += [f"### {page.capitalize() or 'Everywhere'}", "", "| key | action | |", "| --- | --- | --- |"]
        lines += [f"| `{a.shown_keys}` | {a.title} | {a.help} |" for a in ACTIONS if a.page == page]
        lines.append("")
    return "\n".join(lines)
