"""Files of wheels: two wheels that own the same file, and files that are not what the wheel installed."""

from __future__ import annotations

from stackcheck_probes import dists
from stackcheck_probes.interface import HostError
from stackcheck_probes.look import Look
from stackcheck_probes.probes import packages

SHOWN = 20
_HARMLESS = ("__init__.py", "LICENSE", "README.md", "py.typed", "conftest.py")


def wheels(look: Look) -> None:
    """Look at the RECORD files of the active environment."""
    one = packages.active(look)
    if one is None:
        return
    owners: dict[str, tuple[str, str]] = {}
    twice: dict[tuple[str, str], list[str]] = {}
    for distribution in one.distributions:
        for item in dists.record(look.host.files, distribution):
            if not item.digest or "/bin/" in item.path or item.path.endswith(_HARMLESS):
                continue
            first = owners.setdefault(item.path, (distribution.name, item.digest))
            if first[0] != distribution.name and first[1] != item.digest:
                twice.setdefault((first[0], distribution.name), []).append(item.path)
    told = [f"{a} and {b}: {paths[0]}" + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
            for (a, b), paths in sorted(twice.items())]  # fmt: skip
    look.fact("files_owned_twice", told[:SHOWN], one.environment.prefix, "dist-info")
    _changed(look, one)


def _changed(look: Look, one: packages.Installed) -> None:
    """Native libraries whose size is not the recorded one, or that are gone. Digests would mean reading gigabytes."""
    changed = []
    for path, owners in packages.owned_files(look, one).items():
        expected = {item.size for _distribution, item in owners if item.size is not None}
        if not expected:
            continue
        try:
            size = look.host.files.size(path)
        except HostError:
            changed.append(f"{path}: missing ({owners[0][0].name})")
            continue
        if size not in expected:
            changed.append(f"{path}: {size} bytes, recorded {min(expected)} ({owners[0][0].name})")
    look.fact("files_changed", sorted(changed)[:SHOWN], one.environment.prefix, "dist-info")
