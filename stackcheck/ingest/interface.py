"""What reads a pasted text: an ingester turns the part of a text it recognises into an `Inventory`.

How to add a format:

1. Write `formats/NAME.py` with two functions, `sniff(text: str) -> float` and `read(draft: Draft) -> None`. `Format` in
   `registry.py` makes an `Ingester` of them.
2. `sniff` answers quickly (substring tests first); 0 means "not mine", and then `read` is not called.
3. `read` walks `draft.source.open()` (lines no earlier format has used) and says what it finds through the draft. The draft
   claims each line it is given, so that a line is used once and the rest can be reported as not understood.
4. Never trust the text: patterns must be linear, nothing is evaluated, no file is opened, no exception but `InputError` leaves.
5. Add one `Format` record to the tuple in `registry.py`, above the formats that are less specific. Its `anchors` are literal
   texts of which one occurs in every text of the format: they decide whether the module is imported at all.
6. Put a healthy and a broken sample into `tests/ingest/samples/`, and a test that says what must be read out of each.
7. New facts get a row in `docs/facts.md`; names of packages go into the matrices as aliases, never into code.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from stackcheck.ingest.patterns import Lazy
from stackcheck.model.inventory import Inventory

LINE_LIMIT = (
    8192  # characters of a line that are looked at; longer ones are minified data, not something people paste
)

_SEPARATORS = Lazy(r"[-_.\s]+")


class Line(NamedTuple):
    """One line: its number in the file (from 1) and its text without terminal codes and log prefixes."""

    number: int
    text: str


class Document(NamedTuple):
    """A JSON value inside a text, and the numbers of its first and last line."""

    value: Any
    first: int
    last: int


class SourceText:
    """A piece of one file: numbered lines, the shell command that printed them (if shown), and which lines are used up."""

    def __init__(
        self,
        name: str,
        lines: Sequence[Line],
        command: str = "",
        claimed: set[int] | None = None,
        command_at: int = 0,
    ) -> None:
        """Wrap `lines` of file `name`; `claimed` holds the line numbers that are used up, shared by all pieces of a file."""
        self.name = name
        self.lines = tuple(lines)
        self.command = command
        self.command_at = command_at
        self.claimed = set() if claimed is None else claimed
        self.touched: set[int] = set()

    @cached_property
    def text(self) -> str:
        """All lines, joined."""
        return "\n".join(line.text for line in self.lines)

    @cached_property
    def _starts(self) -> Sequence[int]:
        return [0, *accumulate(len(line.text) + 1 for line in self.lines)]

    @property
    def command_line(self) -> Line:
        """The command as a line, for evidence; only where `command` is not empty."""
        return Line(self.command_at, self.command)

    def open(self) -> Iterator[Line]:
        """Yield the lines that no format has used yet."""
        claimed = self.claimed
        return (line for line in self.lines if line.number not in claimed)

    def holding(self, words: Iterable[str]) -> list[Line]:
        """Return the lines that no format has used yet and that hold one of the words, in order."""
        found: set[int] = set()
        for word in words:
            at = self.text.find(word)
            while at >= 0:
                index = bisect_right(self._starts, at) - 1
                found.add(index)
                at = self.text.find(word, self._starts[index + 1])
        return [self.lines[i] for i in sorted(found) if self.lines[i].number not in self.claimed]

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """The JSON objects and arrays in these lines that begin a line, in order."""
        from stackcheck.ingest.documents import json_documents

        return json_documents(self.lines, self.text)

    def claim(self, number: int) -> None:
        """Mark a line as understood."""
        self.claimed.add(number)

    def touch(self, number: int) -> None:
        """Mark a line as understood in part: later formats still see it."""
        self.touched.add(number)

    def claim_range(self, first: int, last: int) -> None:
        """Mark the lines from `first` to `last`, both included, as understood."""
        self.claimed.update(line.number for line in self.lines if first <= line.number <= last)

    def claim_all(self) -> None:
        """Mark every line as understood."""
        self.claimed.update(line.number for line in self.lines)

    def where(self, number: int) -> str:
        """Return the place of a line as evidence gives it: `name:LINE`."""
        return f"{self.name}:{number}"


def normal(name: str) -> str:
    """Return a package name as aliases are keyed: lower case, `-` for `_`, `.` and blanks."""
    return _SEPARATORS.sub("-", name.strip()).lower()


class Context(NamedTuple):
    """What an ingester may know about the world: names only, given by the caller."""

    aliases: Mapping[str, str] = MappingProxyType({})
    """Normalised package or product name -> component id."""
    gpu_names: Mapping[str, str] = MappingProxyType({})
    """Lower-case GPU model name -> gpu id."""

    def component(self, name: str) -> str | None:
        """Return the component known under exactly this name."""
        return self.aliases.get(normal(name))

    def package(self, name: str) -> str | None:
        """Return the component a distribution package belongs to.

        Package names carry versions and flavours (`libcudnn9-cuda-12`, `nvidia-driver-580-server-open`, `cuda-compat-12-9`,
        `nvidia-nccl-cu13`, `libnccl-dev`): the name is tried as it is, then with these parts taken off.
        """
        return next((self.aliases[n] for n in _shorter_names(normal(name)) if n in self.aliases), None)

    def gpu(self, name: str) -> str | None:
        """Return the gpu id of a model name, if known."""
        lowered = " ".join(name.lower().split())
        for key in (lowered, lowered.removeprefix("nvidia "), f"nvidia {lowered}"):
            found = self.gpu_names.get(key) or self.gpu_names.get(key.replace(" ", "-"))
            if found:
                return found
        return None


def _shorter_names(name: str) -> Iterator[str]:
    yield name
    bare = re.sub(r"-(?:dev|devel|bin|dkms|common|runtime|libs|open|server|all)$", "", name)
    if bare != name:
        yield bare
    cut = re.sub(r"-cu\d+$", "", bare)
    if cut != bare:
        yield cut
    stem = re.split(r"-\d", bare, maxsplit=1)[0]
    if stem != bare:
        yield stem
        yield stem.removesuffix("-cuda")
        yield stem.removesuffix("-cuda").rstrip("0123456789")
    elif bare[-1:].isdigit():
        yield bare.rstrip("0123456789")


class Ingester(Protocol):
    """A format people paste."""

    @property
    def format(self) -> str:
        """Stable id of the format, as `--format` and `Text.format` name it."""
        ...

    @property
    def title(self) -> str:
        """Name of the format for people."""
        ...

    def sniff(self, text: str, name: str) -> float:
        """Return how sure it is, 0 to 1, that (part of) `text` from file `name` is of this format."""
        ...

    def parse(self, source: SourceText, context: Context) -> Inventory:
        """Return what the lines say; lines of other formats are left alone.

        Raises:
            InputError: the text declares itself as this format and cannot be used.
        """
        ...
