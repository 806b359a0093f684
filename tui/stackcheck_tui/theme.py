"""The app's own colour theme; all of Textual's are there besides."""

from __future__ import annotations

from textual.theme import Theme

NIGHT = Theme(
    name="stackcheck",
    primary="#7aa2c8",
    secondary="#5f87af",
    accent="#c8a86b",
    success="#7fb069",
    warning="#d9a441",
    error="#e06c6c",
    foreground="#d5dae0",
    background="#11151a",
    surface="#171c22",
    panel="#1f262e",
    dark=True,
    variables={
        "scrollbar": "#1f262e",
        "scrollbar-hover": "#3a4a59",
        "scrollbar-active": "#7aa2c8",
        "scrollbar-background": "#11151a",
        "scrollbar-background-hover": "#11151a",
        "scrollbar-background-active": "#11151a",
        "scrollbar-corner-color": "#11151a",
        "block-cursor-text-style": "bold",
        "input-selection-background": "#5f87af 40%",
    },
)
