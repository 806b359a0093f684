"""Faults that end in one line: what, where, why, what to do.

StackcheckError
├── UsageError         wrong flags, unknown names (exit 2)
├── InputError         a file or text that cannot be used (exit 2)
│   └── MatrixError    a matrix or overlay that breaks its schema or refers to nothing (exit 2)
└── InternalError      a fault of our own (exit 3)
"""

from __future__ import annotations


class StackcheckError(Exception):
    """A fault a person can act on; `str()` is the one line shown to them."""

    exit_code = 2
    usual_fix = ""
    """What to do about faults of this kind where nobody said anything better."""

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        self.what = what
        self.where = where
        self.fix = fix
        super().__init__(what, where, fix)

    def __str__(self) -> str:
        line = f"{self.where}: {self.what}" if self.where else self.what
        return f"{line}; {self.fix}" if self.fix else line

    @property
    def last_words(self) -> str:
        """The line that ends a run: with the usual thing to do where the fault names none."""
        return str(self) if self.fix or not self.usual_fix else f"{self}; {self.usual_fix}"


class UsageError(StackcheckError):
    """The command line asks for something that does not exist or does not fit together."""


class InputError(StackcheckError):
    """A file or text cannot be read or understood at all."""

    usual_fix = "check the path and what lies there"


class MatrixError(InputError):
    """A matrix or overlay breaks its schema, or refers to something that is not there."""

    usual_fix = "see docs/adding-facts.md"


class InternalError(StackcheckError):
    """Our own fault; worth a report."""

    exit_code = 3
