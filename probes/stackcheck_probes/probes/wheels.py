"""Files of wheels: two wheels that own the same file, and files that are not what the wheel installed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from stackcheck_probes import dists
from stackcheck_probes.ahead import Unit
from stackcheck_probes.dists import Distribution, RecordedFile
from stackcheck_probes.interface import AbsentError, HostError, RefusedError
from stackcheck_probes.look import Look
from stackcheck_probes.probes import packages

SHOWN = 20
SIZES = 200  # files of a pair of wheels that are looked at
Twice = list[tuple[RecordedFile, RecordedFile]]
# What packages leave in the common directory by mistake and nobody imports at run time.
_HARMLESS = (
    "__init__.py",
    "LICENSE",
    "README.md",
    "py.typed",
    "conftest.py",
    "setup.py",
    "build_backend.py",
    "CHANGELOG.md",
)
_ASIDE = (
    "test/",
    "tests/",
    "testing/",
    "doc/",
    "docs/",
    "example/",
    "examples/",
    "benchmark/",
    "benchmarks/",
    "scripts/",
    "tools/",
)


_COMPARED = "wheels"
"""The key under which what the RECORD files tell is shared."""


def wheels(look: Look) -> None:
    """Look at the RECORD files of the active environment."""
    one = packages.active(look)
    if one is not None:
        for fact, told in look.shared.ahead(_COMPARED, lambda: _compared(look, one)).items():
            look.fact(fact, told, one.environment.prefix, "dist-info")


def ahead(look: Look) -> Iterator[Unit]:
    """Yield the comparison of the RECORD files."""
    one = packages.active(look)
    if one is not None:
        yield _COMPARED, lambda: _compared(look, one)


def _compared(look: Look, one: packages.Installed) -> dict[str, Any]:
    """Return the facts that the RECORD files of an environment tell."""
    twice = _twice(look, one)
    told = [f"{a} and {b}: {items[0][0].path}" + (f" and {len(items) - 1} more" if len(items) > 1 else "")
            for (a, b), items in sorted(twice.items())]  # fmt: skip
    mixed = [text for pair, items in sorted(twice.items()) for text in [_mixture(look, pair, items)] if text]
    return {
        "files_owned_twice": told[:SHOWN],
        "files_mixed": mixed[:SHOWN],
        "files_changed": _changed(look, one)[:SHOWN],
    }


def _mixture(look: Look, pair: tuple[str, str], items: Twice) -> str:
    """Return which of two wheels won the files that both own, if each won some: their parts do not fit each other then.

    Told by size, where the two recorded different ones.
    """
    won = [0, 0]
    telling = [
        both for both in items if None not in (both[0].size, both[1].size) and both[0].size != both[1].size
    ]
    for both in telling[:SIZES]:
        with contextlib.suppress(HostError):
            size = look.host.files.size(both[0].path)
            for index, one in enumerate(both):
                won[index] += size == one.size
    return f"{won[0]} files of {pair[0]}, {won[1]} of {pair[1]}" if all(won) else ""


def _twice(look: Look, one: packages.Installed) -> dict[tuple[str, str], Twice]:
    """Return, for two distributions by name, the files both of them own with different contents, as each recorded them."""
    twice: dict[tuple[str, str], Twice] = {}
    by_site: dict[str, dict[str, str]] = {}
    for distribution in one.distributions:
        owners = by_site.setdefault(distribution.site, {})
        text = packages.record(look, distribution)
        paths = dists.recorded_paths(text)
        common = paths & owners.keys()
        if common:
            _compare(look, one, distribution, common, owners, twice)
        owners.update(dict.fromkeys(paths - common, distribution.path))
    return twice


def _compare(
    look: Look,
    one: packages.Installed,
    distribution: Distribution,
    common: set[str],
    owners: dict[str, str],
    twice: dict[tuple[str, str], Twice],
) -> None:
    """Note the files that another distribution owns too, if the two recorded different contents."""
    named = {other.path: other for other in one.distributions}
    if _of_the_system(look, distribution):
        return
    mine = _files(look, distribution)
    for path in sorted(common):
        other = named[owners[path]]
        if _of_the_system(look, other):
            continue
        absolute = f"{distribution.site}/{path}"
        theirs, own = _files(look, other).get(absolute), mine.get(absolute)
        if theirs is None or own is None or "" in (own.digest, theirs.digest) or own.digest == theirs.digest:
            continue
        if "/bin/" not in absolute and not _is_aside(path):
            twice.setdefault((other.name, distribution.name), []).append((theirs, own))


def _of_the_system(look: Look, distribution: Distribution) -> bool:
    return look.shared.once(
        f"system:{distribution.path}", lambda: dists.is_of_the_system(look.host.files, distribution)
    )


def _is_aside(path: str) -> bool:
    return path.endswith(_HARMLESS) or (path.startswith(_ASIDE) and not packages.is_native(path))


def _files(look: Look, distribution: Distribution) -> dict[str, RecordedFile]:
    """Return a distribution's files by path, as it recorded them."""

    def read() -> dict[str, RecordedFile]:
        return {item.path: item for item in dists.recorded(distribution, packages.record(look, distribution))}

    return look.shared.once(f"files:{distribution.path}", read)


def _changed(look: Look, one: packages.Installed) -> list[str]:
    """Native libraries whose size is not the recorded one, or that are gone. Digests would mean reading gigabytes."""
    changed = []
    for path, owners in packages.owned_files(look, one).items():
        expected = {item.size for _distribution, item in owners if item.size is not None}
        if not expected:
            continue
        try:
            size = look.host.files.size(path)
        except AbsentError:
            if not _of_the_system(look, owners[0][0]):
                changed.append(f"{path}: missing ({owners[0][0].name})")
            continue
        except RefusedError:
            continue  # it is there; that it may not be read is told where it would be read
        if size not in expected and not _of_the_system(look, owners[0][0]):
            changed.append(f"{path}: {size} bytes, recorded {min(expected)} ({owners[0][0].name})")
    return sorted(changed)
