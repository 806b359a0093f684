"""The closed sets of words: severities, kinds of finding, grades."""

from __future__ import annotations

import enum


class Severity(enum.StrEnum):
    """How much a finding matters; worst first."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Severity).index(self)


class Kind(enum.StrEnum):
    """The kinds of finding."""

    ARCH_NOT_COMPILED = "arch-not-compiled"
    DRIVER_TOO_OLD = "driver-too-old"
    ABI_MISMATCH = "abi-mismatch"
    LIBRARY_SHADOWING = "library-shadowing"
    VERSION_CONFLICT = "version-conflict"
    JIT_FALLBACK = "jit-fallback"
    SILENT_SLOWDOWN = "silent-slowdown"
    TOOLCHAIN_TOO_OLD = "toolchain-too-old"
    FABRIC = "fabric"
    CONTAINER_HOST = "container-host"
    CONFIG = "config"
    HARDWARE_HEALTH = "hardware-health"
    UNKNOWN_RELEASE = "unknown-release"


class Grade(enum.StrEnum):
    """What a pairing is worth, best first; `unknown` is computed from the absence of facts, never written down."""

    SUPPORTED = "supported"
    TESTED = "tested"
    CAVEAT = "caveat"
    DEGRADED = "degraded"
    BROKEN = "broken"
    UNKNOWN = "unknown"
