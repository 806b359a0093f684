"""What widgets, workers and screens tell each other; every event is one small message."""

from __future__ import annotations

from typing import Any

from textual.message import Message

from stackcheck.model.errors import StackcheckError


class Answered(Message):
    """A worker has an answer; `generation` tells whether anybody still waits for it."""

    def __init__(self, topic: str, generation: int, value: Any) -> None:
        super().__init__()
        self.topic = topic
        self.generation = generation
        self.value = value


class Failed(Message):
    """A worker ended in a fault that a person can act on."""

    def __init__(self, topic: str, generation: int, error: StackcheckError) -> None:
        super().__init__()
        self.topic = topic
        self.generation = generation
        self.error = error


class Progressed(Message):
    """A slow worker is at this step."""

    def __init__(self, topic: str, generation: int, text: str) -> None:
        super().__init__()
        self.topic = topic
        self.generation = generation
        self.text = text


class CellMoved(Message):
    """The cursor of a grid stands on another cell."""

    def __init__(self, row: int, column: int) -> None:
        super().__init__()
        self.row = row
        self.column = column


class CellOpened(Message):
    """Somebody wants to know more about a cell."""

    def __init__(self, row: int, column: int) -> None:
        super().__init__()
        self.row = row
        self.column = column


class TabChosen(Message):
    """A tab of the top bar was clicked."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.page = page


class BackChosen(Message):
    """The way back in the breadcrumbs was clicked."""
