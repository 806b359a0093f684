"""Remedies applied and proved: the change is made on the inventory and everything is checked again."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.evaluate import lies_in, parsed_range
from stackcheck.catalog.identify import parsed_version
from stackcheck.model.finding import Finding, Remedy, Severity
from stackcheck.model.inventory import Evidence, Inventory, Observation
from stackcheck.model.release import Component, Release, Requirement
from stackcheck.model.rule import PREFIXES

Recheck = Callable[[Inventory], Sequence[Finding]]
_REMEDY = Evidence("remedy", "", "")
NCCL_CONF = "nccl.conf"
"""How variables were read that stand in a file of NCCL, /etc/nccl.conf or ~/.nccl.conf."""


def proved(
    finding: Finding, inventory: Inventory, catalog: Catalog, recheck: Recheck, before: Sequence[Finding]
) -> Finding:
    """Return the finding with those remedies first whose change, applied, removes it and brings no new error.

    A `set` that cannot be proved here is dropped, its text stays.
    """
    errors_before = {f.id for f in before if f.severity is Severity.ERROR}
    good: list[Remedy] = []
    rest: list[Remedy] = []
    for remedy in finding.remedy:
        if not remedy.sets:
            rest.append(remedy)
            continue
        changed = applied(inventory, remedy.sets, catalog)
        after = recheck(changed) if changed is not None else ()
        gone = changed is not None and all(f.id != finding.id for f in after)
        worse = any(f.severity is Severity.ERROR and f.id not in errors_before for f in after)
        if gone and not worse:
            good.append(remedy._replace(proved=True, run=remedy.run or in_its_file(remedy.sets, inventory)))
        else:
            rest.append(remedy._replace(sets={}))
    return finding._replace(remedy=(*good, *rest))


def in_its_file(sets: Mapping[str, Any], inventory: Inventory) -> str:
    """Return the command that changes variables where they stand, if that is a file of NCCL: the shell has none to unset then."""
    edits: dict[str, list[str]] = {}
    for subject, value in sets.items():
        prefix, _, name = subject.partition(":")
        evidence = inventory.evidence.get(subject, _REMEDY)
        if prefix != "env" or evidence.method != NCCL_CONF or not evidence.where:
            return ""
        line = rf"^[[:space:]]*{name}[[:space:]]*="
        edit = f"/{line}/d" if value is None else f"s/{line}.*/{name}={_escaped(str(value))}/"
        edits.setdefault(evidence.where, []).append(f"-e {shlex.quote(edit)}")
    return " && ".join(f"sed -i {' '.join(parts)} {shlex.quote(where)}" for where, parts in edits.items())


def _escaped(text: str) -> str:
    """Return a text as it may stand on the right side of a command of sed."""
    return "".join(f"\\{c}" if c in "\\/&" else c for c in text)


def applied(inventory: Inventory, sets: Mapping[str, Any], catalog: Catalog) -> Inventory | None:
    """Return the inventory with a remedy's changes made, or None if a change cannot be made.

    A component moves to the nearest release in the range; what that release pins exactly moves with it. Lines that were logged
    stay: a rule that saw a failure is silenced only by a change it looks at.
    """
    components = dict(inventory.components)
    environment = dict(inventory.environment)
    facts = dict(inventory.facts)
    for subject, value in sets.items():
        prefix, colon, rest = subject.partition(":")
        if colon and prefix == "env":
            if value is None:
                environment.pop(rest, None)
            else:
                environment[rest] = str(value)
        elif colon and prefix in PREFIXES:
            name = rest if prefix == "fact" else subject
            facts.pop(name if name in facts else subject, None)
            if value is not None:
                facts[name] = tuple(value) if isinstance(value, list) else value
        elif not _move(components, subject, value, catalog, {s for s in sets if s != subject}):
            return None
    return inventory._replace(components=components, environment=environment, facts=facts, texts=())


def _move(
    components: dict[str, tuple[Observation, ...]], name: str, value: Any, catalog: Catalog, settled: set[str]
) -> bool:
    component = catalog.component(name)
    if component is None:
        return False
    if value is None or value is False:
        components[name] = ()
        return True
    if value is True:
        value = ""
    seen = components.get(name, ())
    if value and len({o.version for o in seen}) == 1 and _is_met(component, str(value), seen[0].version):
        return True  # the range holds already: an installer would change nothing
    release, text = _nearest(component, str(value), seen[0].version if seen else "")
    if not text:
        return False
    for alias in [a for a in components if catalog.aliases.get(a) == name and a != name]:
        del components[alias]
    scope = seen[0].scope if seen else component.scope
    package = seen[0].attributes.get("package") if seen else None
    kept = {"package": package} if package else {}
    components[name] = (Observation(version=text, scope=scope, evidence=_REMEDY, attributes=kept),)
    if release is not None:
        _follow(components, release, text, catalog, settled | {name})
    return True


def _nearest(component: Component, text: str, current: str) -> tuple[Release | None, str]:
    """Return the release in a range that is nearest to the current version, upwards first, and its version text."""
    bounds = parsed_range(text, component.scheme)
    if bounds is None:
        return None, ""
    now = parsed_version(component, current) if current else None
    fitting = [r for r in component.releases if not r.yanked and _in(r, bounds, component)]
    if not fitting:
        operand = next(iter(bounds.operands), None)
        return None, operand.text if operand is not None and operand in bounds else ""
    if now is None:
        return fitting[-1], _with_label(fitting[-1], text)
    above = [r for r in fitting if r.version.public >= now.public]
    chosen = above[0] if above else fitting[-1]
    return chosen, _with_label(chosen, text)


def _is_met(component: Component, text: str, current: str) -> bool:
    """Whether a version lies in a range as an installer reads it: `==2.9.0` is met by 2.9.0+cu130."""
    now = parsed_version(component, current) if current else None
    return now is not None and lies_in(now, text)


def _in(release: Release, bounds: Any, component: Component) -> bool:
    if release.version in bounds:
        return True
    return any(
        v is not None and v in bounds
        for v in (_labelled(release, b.label, component) for b in release.builds)
    )


def _labelled(release: Release, label: str, component: Component) -> Any:
    return (
        parsed_version(component, f"{release.version.text}+{label}") if component.scheme == "pep440" else None
    )


def _with_label(release: Release, text: str) -> str:
    wanted = text.rpartition("+")[2] if "+" in text else ""
    label = next((b.label for b in release.builds if b.label == wanted), "")
    if not label:
        default = next((b for b in release.builds if b.default), None)
        label = default.label if default is not None and "cuda" in default.attributes else ""
    return f"{release.version.text}+{label}" if label else release.version.text


def _follow(
    components: dict[str, tuple[Observation, ...]],
    release: Release,
    text: str,
    catalog: Catalog,
    settled: set[str],
) -> None:
    """Move what a release pins, as an installer would; what was not there before is not added."""
    label = text.partition("+")[2]
    build = next((b for b in release.builds if b.label == label), None)
    asked: list[Requirement] = [r for r in release.requires or () if not r.extra and not r.optional]
    asked += [r for r in (build.requires if build else ()) if not r.extra]
    for requirement in asked:
        present = components.get(requirement.component)
        if present and requirement.component not in settled:
            component = catalog.component(requirement.component)
            now = parsed_version(component, present[0].version) if component else None
            bounds = parsed_range(requirement.range, now.scheme) if now else None
            if now is not None and bounds is not None and now not in bounds:
                _move(
                    components,
                    requirement.component,
                    requirement.range,
                    catalog,
                    settled | {requirement.component},
                )
