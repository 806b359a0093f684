"""Versions, one order per scheme.

`pep440` follows the version specifiers specification of the Python packaging guide
(https://packaging.python.org/en/latest/specifications/version-specifiers/); `packaging` is the oracle of its tests.
It is written out here because a resolve parses some thousand versions and start-up is a feature.

`dotted` is everything else in this field: driver (580.95.05), EFA installer (1.43.3), libfabric (2.1.0amzn5.0),
plug-in (1.14.2-aws), NCCL packages (2.28.9-1), kernels (6.8.0-1021-aws), NGC tags (25.09-py3). The leading numbers
are compared as numbers, trailing zeros do not count, and the suffix orders only versions whose numbers are equal.

`named` is a name before the numbers (ubuntu-24.04, amazonlinux-2023): ordered within one name only by number, across names by name.

Versions of different schemes cannot be compared: that raises TypeError.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Literal

Scheme = Literal["pep440", "dotted", "named"]

_LONGEST = 200  # characters; nothing real comes near, and parsed text is hostile

_PRE = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_NEVER = float("inf")  # the development number of what is no development release
_BEFORE: tuple[int, int, int] = (-1, 0, 0)  # before any pre-release: a bare .devN
_AFTER: tuple[int, int, int] = (9, 0, 0)  # no pre-release: after all of them


@lru_cache(maxsize=1)
def _pep440() -> re.Pattern[str]:
    """Compiled when first needed: most versions are plain numbers, and start-up is a feature."""
    return re.compile(
        r"v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
        r"(?:[-_.]?(?P<pre>alpha|beta|preview|pre|a|b|c|rc)[-_.]?(?P<pre_n>\d*))?"
        r"(?:-(?P<post_implicit>\d+)|[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_n>\d*))?"
        r"(?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_n>\d*))?"
        r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\Z",
        re.ASCII,
    )


@lru_cache(maxsize=1)
def _dotted() -> re.Pattern[str]:
    return re.compile(r"v?(\d+(?:\.\d+)*)(.*)\Z", re.ASCII | re.DOTALL)


@lru_cache(maxsize=1)
def _named() -> re.Pattern[str]:
    return re.compile(r"([a-z][a-z_]*)[-\s]?v?(\d+(?:\.\d+)*)?(.*)\Z", re.ASCII | re.DOTALL)


@lru_cache(maxsize=1)
def _token() -> re.Pattern[str]:
    return re.compile(r"\d+|[a-z]+", re.ASCII)


def _plain_numbers(text: str) -> tuple[int, ...] | None:
    """Return the numbers of `12.8.1`, or None for anything else."""
    if not text.isascii() or not text.replace(".", "0").isdigit():
        return None
    parts = text.split(".")
    return None if "" in parts else tuple(map(int, parts))


class Version:
    """A parsed version: hashable, ordered within its scheme, printed as it was written."""

    __slots__ = ("key", "local", "public", "release", "scheme", "text")

    text: str
    scheme: Scheme
    release: tuple[int, ...]
    """The leading numbers as written, trailing zeros kept."""
    local: str
    """The local label (`cu130` of 2.9.0+cu130), or the suffix of a dotted version; empty if none."""
    key: tuple[Any, ...]
    public: tuple[Any, ...]
    """The key without local label or suffix: what a range that names none compares."""

    def __init__(self, text: str, scheme: Scheme = "dotted") -> None:
        """Parse `text`.

        Raises:
            ValueError: the text is no version of that scheme.
        """
        cleaned = text.strip().lower()
        if len(cleaned) > _LONGEST:
            msg = f"version of {len(cleaned)} characters"
            raise ValueError(msg)
        self.text = text.strip()
        self.scheme = scheme
        if scheme == "pep440":
            self._parse_pep440(cleaned)
        elif scheme == "named":
            self._parse_named(cleaned)
        else:
            self._parse_dotted(cleaned)
        self.public = self.key[:-1]

    def _parse_dotted(self, cleaned: str) -> None:
        numbers = _plain_numbers(cleaned)
        if numbers is not None:
            self.release, self.local = numbers, ""
            self.key = (_strip(numbers), ())
            return
        match = _dotted().match(cleaned)
        if match is None:
            msg = f"not a version: {self.text[:80]!r}"
            raise ValueError(msg)
        self.release = tuple(map(int, match[1].split(".")))
        self.local = match[2].lstrip("-+_.")
        tail = tuple((1, int(t), "") if t.isdigit() else (0, 0, t) for t in _token().findall(match[2]))
        self.key = (_strip(self.release), tail)

    def _parse_named(self, cleaned: str) -> None:
        match = _named().match(cleaned)
        if match is None:
            msg = f"not a name with a version: {self.text[:80]!r}"
            raise ValueError(msg)
        self.release = tuple(map(int, (match[2] or "0").split(".")))
        self.local = match[3].lstrip("-+_. ")
        self.key = ((match[1], _strip(self.release)), self.local)

    def _parse_pep440(self, cleaned: str) -> None:
        numbers = _plain_numbers(cleaned)
        if numbers is not None:
            self.release, self.local = numbers, ""
            self.key = (0, _strip(numbers), _AFTER, -1, _NEVER, ())
            return
        match = _pep440().match(cleaned)
        if match is None:
            msg = f"not a PEP 440 version: {self.text[:80]!r}"
            raise ValueError(msg)
        self.release = tuple(map(int, match["release"].split(".")))
        self.local = match["local"] or ""
        pre = (_PRE[match["pre"]], int(match["pre_n"] or 0), 0) if match["pre"] else None
        post = match["post_implicit"] or ((match["post_n"] or "0") if match["post"] else None)
        dev = (match["dev_n"] or "0") if match["dev"] else None
        if pre is None:
            pre = _BEFORE if dev is not None and post is None else _AFTER
        local = tuple(
            (1, int(p), "") if p.isdigit() else (0, 0, p) for p in re.split(r"[-_.]", self.local) if p
        )
        self.key = (
            int(match["epoch"] or 0),
            _strip(self.release),
            pre,
            -1 if post is None else int(post),
            _NEVER if dev is None else int(dev),
            local,
        )

    @property
    def major(self) -> int:
        """The first number."""
        return self.release[0]

    @property
    def minor(self) -> tuple[int, int]:
        """The first two numbers; a missing second one is 0."""
        return self.release[0], self.release[1] if len(self.release) > 1 else 0

    @property
    def is_prerelease(self) -> bool:
        """Whether PEP 440 calls it a pre-release or development release."""
        return self.scheme == "pep440" and (self.key[2] != _AFTER or self.key[4] != _NEVER)

    @property
    def is_post(self) -> bool:
        """Whether PEP 440 calls it a post-release."""
        return self.scheme == "pep440" and self.key[3] >= 0

    def _other(self, other: object) -> tuple[Any, ...]:
        if not isinstance(other, Version):
            msg = f"cannot compare a version with {type(other).__name__}"
            raise TypeError(msg)
        if other.scheme != self.scheme:
            msg = f"cannot compare {self.scheme} {self.text} with {other.scheme} {other.text}"
            raise TypeError(msg)
        return other.key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.scheme == other.scheme and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __lt__(self, other: Version) -> bool:
        return self.key < self._other(other)

    def __le__(self, other: Version) -> bool:
        return self.key <= self._other(other)

    def __gt__(self, other: Version) -> bool:
        return self.key > self._other(other)

    def __ge__(self, other: Version) -> bool:
        return self.key >= self._other(other)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Version({self.text!r}, {self.scheme!r})"


def _strip(release: tuple[int, ...]) -> tuple[int, ...]:
    """Drop trailing zeros, so that 2.4 equals 2.4.0."""
    end = len(release)
    while end > 1 and release[end - 1] == 0:
        end -= 1
    return release[:end]


def nccl_from_code(code: int) -> str:
    """Return NCCL's version for its integer code: 22703 is 2.27.3, 2708 is 2.7.8.

    Source: the NCCL_VERSION macro of nccl.h, which changed its width at 2.9.
    """
    if code < 10_000:
        return f"{code // 1000}.{code // 100 % 10}.{code % 100}"
    return f"{code // 10_000}.{code // 100 % 100}.{code % 100}"


def cudnn_from_code(code: int) -> str:
    """Return cuDNN's version for its integer code: 8902 is 8.9.2, 90100 is 9.1.0, 91002 is 9.10.2.

    Source: CUDNN_VERSION of cudnn_version.h: major * 1000 + minor * 100 + patch before 9, then major * 10000.
    """
    if code < 10_000:
        return f"{code // 1000}.{code // 100 % 10}.{code % 100}"
    return f"{code // 10_000}.{code // 100 % 100}.{code % 100}"


def cuda_from_code(code: int) -> str:
    """Return the CUDA version for its integer code: 12080 is 12.8 (CUDA_VERSION of cuda.h)."""
    return f"{code // 1000}.{code % 1000 // 10}"
