"""Requirement lines of PEP 508 to requirement rows of the matrices.

A marker is not read as text: it is evaluated for every CPU architecture and Python that the matrices know, so that whatever a package
writes comes out as "holds on these". Only Linux and CPython are asked about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from stackcheck.catalog.catalog import Catalog
from stackcheck.harvest.core_metadata import Metadata
from stackcheck.harvest.interface import HarvestError
from stackcheck.harvest.upstreams import Upstreams
from stackcheck.model import release as model
from stackcheck.model.ranges import Range
from stackcheck.model.version import Version

ARCHES = ("x86_64", "aarch64")
ANY = ">=0"
_OPERATORS = ("===", "==", "~=", ">=", ">", "<=", "<", "!=")
_LONGEST = 4_000  # characters of one requirement line


@dataclass(frozen=True, slots=True)
class Names:
    """Which component a package is, and what extras of packages without content stand for."""

    component_of: Mapping[str, str]
    catalog: Catalog
    upstreams: Upstreams
    pythons: tuple[str, ...]
    optional: frozenset[str] = frozenset()
    """Components that the matrices bound without asking for them."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one distribution, and the extras that were not taken."""

    rows: tuple[model.Requirement, ...]
    dropped_extras: tuple[str, ...] = ()


@dataclass(slots=True)
class _Draft:
    held: dict[tuple[str, str, str, tuple[str, ...]], list[str]] = field(default_factory=dict)

    def add(self, component: str, text: str, extra: str, python: str, arch: tuple[str, ...]) -> None:
        clauses = self.held.setdefault((component, extra, python, arch), [])
        if text and text != ANY and text not in clauses:
            clauses.append(text)


def names_of(catalog: Catalog, upstreams: Upstreams) -> Names:
    """Return how packages map to components of a catalog, by the purls of the components alone."""
    component_of: dict[str, str] = {}
    counts: dict[str, int] = {}
    for component in catalog.components():
        for purl in component.packages:
            if purl.startswith("pkg:pypi/"):
                component_of[str(canonicalize_name(purl.removeprefix("pkg:pypi/")))] = component.id
        for release in component.releases:
            for row in release.requires or ():
                counts[row.component] = counts.get(row.component, 0) + (1 if row.optional else -1)
    python = catalog.component("python")
    minors = tuple(r.version.text for r in python.releases) if python else ()
    optional = frozenset(name for name, balance in counts.items() if balance > 0)
    return Names(component_of, catalog, upstreams, minors, optional)


def rows_of(metadata: Metadata, names: Names, *, keep_extras: Iterable[str]) -> Rows:
    """Return the rows that a distribution's metadata stands for, in the order of the matrices.

    Rows about packages that are no component are left out; `keep_extras` names the extras worth keeping.

    Raises:
        HarvestError: a line about a known component cannot be understood: then nobody can say "these, and nothing else".
    """
    pythons = _pythons(metadata, names.pythons)
    parsed = [p for line in metadata.requires if (p := _parsed(line, names, metadata)) is not None]
    included = _included(parsed, metadata)
    kept = [e for e in metadata.extras if e in {str(canonicalize_name(k)) for k in keep_extras}]
    draft = _Draft()
    for requirement in parsed:
        for extra in ("", *kept):
            holds = _holds(requirement, included.get(extra, ()) if extra else ("",), pythons)
            if extra and holds == _holds(requirement, ("",), pythons):
                continue
            for where in _conditions(holds, pythons):
                _add(draft, requirement, extra, where, names, metadata.name)
    rows = _sorted(draft, names)
    if metadata.requires_python:
        rows.insert(0, model.Requirement("python", range_text(metadata.requires_python)))
    return Rows(tuple(rows), tuple(e for e in metadata.extras if e not in kept))


def _parsed(line: str, names: Names, metadata: Metadata) -> Requirement | None:
    if len(line) > _LONGEST:
        raise HarvestError(f"requirement line of {len(line)} characters", where=metadata.name)
    try:
        requirement = Requirement(line)
    except InvalidRequirement as fault:
        head = str(
            canonicalize_name(line.replace("(", " ").replace("=", " ").replace(">", " ").split(" ")[0])
        )
        if head in names.component_of:
            raise HarvestError(f"requirement {line[:80]!r}: {fault}", where=metadata.name) from fault
        return None
    name = str(canonicalize_name(requirement.name))
    known = name in names.component_of or name in names.upstreams.metapackages or name == metadata.name
    return requirement if known else None


def _included(parsed: Sequence[Requirement], metadata: Metadata) -> dict[str, tuple[str, ...]]:
    """Return for every extra the extras it includes, itself among them: `verl[core]; extra == "vllm"`."""
    direct: dict[str, set[str]] = {e: {e} for e in metadata.extras}
    for requirement in parsed:
        if str(canonicalize_name(requirement.name)) == metadata.name and requirement.marker:
            for extra in metadata.extras:
                if _true(requirement.marker, {**_environment("x86_64", "3.12"), "extra": extra}):
                    direct[extra] |= {str(canonicalize_name(e)) for e in requirement.extras}
    for extra in direct:
        pending = list(direct[extra])
        while pending:
            new = direct.get(pending.pop(), set()) - direct[extra]
            direct[extra] |= new
            pending += new
    return {extra: tuple(sorted(found)) for extra, found in direct.items()}


Holds = frozenset[tuple[str, str]]


def _holds(requirement: Requirement, extras: Sequence[str], pythons: Sequence[str]) -> Holds:
    """Return the (architecture, Python) pairs on which a requirement holds with any of these extras."""
    marker = requirement.marker
    everywhere = frozenset((a, p) for a in ARCHES for p in pythons)
    if marker is None:
        return everywhere
    text = str(marker)
    asked = [e for e in extras if e == "" or f'"{e}"' in text or f"'{e}'" in text]
    if "extra" not in text and "" not in asked:
        asked.append("")
    return frozenset(
        (a, p) for a, p in everywhere if any(_true(marker, {**_environment(a, p), "extra": e}) for e in asked)
    )


def _environment(arch: str, python: str) -> dict[str, str]:
    return {
        "implementation_name": "cpython",
        "implementation_version": f"{python}.0",
        "os_name": "posix",
        "platform_machine": arch,
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": "Linux",
        "platform_version": "",
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": "linux",
    }


def _true(marker: Marker, environment: Mapping[str, str]) -> bool:
    try:
        return marker.evaluate(dict(environment))
    except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName, InvalidVersion):
        return False


def _pythons(metadata: Metadata, known: Sequence[str]) -> tuple[str, ...]:
    """Return the minors that the distribution may be installed on."""
    try:
        allowed = SpecifierSet(metadata.requires_python)
    except InvalidSpecifier as fault:
        raise HarvestError(f"Requires-Python {metadata.requires_python!r}", where=metadata.name) from fault
    # A minor of which some patch release is allowed: ">=3.10,!=3.14.1" leaves 3.14.
    return tuple(m for m in known if any(allowed.contains(f"{m}.{patch}") for patch in (0, 1, 9, 99)))


def _conditions(holds: Holds, pythons: Sequence[str]) -> list[tuple[tuple[str, ...], str]]:
    """Return (architectures, Python range) pairs that say where something holds; none of either means everywhere."""
    by_pythons: dict[tuple[str, ...], list[str]] = {}
    for arch in ARCHES:
        on = tuple(p for p in pythons if (arch, p) in holds)
        if on:
            by_pythons.setdefault(on, []).append(arch)
    return [
        (() if len(archs) == len(ARCHES) else tuple(archs), _python_range(on, pythons))
        for on, archs in by_pythons.items()
    ]


def _python_range(on: Sequence[str], pythons: Sequence[str]) -> str:
    if len(on) == len(pythons):
        return ""
    first, last = pythons.index(on[0]), pythons.index(on[-1])
    if last - first + 1 != len(on):
        return " || ".join(f"=={p}.*" for p in on)
    low = f">={on[0]}" if first else ""
    high = f"<{pythons[last + 1]}" if last + 1 < len(pythons) else ""
    return ",".join(b for b in (low, high) if b)


def _add(
    draft: _Draft,
    requirement: Requirement,
    extra: str,
    where: tuple[tuple[str, ...], str],
    names: Names,
    own: str,
) -> None:
    arch, python = where
    package = str(canonicalize_name(requirement.name))
    text = range_text(str(requirement.specifier))
    meta = names.upstreams.metapackages.get(package)
    if meta is None:
        if package == own:
            return  # the package itself, asked for with further extras
        component, numbers = names.component_of[package], names.upstreams.truncate.get(package)
        draft.add(component, _truncated(text, numbers) if numbers else text, extra, python, arch)
        if package in names.upstreams.bounds and not text.startswith("=="):
            draft.add(component, names.upstreams.bounds[package], extra, python, arch)
        for part in _locked_parts(component, requirement.extras, names):
            draft.add(part, text, extra, python, arch)
        return
    for asked in sorted(requirement.extras):
        target = meta.get(asked)
        if target is not None:
            told = _told_by(package, text, target, names)
            draft.add(target["component"], told, extra, python, arch)


def _locked_parts(component: str, extras: Iterable[str], names: Names) -> tuple[str, ...]:
    """Return the components that extras of a component bring in its very own version: they take its range.

    `transformer-engine[pytorch]>=2.9,<2.12` is also a requirement of the PyTorch part, which each release pins to itself.
    """
    asked = {str(canonicalize_name(e)) for e in extras}
    known = names.catalog.component(component)
    for release in reversed(known.releases if asked and known else ()):
        locked = [
            row.component
            for row in release.requires or ()
            if row.extra in asked and row.range == f"=={release.version.text}"
        ]
        if locked:
            return tuple(dict.fromkeys(locked))
    return ()


def _told_by(package: str, text: str, target: Mapping[str, str], names: Names) -> str:
    """Return the range that an extra of a package without content stands for: the attribute of the release it pins."""
    component = names.catalog.component(names.component_of.get(package, package))
    pinned = Range(text, component.scheme) if component and text else None
    if component is None or pinned is None or not text.startswith("=="):
        raise HarvestError(f"{package} {text or 'any'} pins no release", fix="read the release first")
    held = next((r for r in reversed(component.releases) if r.version in pinned), None)
    value = held.attributes.get(target["attribute"]) if held else None
    if value is None:
        raise HarvestError(f"{package} {text}: its {target['attribute']} is not known", fix="read it first")
    return f"=={value}.*"


def _truncated(text: str, numbers: int) -> str:
    """Cut the versions of a range to their first numbers: a CUDA runtime wheel 13.2.75 is a runtime of 13.2."""
    parts = []
    for clause in filter(None, text.split(",")):
        operator = next(o for o in _OPERATORS if clause.startswith(o))
        version = clause.removeprefix(operator).removesuffix(".*").split(".")
        cut = ".".join(version[:numbers])
        exact = operator in ("==", "===", "!=") and len(version) >= numbers
        parts.append(f"{operator}{cut}.*" if exact else f"{operator}{cut}")
    return ",".join(parts)


def range_text(text: str) -> str:
    """Return a specifier set in the order in which the matrices write ranges; an empty one as `>=0`."""
    clauses = [c.strip().replace(" ", "") for c in text.split(",") if c.strip()]
    for low in [c for c in clauses if c.startswith(">=") and f"<={c[2:]}" in clauses]:
        clauses = [c for c in clauses if c not in (low, f"<={low[2:]}")] + [f"=={low[2:]}"]
    clauses.sort(key=lambda c: (next(i for i, o in enumerate(_OPERATORS) if c.startswith(o)), c))
    return ",".join(dict.fromkeys(clauses)) or ANY


def _sorted(draft: _Draft, names: Names) -> list[model.Requirement]:
    base = {key[0]: clauses for key, clauses in draft.held.items() if not key[1]}
    rows = []
    for (component, extra, python, arch), clauses in draft.held.items():
        text = range_text(",".join(clauses))
        if extra and component in base and set(clauses) <= set(base[component]):
            continue  # the extra asks for no more than the package itself
        target = names.catalog.component(component)
        if target is not None:
            _must_parse(text, target)
        rows.append(model.Requirement(component, text, extra, python, arch, component in names.optional))
    return sorted(rows, key=lambda r: (r.extra, r.component, r.python, r.arch))


def _must_parse(text: str, target: model.Component) -> None:
    try:
        bounds = Range(text, target.scheme)
        _ = [Version(o.text, target.scheme) for o in bounds.operands]
    except ValueError as fault:
        raise HarvestError(f"range of {target.id}: {fault}") from fault
