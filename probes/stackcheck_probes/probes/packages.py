"""Python environments and everything installed in them, by metadata alone."""

from __future__ import annotations

import posixpath
from typing import NamedTuple

from stackcheck_probes import dists, pyenvs
from stackcheck_probes.dists import Distribution, RecordedFile
from stackcheck_probes.interface import AbsentError, RefusedError
from stackcheck_probes.look import Look
from stackcheck_probes.pyenvs import Environment


class Installed(NamedTuple):
    """An environment with its distributions in import order (the first of a name is the one imported)."""

    environment: Environment
    distributions: tuple[Distribution, ...]


def installed(look: Look) -> list[Installed]:
    """Return every environment with what is installed in it; read once for all probes."""
    return look.shared.once("installed", lambda: _read(look))


def _read(look: Look) -> list[Installed]:
    result = []
    for environment in pyenvs.environments(look.host):
        found: list[Distribution] = []
        for site in environment.site:
            found += dists.distributions(look.host.files, site)
        if environment.kind == "conda":
            known = {one.key for one in found}
            found += [
                one
                for one in dists.conda_packages(look.host.files, environment.prefix)
                if one.key not in known
            ]
        result.append(Installed(environment, tuple(found)))
    return result


def active(look: Look) -> Installed | None:
    """Return the active environment, or None if there is no Python at all."""
    everything = installed(look)
    return everything[0] if everything else None


def owned_files(look: Look, one: Installed) -> dict[str, list[tuple[Distribution, RecordedFile]]]:
    """Return, for the native libraries of an environment, path -> owners by RECORD; read once for all probes."""
    return look.shared.once(f"owned:{one.environment.prefix}", lambda: _owned(look, one))


def record(look: Look, distribution: Distribution) -> str:
    """Return the RECORD of a distribution; read once for all probes."""
    return look.shared.once(
        f"record:{distribution.path}", lambda: dists.record(look.host.files, distribution)
    )


def _owned(look: Look, one: Installed) -> dict[str, list[tuple[Distribution, RecordedFile]]]:
    result: dict[str, list[tuple[Distribution, RecordedFile]]] = {}
    for distribution in one.distributions:
        for item in dists.recorded(distribution, record(look, distribution), ".so"):
            if is_native(item.path):
                result.setdefault(item.path, []).append((distribution, item))
    return result


def is_native(path: str) -> bool:
    """Tell whether a path is that of a shared object (``.so``, ``.so.2``, ``.so.2.27.3``)."""
    name = posixpath.basename(path)
    stem, so, rest = name.partition(".so")
    return bool(so and stem) and (not rest or (rest[0] == "." and rest[1:].replace(".", "").isdigit()))


def packages(look: Look) -> None:
    """Every environment found, and the name, version and place of everything installed in it."""
    look.looked_for("python")
    environ = look.host.environ
    for path in (
        environ.get("VIRTUAL_ENV"),
        environ.get("CONDA_PREFIX"),
        *environ.get("PATH", "").split(":"),
    ):
        _reach(look, path or "")
    for one in installed(look):
        environment = one.environment
        look.seen.append("environments", {
            "prefix": environment.prefix, "kind": environment.kind, "python": environment.python,
            "site": list(environment.site), "active": environment.active,
        })  # fmt: skip
        if environment.active and environment.python:
            look.component("python", environment.python, environment.prefix, environment.kind)
        first: dict[str, str] = {}
        for distribution in one.distributions:
            shadowed_by = first.setdefault(distribution.key, distribution.path)
            look.seen.package(environment.prefix, distribution.path, {
                "name": distribution.name, "version": distribution.version, "active": environment.active,
                "shadowed_by": None if shadowed_by == distribution.path else shadowed_by,
            })  # fmt: skip


def _reach(look: Look, path: str) -> None:
    """Say so if an environment lies where nobody answers: another one is taken for the active one then."""
    try:
        look.host.files.real(path if path.startswith("/") else "/")
    except RefusedError as error:
        look.note(f"{path}: {error.reason}; the environment there was not looked at")
    except AbsentError:
        pass
