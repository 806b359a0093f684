"""All commands, in the order in which help lists them. To add one: a module with `add_arguments` and `run`, and a row here."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # typing and dataclasses cost more than all else that help needs
if TYPE_CHECKING:
    import argparse
    from typing import Protocol

    class CommandModule(Protocol):
        """What a command's module offers."""

        def add_arguments(self, parser: argparse.ArgumentParser) -> None:
            """Declare the command's flags."""
            ...

        def run(self, options: argparse.Namespace) -> int:
            """Do it, and return the exit code."""
            ...


class Command:
    """One command: its name, the line that help shows, and the module that does it."""

    __slots__ = ("help", "module", "name")

    def __init__(self, name: str, help: str, module: str) -> None:  # noqa: A002 - argparse's word
        self.name = name
        self.help = help
        self.module = module

    def load(self) -> CommandModule:
        """Import the module."""
        module: CommandModule = importlib.import_module(f"stackcheck.cli.{self.module}")
        return module


COMMANDS: tuple[Command, ...] = (
    Command("resolve", "pick an image and pin every component for a GPU or instance type", "resolve"),
    Command("check", "a verdict on pasted texts, lock files and inventories of one node", "check"),
    Command("probe", "collect what is on this node, and check it", "probe"),
    Command("why", "why a component has the version it has, and why not a newer one", "why"),
    Command("explain", "what a finding id means, its cause and its remedy", "explain"),
    Command("show", "facts about a gpu, instance, component, image or advisory", "show"),
    Command("diff", "compare two locks, images or inventories", "diff"),
    Command("graph", "what requires what, as dot, mermaid or JSON", "graph"),
    Command("matrices", "status, lint, harvest, update and diff of the data", "matrices"),
    Command("tui", "explore it all in the terminal", "tui"),
    Command("completion", "print shell completion for bash, zsh or tcsh", "completion"),
)
