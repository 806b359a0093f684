"""The bottom line: the keys that do something here, made from the bindings in force. A click does what the key does."""

from __future__ import annotations

from textual.binding import Binding
from textual.content import Content
from textual.events import Click
from textual.screen import Screen
from textual.widget import Widget

from stackcheck_tui.actions import spare


class KeyBar(Widget):
    """One line of keys, always those of the screen and of what has the focus."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[Binding, ...] = ()

    def on_mount(self) -> None:
        """Follow the bindings of the screen."""
        self.screen.bindings_updated_signal.subscribe(self, self._changed)
        self._changed(self.screen)

    def _changed(self, screen: Screen[object]) -> None:
        shown = tuple(b.binding for b in screen.active_bindings.values() if b.binding.show and b.enabled)
        if shown != self._shown:
            self._shown = shown
            self.refresh()

    def _labels(self) -> list[tuple[Binding, Content]]:
        """Return the keys that there is room for, in order; what is left out stands in the help."""
        labels = [
            (
                b,
                Content.assemble(
                    (f" {self.app.get_key_display(b)}", "bold $text-accent"), f" {b.description} "
                ),
            )
            for b in self._shown
        ]
        room = self.size.width - sum(len(label.plain) for _, label in labels)
        givers = sorted(range(len(labels)), key=lambda i: (_spare(labels[i][0]), i), reverse=True)
        gone: set[int] = set()
        for place in givers:
            if room < 0:
                gone.add(place)
                room += len(labels[place][1].plain)
        return [one for place, one in enumerate(labels) if place not in gone]

    def render(self) -> Content:
        """Return the line."""
        return Content("").join(label for _, label in self._labels())

    def on_click(self, event: Click) -> None:
        """Do what the key under the mouse does."""
        event.stop()
        left = 0
        for binding, label in self._labels():
            left += len(label.plain)
            if event.x < left:
                self.app.simulate_key(binding.key)
                return


def _spare(binding: Binding) -> int:
    return spare(binding.key, binding.action)
