"""What installed releases ask for, held against what is installed beside them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from stackcheck.catalog.evaluate import parsed_range
from stackcheck.catalog.identify import parsed_version
from stackcheck.check.node import Node, Seen
from stackcheck.check.wording import evidence_for, refs
from stackcheck.model.finding import Finding, Kind, Remedy, Severity
from stackcheck.model.inventory import Observation
from stackcheck.model.release import Requirement
from stackcheck.model.version import Version

_CUDA_LABEL = re.compile(r"-cu\d{2}$")


def package_findings(node: Node) -> list[Finding]:
    """Return a finding for each component whose requirements are not met by what was seen; one per component."""
    found: list[Finding] = []
    for name in sorted(node.observations):
        seen = node.seen(name)
        if seen is None or seen.release is None:
            continue
        asked = (*_asked(seen, node), *_asked_by_extras(seen, node))
        unmet = [r for r in asked if _is_unmet(r, node) and not _is_as_built(name, r.component, node)]
        if unmet:
            found.append(_finding(name, seen, unmet, node))
    return found


def _asked(seen: Seen, node: Node) -> tuple[Requirement, ...]:
    """Return one requirement for each component. Where nobody knows the Python, one that no other replaces counts for all of them."""
    assert seen.release is not None  # noqa: S101
    builds = seen.build.requires if seen.build is not None else ()
    rows = [r for r in (*(seen.release.requires or ()), *builds) if not r.extra]
    if node.seen("python") is None:
        number = Counter(r.component for r in rows)
        rows = [r._replace(python="") if number[r.component] == 1 else r for r in rows]
    return tuple({r.component: r for r in rows}.values())


def _asked_by_extras(seen: Seen, node: Node) -> tuple[Requirement, ...]:
    """Return what the extras ask for with which people usually install it, unless another of its extras is content with what is there."""
    assert seen.release is not None  # noqa: S101
    usual = node.catalog.policy.get("requirements", {}).get("usual_extras", {}).get(seen.component.id, ())
    rows = [r for r in seen.release.requires or () if r.extra]
    met = {r.component for r in rows if not _is_unmet(r, node)}
    return tuple(r for r in rows if r.extra in usual and r.component not in met)


def _is_unmet(requirement: Requirement, node: Node) -> bool:
    if requirement.arch and node.arch and node.arch not in requirement.arch:
        return False
    if requirement.python and not _python_fits(requirement.python, node):
        return False
    target = node.seen(requirement.component)
    if target is None or target.version is None or requirement.component == "cuda":
        return False
    if target.observation.evidence.method == "derived" or _only_lies_about(requirement.component, node):
        return False
    bounds = parsed_range(requirement.range, target.version.scheme)
    return bounds is not None and not any(
        _fits(requirement, o, node) for o in node.observations[requirement.component]
    )


def _is_as_built(asker: str, target: str, node: Node) -> bool:
    """Whether both are as an image holds them whose maker compiled and pinned them for each other."""
    image = node.image
    if image is None or not node.catalog.families.get(image.family, {}).get("own_builds"):
        return False
    return all(_is_of_image(node.seen(name), image.contents.get(name)) for name in (asker, target))


def _is_of_image(seen: Seen | None, version: str | None) -> bool:
    if seen is None or version is None:
        return False
    return seen.observation.version.partition("+")[0] == version.partition("+")[0]


def _only_lies_about(component: str, node: Node) -> bool:
    """Whether all that was seen of a component are files of the system, of which nobody says that a program loads them."""
    return all(
        o.path.startswith("/")
        and "-packages" not in o.path
        and not o.loaded
        and "package" not in o.attributes
        for o in node.observations[component]
    )


def _fits(requirement: Requirement, observation: Observation, node: Node) -> bool:
    component = node.catalog.component(requirement.component)
    version = parsed_version(component, observation.version) if component else None
    if version is None or _is_own_build(version):
        return True
    bounds = parsed_range(requirement.range, version.scheme)
    return bounds is None or version in bounds or _is_shorter(version, requirement.range, bounds.operands)


def _is_shorter(version: Version, text: str, operands: Sequence[Version]) -> bool:
    """Whether a version was told with fewer numbers than an exact pin (9.1.0 for 9.1.0.70), so that nobody knows."""
    length = len(version.release)
    return text.strip().startswith("==") and any(
        len(o.release) > length and o.release[:length] == version.release for o in operands
    )


def _is_own_build(version: Version) -> bool:
    """Whether a version is a snapshot (2.8.0a0+5228986c39): who builds that chose what it goes with."""
    return version.is_prerelease


def _python_fits(text: str, node: Node) -> bool:
    python = node.seen("python")
    if python is None or python.version is None:
        return False
    bounds = parsed_range(text, python.version.scheme)
    return bounds is not None and python.version in bounds


def _finding(name: str, seen: Seen, unmet: Sequence[Requirement], node: Node) -> Finding:
    policy = node.catalog.policy.get("requirements", {})
    graded = sorted(((_grade(name, r, node, policy), i, r) for i, r in enumerate(unmet)), key=lambda g: g[:2])
    ordered = [r for _, _, r in graded]
    severity = list(Severity)[graded[0][0]]
    compiled = severity is Severity.ERROR
    told = []
    for requirement in ordered:
        target = node.seen(requirement.component)
        told.append(
            f"{requirement.component} {requirement.range} (found {target.version if target else '?'})"
        )
    sets = {r.component: r.range for r in ordered}
    subjects = (name, *(r.component for r in ordered))
    return Finding(
        id=f"requires-{name}",
        kind=Kind.ABI_MISMATCH if compiled else Kind.VERSION_CONFLICT,
        severity=severity,
        subjects=subjects,
        title=f"{seen.component.name} {seen.observation.version} asks for {'; '.join(told)}",
        evidence=evidence_for(subjects, node),
        why=_COMPILED.format(name=name)
        if compiled
        else _METADATA.format(name=name, version=seen.observation.version),
        remedy=(Remedy("Install the versions it asks for", sets, run=_command(seen, ordered, node)),),
        sources=refs(seen.component.sources, seen.release.sources if seen.release else ()),
    )


_COMPILED = (
    "The compiled code of {name} was made for that minor version and does not load beside another one."
)
_METADATA = (
    "The metadata of {name} {version} names these versions; an installer that was told to ignore it, or a later install, "
    "put others in their place."
)


def _grade(name: str, requirement: Requirement, node: Node, policy: Mapping[str, Any]) -> int:
    """Return the rank of the severity: a broken ABI is an error, a newer library of the same major is only worth knowing."""
    target = node.seen(requirement.component)
    bounds = parsed_range(requirement.range, target.version.scheme) if target and target.version else None
    if target is None or target.version is None or bounds is None or not bounds.operands:
        return Severity.WARNING.rank
    wanted = bounds.operands[0]
    seen = node.seen(name)
    if seen is None or not seen.is_published:
        return Severity.INFO.rank
    exact = requirement.range.strip().startswith("==")
    same_minor = wanted.minor == target.version.minor
    if exact and name in policy.get("compiled_against", {}).get(requirement.component, ()):
        return (Severity.WARNING if same_minor else Severity.ERROR).rank
    newer = target.version.public > wanted.public and target.version.major == wanted.major
    if newer and requirement.component in policy.get("newer_minor_is_fine", ()):
        return Severity.INFO.rank
    return Severity.WARNING.rank


def _command(seen: Seen, asked: Sequence[Requirement], node: Node) -> str:
    """Return the pip command for what is asked, if every part of it was seen as a package whose name is known."""
    names = {r.component: _package(r.component, seen, node) for r in asked}
    if not all(names.values()):
        return ""
    return "pip install " + " ".join(f"'{names[r.component]}{r.range}'" for r in asked)


def _package(component_id: str, asker: Seen, node: Node) -> str:
    """Return the name under which a component was installed, or its sister for the CUDA of who asks (nvidia-nccl-cu12, -cu13)."""
    observed = (str(p) for o in node.observations[component_id] if (p := o.attributes.get("package")))
    name = next(observed, "")
    cuda = asker.attributes.get("cuda")
    component = node.catalog.component(component_id)
    if component is None or not name or not isinstance(cuda, Version):
        return name
    stem = _CUDA_LABEL.sub("", name)
    sisters = (f"{stem}-cu{cuda.major}", stem)  # since CUDA 13 some names have no label any more
    return next((s for s in sisters if f"pkg:pypi/{s}" in component.packages), name)
