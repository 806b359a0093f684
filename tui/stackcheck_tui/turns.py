"""Keys one after the other: the next one waits until the last has done all it does.

A key goes to what has the focus when it comes in, and is handled later. Of keys that come in at once, as from a paste or over a slow line,
those behind a tab would land in the field before it. So they wait, until what had the focus and all that is around it has had the key.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable

from textual.app import App
from textual.dom import DOMNode
from textual.events import Event
from textual.screen import ModalScreen

_PATIENCE = (
    1.0  # seconds after which a key that is not done, since what it went to is gone, holds nobody up any more
)
_LOOKS = 50
_GLANCE = 0.01  # seconds between two looks whether what a key opened can take the next one


class Turns:
    """Hands keys to an app in their order."""

    def __init__(self, app: App[int], hand_on: Callable[[Event], Awaitable[None]]) -> None:
        self._app = app
        self._hand_on = hand_on
        self._waiting: deque[Event] = deque()
        self._turn = 0
        self._busy = False

    async def take(self, event: Event) -> None:
        """Hand a key on, or keep it until it is its turn."""
        if self._busy:
            self._waiting.append(event)
            if len(self._waiting) == 1:
                self._wait_no_longer_than(self._turn)
        else:
            await self._give(event)

    async def _give(self, event: Event) -> None:
        self._busy = True
        self._turn += 1
        turn, app = self._turn, self._app
        first: DOMNode = app.focused or app.screen
        await self._hand_on(event)
        if self._waiting:
            self._wait_no_longer_than(turn)
        await self._follow(turn, first)

    def _wait_no_longer_than(self, turn: int) -> None:
        self._app.set_timer(_PATIENCE, lambda: self._over(turn))

    async def _follow(self, turn: int, node: DOMNode | None) -> None:
        """Stand in line behind the key at everything that it passes, from what had the focus up to the app."""
        if node is None:
            # once more: an action at the very end may have asked the app for another focus
            self._app.call_later(self._app.call_later, self._settle, turn, 0)
        elif not node.call_later(self._follow, turn, node.parent):
            await self._follow(turn, node.parent)

    async def _settle(self, turn: int, looks: int) -> None:
        if turn == self._turn and looks < _LOOKS and not self._ready():
            self._app.set_timer(_GLANCE, lambda: self._settle(turn, looks + 1))
        else:
            await self._over(turn)

    def _ready(self) -> bool:
        """Whether the screen on top can take a key: one that was just opened has no focus yet."""
        screen = self._app.screen
        return screen.is_mounted and (screen.focused is not None or not isinstance(screen, ModalScreen))

    async def _over(self, turn: int) -> None:
        if turn != self._turn or not self._busy:
            return
        self._busy = False
        if self._waiting:
            await self._give(self._waiting.popleft())
