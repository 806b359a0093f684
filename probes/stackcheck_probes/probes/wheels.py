"""Files of wheels: two wheels that own the same file, and files that are not what the wheel installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stackcheck_probes import dists
from stackcheck_probes.ahead import Unit
from stackcheck_probes.dists import Distribution
from stackcheck_probes.interface import AbsentError, RefusedError
from stackcheck_probes.look import Look
from stackcheck_probes.probes import packages

SHOWN = 20
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
    return {"files_owned_twice": _twice(look, one)[:SHOWN], "files_changed": _changed(look, one)[:SHOWN]}


def _twice(look: Look, one: packages.Installed) -> list[str]:
    twice: dict[tuple[str, str], list[str]] = {}
    by_site: dict[str, dict[str, str]] = {}
    for distribution in one.distributions:
        owners = by_site.setdefault(distribution.site, {})
        text = packages.record(look, distribution)
        paths = dists.recorded_paths(text)
        common = paths & owners.keys()
        if common:
            _compare(look, one, distribution, common, owners, twice)
        owners.update(dict.fromkeys(paths - common, distribution.path))
    return [f"{a} and {b}: {paths[0]}" + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
            for (a, b), paths in sorted(twice.items())]  # fmt: skip


def _compare(
    look: Look,
    one: packages.Installed,
    distribution: Distribution,
    common: set[str],
    owners: dict[str, str],
    twice: dict[tuple[str, str], list[str]],
) -> None:
    """Note the paths that another distribution owns too, if the two recorded different contents."""
    named = {other.path: other for other in one.distributions}
    mine = _digests(look, distribution)
    for path in sorted(common):
        other = named[owners[path]]
        absolute = f"{distribution.site}/{path}"
        theirs = _digests(look, other).get(absolute)
        own = mine.get(absolute)
        if own and theirs and own != theirs and "/bin/" not in absolute and not _is_aside(path):
            twice.setdefault((other.name, distribution.name), []).append(absolute)


def _is_aside(path: str) -> bool:
    return path.endswith(_HARMLESS) or (path.startswith(_ASIDE) and not packages.is_native(path))


def _digests(look: Look, distribution: Distribution) -> dict[str, str]:
    """Return path -> digest of a distribution's files."""

    def read() -> dict[str, str]:
        return {
            item.path: item.digest
            for item in dists.recorded(distribution, packages.record(look, distribution))
        }

    return look.shared.once(f"digests:{distribution.path}", read)


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
            changed.append(f"{path}: missing ({owners[0][0].name})")
            continue
        except RefusedError:
            continue  # it is there; that it may not be read is told where it would be read
        if size not in expected:
            changed.append(f"{path}: {size} bytes, recorded {min(expected)} ({owners[0][0].name})")
    return sorted(changed)
