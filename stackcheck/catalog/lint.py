"""What a schema cannot say: coded checks over the whole catalog.

A check is a record {code, name, function}; it yields faults. `fatal` ones fail the lint, the others are counted as holes.
To add one: a function that yields `Fault`s, and a row in CHECKS.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from stackcheck.catalog.catalog import Catalog, normalised
from stackcheck.catalog.evaluate import parsed_range
from stackcheck.catalog.identify import parsed_version
from stackcheck.model.errors import MatrixError
from stackcheck.model.ranges import Range
from stackcheck.model.release import Component, Release, Requirement
from stackcheck.model.rule import (
    PREFIXES,
    AllOf,
    AnyOf,
    Condition,
    InRange,
    Matches,
    Not,
    NotTest,
    Term,
    head_of,
    subjects_of,
)
from stackcheck.model.version import Version

_FIXED_HEADS = ("gpu", "instance", "arch", "image", "gpu_count")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\Z")


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong or missing, and where."""

    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Check:
    """One coded check."""

    code: str
    name: str
    run: Callable[[Catalog], Iterator[Fault]]
    fatal: bool = True


def _releases(catalog: Catalog) -> Iterator[tuple[Component, Release, str]]:
    for component in catalog.components():
        for release in component.releases:
            yield component, release, f"components/{component.id}.json {release.version}"


def _requirements(release: Release) -> Iterator[Requirement]:
    yield from release.requires or ()
    for build in release.builds:
        yield from build.requires


def requirement_targets(catalog: Catalog) -> Iterator[Fault]:
    """Requirements and bundles name components that exist."""
    known = set(catalog.component_ids)
    for _, release, where in _releases(catalog):
        for requirement in _requirements(release):
            if requirement.component not in known:
                yield Fault(where, f"requires unknown component {requirement.component}")
        for name in release.bundles or ():
            if name not in known:
                yield Fault(where, f"bundles unknown component {name}")


def requirement_ranges(catalog: Catalog) -> Iterator[Fault]:
    """Ranges parse in the scheme of the component they speak of."""
    for _, release, where in _releases(catalog):
        for requirement in _requirements(release):
            target = catalog.component(requirement.component)
            if target is not None:
                yield from _range_faults(requirement.range, target, where)


def _range_faults(text: str, component: Component, where: str) -> Iterator[Fault]:
    try:
        bounds = Range(text, component.scheme)
    except ValueError as fault:
        yield Fault(where, f"range of {component.id}: {fault}")
        return
    if not bounds.is_any and not _can_hold(bounds, component):
        yield Fault(where, f"no version can be in {component.id} {text}")


def _can_hold(bounds: Range, component: Component) -> bool:
    """Whether some version is in a range: a known release, an operand, or one right beside an operand."""
    if any(r.version in bounds for r in component.releases) or any(o in bounds for o in bounds.operands):
        return True
    beside = []
    for operand in bounds.operands:
        numbers = ".".join(map(str, operand.release))
        beside += [f"{numbers}.1", f"{numbers}.0.1"]
        if operand.release[-1] > 0:
            beside.append(".".join(map(str, (*operand.release[:-1], operand.release[-1] - 1))) + ".9999")
    return any(Version(text, component.scheme) in bounds for text in beside)


def bundle_contradictions(catalog: Catalog) -> Iterator[Fault]:
    """What a release bundles satisfies what the same release requires."""
    for _, release, where in _releases(catalog):
        for requirement in release.requires or ():
            bundled = (release.bundles or {}).get(requirement.component)
            target = catalog.component(requirement.component)
            if bundled is None or target is None or requirement.extra:
                continue
            version = parsed_version(target, bundled)
            bounds = parsed_range(requirement.range, target.scheme)
            if version is not None and bounds is not None and version not in bounds:
                yield Fault(
                    where, f"bundles {requirement.component} {bundled} but requires {requirement.range}"
                )


def duplicate_releases(catalog: Catalog) -> Iterator[Fault]:
    """No release twice, no build twice for one architecture."""
    for component in catalog.components():
        counted = Counter(r.version for r in component.releases)
        for version, count in counted.items():
            if count > 1:
                yield Fault(f"components/{component.id}.json", f"{version} occurs {count} times")
        for release in component.releases:
            seen: Counter[tuple[str, str]] = Counter()
            for build in release.builds:
                seen.update((build.label, a) for a in build.arch or ("any",))
            for (label, arch), count in seen.items():
                if count > 1:
                    yield Fault(
                        f"components/{component.id}.json {release.version}", f"build {label} twice for {arch}"
                    )


def alias_clashes(catalog: Catalog) -> Iterator[Fault]:
    """An alias names one component only."""
    owner: dict[str, str] = {i: i for i in catalog.component_ids}
    for component in catalog.components():
        for alias in {normalised(a) for a in component.aliases}:
            other = owner.setdefault(alias, component.id)
            if other != component.id:
                yield Fault(f"components/{component.id}.json", f"alias {alias} belongs to {other} too")


def sources_present(catalog: Catalog) -> Iterator[Fault]:
    """Every release, GPU row, rule and image has a source."""
    for _, release, where in _releases(catalog):
        if not release.sources:
            yield Fault(where, "no source")
    for gpu in catalog.gpus():
        for row in gpu.rows:
            if not row.sources:
                yield Fault(f"gpus/{gpu.id}.json", f"{row.component} {row.range}: no source")
    for rule in catalog.rules:
        if not rule.sources:
            yield Fault(rule.origin, "no source")
    for image in catalog.images:
        if not image.sources:
            yield Fault(f"images {image.name}", "no source")


def source_keys(catalog: Catalog) -> Iterator[Fault]:
    """Source keys stand in the file's table, or are a URL or purl themselves."""
    for component, release, where in _releases(catalog):
        for key in release.sources:
            if key not in component.sources and not key.startswith(("http", "pkg:")):
                yield Fault(where, f"unknown source key {key}")
    for rule in catalog.rules:
        for key in rule.sources:
            if key not in rule.source_table and not key.startswith(("http", "pkg:")):
                yield Fault(rule.origin, f"unknown source key {key}")


def dates(catalog: Catalog) -> Iterator[Fault]:
    """Dates are ISO days (a hole: releases without one)."""
    for _, release, where in _releases(catalog):
        if release.date and not _DAY.match(release.date):
            yield Fault(where, f"date {release.date!r} is no ISO day")


def date_holes(catalog: Catalog) -> Iterator[Fault]:
    """Releases whose date nobody knows."""
    for _, release, where in _releases(catalog):
        if not release.date:
            yield Fault(where, "no date")


def unread_requirements(catalog: Catalog) -> Iterator[Fault]:
    """Releases whose requirements were not read."""
    for _, release, where in _releases(catalog):
        if release.requires is None:
            yield Fault(where, "requirements unknown")


def rule_subjects(catalog: Catalog) -> Iterator[Fault]:
    """Rules speak of components, attributes and prefixes that exist."""
    for rule in catalog.rules:
        for subject in sorted(rule.subject_names() | set(rule.subjects)):
            fault = _subject_fault(subject, catalog)
            if fault:
                yield Fault(rule.origin, fault)


def _subject_fault(subject: str, catalog: Catalog) -> str:
    prefix, colon, _ = subject.partition(":")
    if colon:
        return "" if prefix in PREFIXES else f"unknown prefix in {subject}"
    head, _, attribute = subject.partition(".")
    if head in _FIXED_HEADS:
        return ""
    component = catalog.component(head)
    if component is None:
        return f"unknown component in {subject}"
    if (
        attribute
        and attribute not in component.attribute_types
        and attribute not in ("copies", "local", "flavour", "packages", "pin")
    ):
        return f"{head} declares no attribute {attribute}"
    return ""


def rule_ranges(catalog: Catalog) -> Iterator[Fault]:
    """Ranges in rules parse and are not empty."""
    for rule in catalog.rules:
        for condition in rule.conditions():
            for term in _terms(condition):
                component = catalog.component(head_of(term.subject))
                plain = component is not None and "." not in term.subject
                if plain and component is not None and isinstance(term.test, InRange):
                    yield from _range_faults(term.test.text, component, rule.origin)
                test = term.test.test if isinstance(term.test, NotTest) else term.test
                if isinstance(test, Matches):
                    yield from _pattern_fault(test.pattern, rule.origin)


def _pattern_fault(pattern: str, where: str) -> Iterator[Fault]:
    try:
        re.compile(pattern)
    except re.error as fault:
        yield Fault(where, f"pattern {pattern!r}: {fault}")


def _terms(condition: Condition) -> Iterator[Term]:
    match condition:
        case Term():
            yield condition
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _terms(part)
        case Not(part):
            yield from _terms(part)


def rule_ids(catalog: Catalog) -> Iterator[Fault]:
    """Rule ids are unique and causes exist."""
    counted = Counter(r.id for r in catalog.rules)
    for rule in catalog.rules:
        if counted[rule.id] > 1:
            yield Fault(rule.origin, f"id {rule.id} is not unique")
        for name in rule.cause_of:
            if name not in counted:
                yield Fault(rule.origin, f"cause_of names unknown rule {name}")


def rule_logs(catalog: Catalog) -> Iterator[Fault]:
    """Rules ask only for line signatures that exist, and patterns of signatures compile."""
    known = {s.id for s in catalog.signatures}
    for rule in catalog.rules:
        for subject in sorted(rule.subject_names()):
            if subject.startswith("log:") and head_of(subject).removeprefix("log:") not in known:
                yield Fault(rule.origin, f"no signature for {subject}")
    for signature in catalog.signatures:
        for pattern in filter(None, (signature.pattern, signature.frame)):
            yield from _pattern_fault(pattern, f"signature {signature.id}")
        if not signature.anchors:
            yield Fault(f"signature {signature.id}", "no anchor")


def rule_remedies(catalog: Catalog) -> Iterator[Fault]:
    """Remedies set things that exist, and are told where things that exist say so."""
    for rule in catalog.rules:
        for remedy in rule.remedies:
            for subject in subjects_of(remedy.when) if remedy.when else ():
                if fault := _subject_fault(subject, catalog):
                    yield Fault(rule.origin, f"remedy: {fault}")
            for subject in remedy.sets:
                if ":" not in subject and catalog.component(subject) is None:
                    yield Fault(rule.origin, f"remedy sets unknown component {subject}")


def gpu_rows(catalog: Catalog) -> Iterator[Fault]:
    """GPU rows name components, and their ranges parse."""
    for gpu in catalog.gpus():
        for row in gpu.rows:
            component = catalog.component(row.component)
            if component is None:
                yield Fault(f"gpus/{gpu.id}.json", f"unknown component {row.component}")
            else:
                yield from _range_faults(row.range, component, f"gpus/{gpu.id}.json")


def instance_gpus(catalog: Catalog) -> Iterator[Fault]:
    """Instance types have GPUs that exist."""
    for instance in catalog.instances():
        if instance.gpu not in catalog.gpu_ids:
            yield Fault(f"instances/{instance.id}.json", f"unknown GPU {instance.gpu}")


def image_contents(catalog: Catalog) -> Iterator[Fault]:
    """Images hold components that exist, in versions that parse; no image twice."""
    counted = Counter(i.name for i in catalog.images)
    for image in catalog.images:
        if counted[image.name] > 1:
            yield Fault(f"images {image.name}", "occurs more than once")
        for name, text in image.contents.items():
            component = catalog.component(name)
            if component is None:
                yield Fault(f"images {image.name}", f"holds unknown component {name}")
            elif parsed_version(component, text) is None:
                yield Fault(f"images {image.name}", f"{name} {text!r} is no version")


def image_tags(catalog: Catalog) -> Iterator[Fault]:
    """What families read out of tags: patterns compile and name what is taken from them, for components that exist."""
    for family, body in catalog.families.items():
        where = f"images/families.json {family}"
        for row in body.get("tags", ()):
            faults = list(_pattern_fault(row["pattern"], where))
            yield from faults
            for name, text in row["contents"].items():
                if catalog.component(name) is None:
                    yield Fault(where, f"a tag tells of unknown component {name}")
                named = re.compile(row["pattern"]).groupindex if not faults else {}
                if not faults and not named.keys() >= set(re.findall(r"\\g<(\w+)>", text)):
                    yield Fault(where, f"{text!r} takes what the pattern does not name")


def attribute_types(catalog: Catalog) -> Iterator[Fault]:
    """Attributes are declared and have their declared type."""
    for _, release, where in _releases(catalog):
        for attributes in (release.attributes, *(b.attributes for b in release.builds)):
            for name in attributes:
                try:
                    attributes[name]
                except MatrixError as fault:
                    yield Fault(where, fault.what)


def index_is_current(catalog: Catalog) -> Iterator[Fault]:
    """index.json holds the names that the components have, and what the rules demand."""
    run = "run: stackcheck matrices index"
    if dict(catalog.aliases) != catalog.gathered_aliases():
        yield Fault("index.json", f"differs from the components; {run}")
    if catalog.rule_index and catalog.rule_index != catalog.rulebook.indexed():
        yield Fault("index.json", f"differs from the rules; {run}")


CHECKS: tuple[Check, ...] = (
    Check("REF:001", "requirements and bundles name known components", requirement_targets),
    Check("REF:002", "rules speak of known subjects", rule_subjects),
    Check("REF:003", "rule ids unique, causes exist", rule_ids),
    Check("REF:004", "line signatures exist and compile", rule_logs),
    Check("REF:005", "remedies set known components", rule_remedies),
    Check("REF:006", "GPU rows name known components", gpu_rows),
    Check("REF:007", "instance types have known GPUs", instance_gpus),
    Check("REF:008", "images hold known components in readable versions", image_contents),
    Check("REF:009", "aliases are unambiguous", alias_clashes),
    Check("REF:010", "index.json is current", index_is_current),
    Check("REF:011", "tags of images tell of known components", image_tags),
    Check("RNG:001", "requirement ranges parse and are not empty", requirement_ranges),
    Check("RNG:002", "rule ranges parse and are not empty", rule_ranges),
    Check("CON:001", "bundles agree with requirements", bundle_contradictions),
    Check("CON:002", "no release or build twice", duplicate_releases),
    Check("ATT:001", "attributes have their declared types", attribute_types),
    Check("SRC:001", "every fact has a source", sources_present),
    Check("SRC:002", "source keys resolve", source_keys),
    Check("DAT:001", "dates are ISO days", dates),
    Check("HOL:001", "releases without a date", date_holes, fatal=False),
    Check("HOL:002", "releases with unread requirements", unread_requirements, fatal=False),
)


def lint(
    catalog: Catalog, progress: Callable[[str], None] = lambda _: None
) -> tuple[tuple[Check, tuple[Fault, ...]], ...]:
    """Return every check with its faults; a file that cannot be parsed at all is one fault of its own.

    `progress` is told what each check is about before it runs.
    """
    results = []
    for check in CHECKS:
        progress(f"{check.code} {check.name}")
        try:
            faults = tuple(check.run(catalog))
        except MatrixError as fault:
            faults = (Fault(fault.where, fault.what),)
        results.append((check, faults))
    return tuple(results)
