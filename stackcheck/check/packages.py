"""What installed releases ask for, held against what is installed beside them."""

from __future__ import annotations

from stackcheck.catalog.evaluate import parsed_range
from stackcheck.check.node import Node, Seen
from stackcheck.check.wording import evidence_for
from stackcheck.model.finding import Finding, Kind, Remedy, Severity
from stackcheck.model.release import Requirement


def package_findings(node: Node) -> list[Finding]:
    """Return a finding for each component whose requirements are not met by what was seen; one per component."""
    found: list[Finding] = []
    for name in sorted(node.observations):
        seen = node.seen(name)
        if seen is None or seen.release is None:
            continue
        unmet = [r for r in _asked(seen) if _is_unmet(r, node)]
        if unmet:
            found.append(_finding(name, seen, unmet, node))
    return found


def _asked(seen: Seen) -> tuple[Requirement, ...]:
    assert seen.release is not None  # noqa: S101
    asked = {r.component: r for r in seen.release.requires or () if not r.extra}
    if seen.build is not None:
        asked.update({r.component: r for r in seen.build.requires if not r.extra})
    return tuple(asked.values())


def _is_unmet(requirement: Requirement, node: Node) -> bool:
    if requirement.arch and node.arch and node.arch not in requirement.arch:
        return False
    if requirement.python and not _python_fits(requirement.python, node):
        return False
    target = node.seen(requirement.component)
    if target is None or target.version is None or requirement.component == "cuda":
        return False
    if target.observation.evidence.method == "derived":
        return False
    bounds = parsed_range(requirement.range, target.version.scheme)
    return bounds is not None and not any(
        _fits(requirement, o, node) for o in node.observations[requirement.component]
    )


def _fits(requirement: Requirement, observation: object, node: Node) -> bool:
    from stackcheck.catalog.identify import parsed_version
    from stackcheck.model.inventory import Observation

    assert isinstance(observation, Observation)  # noqa: S101
    component = node.catalog.component(requirement.component)
    version = parsed_version(component, observation.version) if component else None
    if version is None:
        return True
    bounds = parsed_range(requirement.range, version.scheme)
    return bounds is None or version in bounds


def _python_fits(text: str, node: Node) -> bool:
    python = node.seen("python")
    if python is None or python.version is None:
        return False
    bounds = parsed_range(text, python.version.scheme)
    return bounds is not None and python.version in bounds


def _finding(name: str, seen: Seen, unmet: list[Requirement], node: Node) -> Finding:
    told = []
    for requirement in unmet:
        target = node.seen(requirement.component)
        version = target.version if target else "?"
        told.append(f"{requirement.component} {requirement.range} (found {version})")
    compiled = bool(seen.attributes.get("torch")) and any(r.component == "torch" for r in unmet)
    sets = {r.component: r.range for r in unmet}
    refs = tuple(seen.component.source(k).ref for k in (seen.release.sources if seen.release else ()))
    subjects = (name, *(r.component for r in unmet))
    return Finding(
        id=f"requires-{name}",
        kind=Kind.ABI_MISMATCH if compiled else Kind.VERSION_CONFLICT,
        severity=Severity.WARNING,
        subjects=subjects,
        title=f"{seen.component.name} {seen.observation.version} asks for {'; '.join(told)}",
        evidence=evidence_for(subjects, node),
        why=f"The metadata of {name} {seen.observation.version} names these versions; "
        "an installer that was told to ignore it, or a later install, put others in their place.",
        remedy=(Remedy("Install the versions it asks for", sets, run=_command(sets)),),
        sources=refs,
    )


def _command(sets: dict[str, str]) -> str:
    return "" if not sets else "pip install " + " ".join(f"'{c}{r}'" for c, r in sets.items())
