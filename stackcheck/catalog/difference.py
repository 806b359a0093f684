"""Two inventories held against each other, and images as inventories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from stackcheck.catalog.catalog import Catalog, normalised
from stackcheck.catalog.identify import parsed_version
from stackcheck.model.difference import (
    ComponentChange,
    Difference,
    Direction,
    SettingChange,
    Versions,
)
from stackcheck.model.finding import Finding, Report
from stackcheck.model.inventory import Evidence, Inventory, Observation
from stackcheck.model.release import Component, Image
from stackcheck.model.version import Version

_SINGLE = (
    ("gpu", "gpu_model"),
    ("gpu_count", "gpu_count"),
    ("instance", "instance"),
    ("arch", "arch"),
    ("image", "image"),
)


def image_inventory(image: Image) -> Inventory:
    """Return what is known of an image's contents as the inventory of a container."""
    evidence = Evidence("image", image.name)
    components: dict[str, tuple[Observation, ...]] = {
        name: (Observation(version=version, scope="container", evidence=evidence),)
        for name, version in image.contents.items()
    }
    components.update(dict.fromkeys(image.absent, ()))
    if image.os:
        components.setdefault("os", (Observation(version=image.os, scope="container", evidence=evidence),))
    return Inventory(
        subject=f"{image.repository.rpartition('/')[2]}:{image.tag}",
        arch=image.arch[0] if len(image.arch) == 1 else None,
        image=image.name,
        components=components,
        environment=image.environment,
    )


def difference(
    catalog: Catalog,
    before: Inventory,
    after: Inventory,
    *,
    names: tuple[str, str],
    reports: tuple[Report, Report] | None = None,
) -> Difference:
    """Return what differs, components in the order of the policy's layers; with `reports`, findings too."""
    appeared, gone, remaining = _findings(*reports) if reports else ((), (), 0)
    return Difference(
        before=names[0],
        after=names[1],
        components=tuple(_components(catalog, before, after)),
        settings=tuple(_settings(before, after)),
        appeared=appeared,
        gone=gone,
        remaining=remaining,
        checked=reports is not None,
    )


def _components(catalog: Catalog, before: Inventory, after: Inventory) -> list[ComponentChange]:
    olds, news = _versions(catalog, before), _versions(catalog, after)
    layers: Sequence[str] = catalog.policy["lock_export_layers"]
    found = []
    for name in sorted(olds.keys() | news.keys()):
        component = catalog.component(name)
        old, new = olds.get(name), news.get(name)
        if _same(component, old, new):
            continue
        found.append(
            ComponentChange(
                component=name,
                name=component.name if component else name,
                layer=component.layer if component else "",
                before=old,
                after=new,
                direction=_direction(component, old, new),
            )
        )
    found.sort(key=lambda c: layers.index(c.layer) if c.layer in layers else len(layers))
    return found


def _versions(catalog: Catalog, inventory: Inventory) -> dict[str, tuple[str, ...]]:
    """Return the versions by component id; a name that only an alias knows counts for its component."""
    found: dict[str, tuple[str, ...]] = {}
    for name, seen in inventory.components.items():
        target = name if name in catalog.component_ids else catalog.aliases.get(normalised(name), name)
        versions = dict.fromkeys([*found.get(target, ()), *(o.version or "unknown version" for o in seen)])
        found[target] = tuple(versions)
    return found


def _same(component: Component | None, old: Versions, new: Versions) -> bool:
    if old is None or new is None or len(old) != len(new):
        return old == new
    if component is None:
        return set(old) == set(new)
    return {_key(component, v) for v in old} == {_key(component, v) for v in new}


def _key(component: Component, text: str) -> object:
    """Return what makes two texts the same version: 2.9 and 2.9.0 are, 2.9.0 and 2.9.0+cu130 are not."""
    version = parsed_version(component, text)
    return text if version is None else version.key


def _direction(component: Component | None, old: Versions, new: Versions) -> Direction:
    if old is None or new is None:
        return Direction.STATED if old is None else Direction.UNSTATED
    if not old or not new:
        return Direction.REMOVED if old else Direction.ADDED
    if component is not None and len(old) == len(new) == 1:
        a, b = parsed_version(component, old[0]), parsed_version(component, new[0])
        named = component.scheme == "named"  # ubuntu-24.04 is neither newer nor older than amazonlinux-2023
        if a is not None and b is not None and a.public != b.public and (not named or _name(a) == _name(b)):
            return Direction.NEWER if b.public > a.public else Direction.OLDER
    return Direction.CHANGED


def _name(version: Version) -> str:
    return version.text.rstrip("0123456789.")


def _settings(before: Inventory, after: Inventory) -> Iterator[SettingChange]:
    for subject, attribute in _SINGLE:
        yield from _setting(subject, getattr(before, attribute), getattr(after, attribute))
    yield from _table("env:", before.environment, after.environment)
    yield from _table("", before.facts, after.facts)


def _table(prefix: str, old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[SettingChange]:
    for name in sorted(old.keys() | new.keys()):
        subject = f"{prefix}{name}" if prefix or ":" in name else f"fact:{name}"
        yield from _setting(subject, old.get(name), new.get(name))


def _setting(subject: str, old: object, new: object) -> Iterator[SettingChange]:
    if old != new:
        yield SettingChange(subject, _text(old), _text(new))


def _text(value: object) -> str | None:
    if value is None:
        return None
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _findings(before: Report, after: Report) -> tuple[tuple[Finding, ...], tuple[Finding, ...], int]:
    old = {f.id: f for f in _flat(before.findings)}
    new = {f.id: f for f in _flat(after.findings)}
    appeared = tuple(f for i, f in new.items() if i not in old)
    return appeared, tuple(f for i, f in old.items() if i not in new), len(old.keys() & new.keys())


def _flat(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield findings and those folded under them: one that merely moves under another has not gone."""
    for finding in findings:
        yield finding
        yield from _flat(finding.consequences)
