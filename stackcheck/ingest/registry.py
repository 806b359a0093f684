"""All formats, the most specific first: the one list behind `--format`, help texts and the order of parsing."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.interface import Context, SourceText
from stackcheck.model.inventory import Inventory


class FormatModule(Protocol):
    """What a module in `formats/` holds; `interface.py` tells how to write one."""

    def sniff(self, text: str) -> float:
        """Return how sure it is, 0 to 1, that `text` holds this format."""
        ...

    def read(self, draft: Draft) -> None:
        """Read the open lines of `draft.source` into the draft."""
        ...


@dataclass(frozen=True, slots=True)
class Format:
    """A format and where its ingester lives; an `Ingester` that imports its module when a text holds one of the anchors.

    `whole` formats are documents (JSON, XML, TOML) that need every line; the others read line by line and may see a long,
    repetitive log in shortened form.
    """

    format: str
    title: str
    module: str
    anchors: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Endings of file names that hint at the format when no anchor occurs."""
    commands: tuple[str, ...] = ()
    """Words of a command whose output is of this format when no anchor occurs."""
    whole: bool = False

    def _load(self) -> FormatModule:
        return cast("FormatModule", import_module(f"stackcheck.ingest.formats.{self.module}"))

    def hinted(self, text: str, name: str, command: str) -> bool:
        """Whether it is worth importing the module for this text."""
        return any(a in text for a in self.anchors) or self._expected(name, command)

    def _expected(self, name: str, command: str) -> bool:
        return (bool(self.names) and name.lower().endswith(self.names)) or (
            bool(command) and any(c in command for c in self.commands)
        )

    def sniff(self, text: str, name: str, command: str = "") -> float:
        """Return how sure it is, 0 to 1, that `text` from file `name`, printed by `command`, holds this format."""
        return max(self._load().sniff(text), 0.3 if self._expected(name, command) else 0.0)

    def parse(self, source: SourceText, context: Context) -> Inventory:
        """Return what the lines say; see `Ingester.parse`."""
        draft = Draft(source, context)
        self._load().read(draft)
        return draft.inventory()


INGESTERS: tuple[Format, ...] = (
    Format("inventory-json", "inventory JSON", "inventory_document", ("stackcheck.inventory",), whole=True),
    Format("nccl-log", "NCCL log", "nccl_log", ("NCCL ", "NET/", "TUNER/", "nccl==", "libfabric:", "bus bandwidth")),
    Format("collect-env", "collect_env of PyTorch, vLLM or SGLang", "collect_env",
           ("PyTorch", "Nvidia driver version", "[pip3] ", "[conda] ", "CUDA runtime version", "CUDA Driver Version")),
    Format("nvidia-smi", "nvidia-smi", "nvidia_smi_table",
           ("NVIDIA-SMI", "Driver Version", "GPU 0: ", "UUID: GPU-", "NVML library version", "MIG "), commands=("nvidia-smi",)),
    Format("efa-packages", "EFA installer package list", "efa_packages", ("EFA installer version",),
           names=("efa_installed_packages",), commands=("efa_installed_packages",)),
    Format("pip-freeze", "pip freeze", "pip_freeze", ("==", " @ ")),
    Format("env", "environment variables", "env", ("=", "setenv ")),
)  # fmt: skip
"""In order of precedence: a line belongs to the first format that takes it."""


def find(format_id: str) -> Format | None:
    """Return the format of this id, or None."""
    return next((f for f in INGESTERS if f.format == format_id), None)
