"""GPU code and where it runs: compute capabilities, cubins and PTX.

Rules (NVIDIA's Blackwell compatibility guide, https://docs.nvidia.com/cuda/blackwell-compatibility-guide/, and the CUDA
programming guide's section on family- and architecture-specific features): a cubin `sm_XY` runs on the same major and an equal or
higher minor capability; `sm_XYa` on exactly X.Y; `sm_XYf` on X.Y and later minors of that family; PTX `compute_XY` is
compiled by the driver for any equal or higher capability, `compute_XYa` for exactly its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_TARGET = re.compile(r"(sm|compute)_(\d{1,2})(\d)([af]?)\Z", re.ASCII)


class Capability(NamedTuple):
    """A compute capability: (10, 3) of a B300."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> Capability:
        """Return the capability of "10.3".

        Raises:
            ValueError: not of the form MAJOR.MINOR.
        """
        major, dot, minor = text.strip().partition(".")
        if not dot or not major.isdigit() or not minor.isdigit():
            msg = f"not a compute capability: {text[:40]!r} (write for example 9.0)"
            raise ValueError(msg)
        return cls(int(major), int(minor))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


class Target(NamedTuple):
    """What a piece of GPU code was compiled for: `sm_90a`, `compute_100`."""

    is_ptx: bool
    capability: Capability
    suffix: str

    @classmethod
    def parse(cls, text: str) -> Target:
        """Return the target named `sm_XY[af]` or `compute_XY[af]`.

        Raises:
            ValueError: it has another form.
        """
        match = _TARGET.match(text.strip())
        if match is None:
            msg = f"not a GPU code target: {text[:40]!r} (write for example sm_90a or compute_90)"
            raise ValueError(msg)
        return cls(match[1] == "compute", Capability(int(match[2]), int(match[3])), match[4])

    def runs_natively_on(self, gpu: Capability) -> bool:
        """Whether this is a cubin that runs on `gpu` as it is."""
        return not self.is_ptx and self._reaches(gpu)

    def can_be_compiled_for(self, gpu: Capability) -> bool:
        """Whether this is PTX that the driver may compile for `gpu`."""
        if not self.is_ptx:
            return False
        return self._reaches(gpu) if self.suffix else gpu >= self.capability

    def _reaches(self, gpu: Capability) -> bool:
        if self.suffix == "a":
            return gpu == self.capability
        return gpu.major == self.capability.major and gpu.minor >= self.capability.minor

    def __str__(self) -> str:
        return f"{'compute' if self.is_ptx else 'sm'}_{self.capability.major}{self.capability.minor}{self.suffix}"


def covers_natively(targets: Iterable[Target], gpu: Capability) -> bool:
    """Whether some cubin among `targets` runs on `gpu` without compilation."""
    return any(t.runs_natively_on(gpu) for t in targets)


def covers(targets: Iterable[Target], gpu: Capability) -> bool:
    """Whether some code among `targets` runs on `gpu`, natively or compiled from PTX by the driver."""
    return any(t.runs_natively_on(gpu) or t.can_be_compiled_for(gpu) for t in targets)
