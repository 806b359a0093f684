"""All probes at once, each under its own time limit, and the inventory made of what they saw.

The result has the shape ``stackcheck.inventory/1``; ``probes/README.md`` describes its keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from stackcheck_probes import ahead
from stackcheck_probes.ahead import Ahead, Unit
from stackcheck_probes.crew import Crew
from stackcheck_probes.host import Host, live_host, tree_host
from stackcheck_probes.interface import HostError, Probe
from stackcheck_probes.look import Look
from stackcheck_probes.observations import Observations
from stackcheck_probes.registry import PROBES
from stackcheck_probes.shared import Shared
from stackcheck_probes.surroundings import is_container

SCHEMA = "stackcheck.inventory/1"
DEFAULT_TIMEOUT = 20.0
ALWAYS = "identity"
"""The probe that names the node: it runs whichever others are chosen, unless it is left out by name."""
SOME = "only some probes ran"
"""How the note begins that says so; `stackcheck.model.inventory` knows it."""
_SORT_KEYS = {"packages": ("environment", "name", "path"), "code": ("path",), "environments": ("prefix",)}


class UnknownProbeError(ValueError):
    """A name given to ``only`` or ``skip`` is no probe; the message names the nearest, or all there are."""


class Collection:
    """A probe that has begun: a second process may be at work on it already, see ``ahead.py``."""

    def __init__(
        self,
        host: Host,
        probes: Sequence[Probe],
        timeout: float,
        other: Ahead | None,
        said: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._host = host
        self._probes = probes
        self._said = said
        self._timeout = timeout
        self._other = other

    def inventory(self) -> dict[str, Any]:
        """Do the rest of the work and return the inventory as a JSON-ready dictionary. To be called once."""
        try:
            return observe(self._host, self._probes, self._timeout, self._other, self._said)
        finally:
            if self._other is not None:
                self._other.end()


def collect(
    root: str = "/",
    only: Iterable[str] = (),
    skip: Iterable[str] = (),
    timeout: float | None = None,
    pid: int | None = None,
    env_file: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the inventory of a node as a JSON-ready dictionary; see ``begin``."""
    return begin(root, only, skip, timeout, pid, env_file, environ).inventory()


def begin(
    root: str = "/",
    only: Iterable[str] = (),
    skip: Iterable[str] = (),
    timeout: float | None = None,
    pid: int | None = None,
    env_file: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Collection:
    """Begin to probe a node; who has other things to do meanwhile does them before asking for the inventory.

    ``root`` is ``/`` for this machine or a directory (captured tree, unpacked image); ``pid`` looks from that process;
    ``env_file`` or ``environ`` give the environment to judge instead of our own; ``timeout`` bounds the whole, in seconds.
    Raises ``UnknownProbeError`` for a wrong name and ``HostError`` for a root or file that cannot be read.
    """
    host, notes = open_host(root, pid, env_file, environ)
    probes = chosen(host, only, skip)
    other = None if host.captured else _other(host, probes)
    said = [*(("environment", note) for note in notes), *(("probes", note) for note in choice(probes))]
    return Collection(host, probes, timeout or DEFAULT_TIMEOUT, other, said)


def open_host(
    root: str, pid: int | None, env_file: str | None, environ: Mapping[str, str] | None = None
) -> tuple[Host, list[str]]:
    """Return the node that the options of ``begin`` mean, and notes about the file of variables. Raises ``HostError``."""
    notes: list[str] = []
    if env_file is not None:
        from stackcheck_probes import env_file as variables  # only where there is one

        environ, notes = variables.read(env_file)
    return live_host(environ, pid) if root == "/" else tree_host(root, environ), notes


def _other(host: Host, probes: Sequence[Probe]) -> Ahead | None:
    """Start the second process, if it has anything to do. It ends when its work does, or when nobody reads what it delivers."""
    ready = [probe for probe in probes if probe.ahead is not None]

    def units() -> Iterator[Unit]:
        shared = Shared()
        for probe in ready:
            if probe.ahead is not None:
                yield from probe.ahead(Look(host, Observations(""), probe.name, probe.timeout, shared))

    return ahead.start(units) if ready else None


def choose(only: Iterable[str], skip: Iterable[str], probes: Sequence[Probe] = PROBES) -> tuple[Probe, ...]:
    """Return the probes asked for, in the order of the registry."""
    wanted, unwanted = set(only), set(skip)
    known = {probe.name for probe in probes}
    wrong = sorted((wanted | unwanted) - known)
    if wrong:
        import difflib  # only when somebody mistyped

        near = difflib.get_close_matches(wrong[0][:80], sorted(known), n=1)
        offer = f"did you mean {near[0]}?" if near else f"there are: {', '.join(sorted(known))}"
        raise UnknownProbeError(f"no probe {', '.join(wrong)[:80]}; {offer}")
    if wanted:
        wanted.add(ALWAYS)
    return tuple(
        probe for probe in probes if probe.name not in unwanted and (not wanted or probe.name in wanted)
    )


def chosen(host: Host, only: Iterable[str], skip: Iterable[str]) -> tuple[Probe, ...]:
    """Return the probes asked for that a node can answer: a tree captured for some probes has nothing to say to the others."""
    return tuple(p for p in choose(only, skip) if host.probes is None or p.name in host.probes)


def choice(probes: Sequence[Probe]) -> list[str]:
    """Return a note that says which probes ran, or which did not if those are fewer; none if all of them did."""
    names = {probe.name for probe in probes}
    left_out = [probe.name for probe in PROBES if probe.name not in names]
    if not left_out:
        return []
    if len(left_out) < len(names):
        return [f"{SOME}, without {', '.join(left_out)}"]
    return [f"{SOME}: {', '.join(probe.name for probe in probes) or 'none'}"]


def observe(
    host: Host,
    probes: Sequence[Probe],
    timeout: float,
    other: Ahead | None = None,
    said: Sequence[tuple[str, str]] = (),
) -> dict[str, Any]:
    """Run the probes on a node and return the inventory; a probe that is late or fails leaves a note and no more.

    ``said`` are further notes, each with the name of the probe that it is about.
    """
    seen = Observations("container" if is_container(host) else "host")
    shared = Shared(other)
    for name, note in said:
        seen.note(name, note)

    def run(probe: Probe, limit: float) -> None:
        _guarded(probe, Look(host, seen, probe.name, limit, shared))

    Crew(probes, timeout, run, seen.note).work()
    return _inventory(seen.close())


def _guarded(probe: Probe, look: Look) -> None:
    try:
        probe.run(look)
    except HostError as error:
        look.note(f"{error.subject}: {error.reason}")
    except Exception as error:  # noqa: BLE001  one probe's fault must not take the others' results away; it is told
        look.note(f"failed: {type(error).__name__}: {error}")


def _inventory(data: dict[str, Any]) -> dict[str, Any]:
    subject = data.pop("subject", None) or "node"
    result: dict[str, Any] = {"schema": SCHEMA, "subject": subject, **data}
    for key in ("components", "facts", "environment", "evidence"):
        result[key] = dict(sorted(result[key].items()))
    for copies in result["components"].values():
        copies.sort(
            key=lambda copy: (not copy.get("loaded", False), str(copy.get("path")), str(copy.get("version")))
        )
    for key, fields in _SORT_KEYS.items():
        result[key].sort(key=lambda entry, fields=fields: [str(entry.get(field)) for field in fields])
    result["notes"].sort(key=lambda note: (note["probe"], note["text"]))
    return result
