"""Python environments of a node: where they are, which kind, and which one a program started now would use."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from typing import NamedTuple

from stackcheck_probes.host import FileSystem, Host
from stackcheck_probes.interface import HostError

PREFIXES = ("/usr/local", "/usr", "/opt/conda", "/opt/venv", "/opt/miniconda3", "/opt/miniforge3", "/opt/pytorch",
            "/venv", "/app/.venv", "/workspace/.venv", "/opt/dynamo/venv", "/opt/venvs/default")  # fmt: skip
PARENTS = ("/opt/conda/envs", "/opt/miniconda3/envs", "/opt/miniforge3/envs", "/opt/venvs")
MAX_ENVIRONMENTS = 64
_SITE = r"python3\.\d+t?$"
_SITE_IN_PATH = r"(/[^\s:]*?)/lib(?:64)?/(python3\.\d+t?)/(?:site|dist)-packages"
DEBIAN_SITE = "/usr/lib/python3/dist-packages"


class Environment(NamedTuple):
    """One environment: ``prefix``, its ``site`` directories in import order, its Python (``3.12`` or longer)."""

    prefix: str
    kind: str
    site: tuple[str, ...]
    python: str | None
    active: bool = False


def environments(host: Host) -> list[Environment]:
    """Return all environments found, the active one first.

    Active is what ``python3`` would be: of the process asked about its own, else VIRTUAL_ENV, CONDA_PREFIX, the first
    interpreter on PATH, else the first one found.
    """
    files = host.files
    wanted = list(_candidates(host))
    found: dict[str, Environment] = {}
    for prefix in wanted:
        real = _real(files, prefix)
        if real in found or len(found) >= MAX_ENVIRONMENTS:
            continue
        environment = _environment(files, real)
        if environment is not None:
            found[real] = environment
    if not found:
        return []
    extra = _extra_sites(host, next(iter(found.values())))
    result = list(found.values())
    first = result[0]
    result[0] = Environment(first.prefix, first.kind, (*extra, *first.site), first.python, active=True)
    return result


def _candidates(host: Host) -> Iterable[str]:
    """Yield prefixes, the one in use first."""
    environ = host.environ
    if host.pid is not None:
        yield from _mapped(host)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if environ.get(name, "").startswith("/"):
            yield environ[name]
    for directory in environ.get("PATH", "").split(":"):
        if directory.startswith("/") and any(
            host.files.exists(posixpath.join(directory, name)) for name in ("python3", "python")
        ):
            yield _prefix_of(host.files, directory)
    home = environ.get("HOME", "")
    yield from PREFIXES
    for parent in (
        *PARENTS,
        *([f"{home}/.conda/envs", f"{home}/miniconda3/envs"] if home.startswith("/") else []),
    ):
        for name in _names(host.files, parent):
            yield posixpath.join(parent, name)
    for name in _names(host.files, "/opt"):
        yield f"/opt/{name}"
    if home.startswith("/"):
        yield f"{home}/.venv"
        yield from (
            line for line in _lines(host.files, f"{home}/.conda/environments.txt") if line.startswith("/")
        )


def _mapped(host: Host) -> Iterable[str]:
    try:
        text = host.process("maps").decode("utf-8", "replace")
    except HostError:
        return
    for match in re.finditer(_SITE_IN_PATH, text):
        yield match[1]


def _prefix_of(files: FileSystem, directory: str) -> str:
    """Return the prefix of the interpreter in a directory of PATH: through the link, unless a pyvenv.cfg says venv."""
    prefix = posixpath.dirname(directory.rstrip("/"))
    if directory.rstrip("/").endswith(
        "/shims"
    ):  # pyenv: scripts that start the version named in a file beside them
        version = next(iter(_lines(files, f"{prefix}/version")), "")
        return f"{prefix}/versions/{version.strip()}"
    if files.exists(f"{prefix}/pyvenv.cfg"):
        return prefix
    for name in ("python3", "python"):
        if files.exists(posixpath.join(directory, name)):
            try:
                return posixpath.dirname(posixpath.dirname(files.real(posixpath.join(directory, name))))
            except HostError:
                break
    return prefix


def _environment(files: FileSystem, prefix: str) -> Environment | None:
    site = _site_directories(files, prefix)
    config = _lines(files, f"{prefix}/pyvenv.cfg")
    if not site and not config:
        return None
    kind, python = "system", _version_of(site, _real(files, f"{prefix}/bin/python3"))
    if config:
        settings = dict(_setting(line) for line in config)
        kind = "uv" if "uv" in settings else "venv"
        python = settings.get("version_info") or settings.get("version") or python
        if settings.get("include-system-site-packages", "false").lower() == "true":
            base = posixpath.dirname(settings.get("home", "/usr/bin"))
            site += [one for one in _site_directories(files, base) if one not in site]
    elif files.is_dir(f"{prefix}/conda-meta"):
        kind = "conda"
        python = _conda_python(files, prefix) or python
    return Environment(prefix, kind, tuple(site), python)


def _setting(line: str) -> tuple[str, str]:
    name, _equals, value = line.partition("=")
    return name.strip().lower(), value.strip()


def _site_directories(files: FileSystem, prefix: str) -> list[str]:
    """Return the site directories of a prefix. Distributions split their own Python between /usr and /usr/local."""
    if prefix == "/usr":
        result = _below(files, "/usr/local", ("dist-packages",))
        if not files.exists("/usr/local/bin/python3"):
            result += _below(files, "/usr/local", ("site-packages",))
        result += [*_below(files, "/usr", ("site-packages", "dist-packages")), DEBIAN_SITE]
    else:
        kinds = ("site-packages",) if prefix == "/usr/local" else ("site-packages", "dist-packages")
        result = _below(files, prefix, kinds)
    unique: dict[str, str] = {}
    for path in result:
        if files.is_dir(path):
            unique.setdefault(_real(files, path), path)
    return list(unique.values())


def _below(files: FileSystem, prefix: str, kinds: tuple[str, ...]) -> list[str]:
    names = {
        lib: [name for name in _names(files, f"{prefix}/{lib}") if re.match(_SITE, name)]
        for lib in ("lib", "lib64")
    }
    return [f"{prefix}/{lib}/{name}/{kind}" for lib in names for name in names[lib] for kind in kinds]


def _version_of(site: list[str], interpreter: str) -> str | None:
    match = re.search(r"python(3\.\d+)", " ".join([posixpath.basename(interpreter), *site]))
    return match[1] if match else None


def _conda_python(files: FileSystem, prefix: str) -> str | None:
    for name in _names(files, f"{prefix}/conda-meta"):
        match = re.match(r"python-(3\.\d+\.\d+)-", name)
        if match:
            return match[1]
    return None


def _extra_sites(host: Host, environment: Environment) -> list[str]:
    """Return what comes before (PYTHONPATH) or beside (the user's) site directories of the active environment."""
    places = [path for path in host.environ.get("PYTHONPATH", "").split(":") if path.startswith("/")]
    home = host.environ.get("HOME", "")
    if environment.kind == "system" and home.startswith("/") and environment.python:
        minor = ".".join(environment.python.split(".")[:2])
        places.append(f"{home}/.local/lib/python{minor}/site-packages")
    return [path for path in places if host.files.is_dir(path) and path not in environment.site]


def _real(files: FileSystem, path: str) -> str:
    try:
        return files.real(path.rstrip("/") or "/")
    except HostError:
        return path


def _names(files: FileSystem, path: str) -> list[str]:
    try:
        return files.names(path)
    except HostError:
        return []


def _lines(files: FileSystem, path: str) -> list[str]:
    try:
        return files.read(path).decode("utf-8", "replace").splitlines()
    except HostError:
        return []
