"""What a probe's inventory says beyond the model: Python packages, environments, GPUs by PCI id, GPU code of packages.

Probes know no alias and no GPU model; the catalog does. So their lists become components and facts here, and the same wherever the
inventory is judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackcheck.catalog.catalog import Catalog, normalised
from stackcheck.model.inventory import Evidence, FactValue, Inventory, Observation

CODE, PTX = "gpu_code", "ptx_bytes"
MISSING, COMPILED, COMPILED_ASIDE = "code_missing", "code_jit", "code_jit_aside"
EXTENSIONS, EXTENSIONS_ASIDE = "extensions_for_other_torch", "extensions_for_other_torch_aside"
ELSEWHERE = "other_environments"
_LONGEST = 16  # digits of a size in bytes
MOST_PACKAGES, MOST_COPIES, MOST_ENVIRONMENTS = 50_000, 100, 64  # of a real node: some thousand, two, ten


def with_probed(inventory: Inventory, body: Any, catalog: Catalog) -> Inventory:
    """Return an inventory with what `body`, the JSON object of a probe, lists besides components and facts."""
    if not isinstance(body, Mapping):
        return inventory
    packages = [p for p in _list(body.get("packages"))[:MOST_PACKAGES] if isinstance(p, Mapping)]
    inventory = _with_gpu(inventory, body.get("gpu"), catalog)
    inventory = _with_packages(inventory, packages, catalog)
    inventory = _with_environments(inventory, body.get("environments"), packages, catalog)
    return with_gpu_code(_with_extensions(inventory, catalog), catalog)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _counts(package: Mapping[str, Any]) -> bool:
    """Whether `python3` would import this package: it is in the active environment, and no earlier one of its name hides it."""
    return package.get("active", True) is True and not package.get("shadowed_by")


def _with_fact(inventory: Inventory, name: str, value: FactValue, evidence: Evidence) -> Inventory:
    return inventory._replace(
        facts={**inventory.facts, name: value},
        evidence={**inventory.evidence, f"fact:{name}": evidence},
    )


def _with_gpu(inventory: Inventory, gpu: Any, catalog: Catalog) -> Inventory:
    """Name the GPU by its PCI device id, where no driver named it or gave a name that nobody knows."""
    if inventory.gpu_model and catalog.find_gpu(inventory.gpu_model) is not None:
        return inventory
    ids = {str(i).lower() for i in _list(gpu.get("pci_ids"))} if isinstance(gpu, Mapping) else set()
    named = {g.id: g for g in catalog.gpus() if ids & {i.lower() for i in g.pci_ids}} if ids else {}
    if len(named) != 1:
        return inventory
    (known,) = named.values()
    return inventory._replace(
        gpu_model=known.name,
        evidence={
            **inventory.evidence,
            "gpu": Evidence("sysfs", "/sys/bus/pci/devices", f"PCI device {', '.join(sorted(ids))}"),
        },
    )


def _with_packages(inventory: Inventory, packages: list[Mapping[str, Any]], catalog: Catalog) -> Inventory:
    """Add the packages that Python would import as components, where the catalog knows them."""
    components = dict(inventory.components)
    for package in packages:
        name, version = str(package.get("name", "")), str(package.get("version", ""))
        component = catalog.aliases.get(normalised(name))
        if component is None or not version or not _counts(package):
            continue
        where, own = str(package.get("path", "")), package.get("attributes")
        seen = Observation(
            version=version,
            scope="container",
            path=where,
            evidence=Evidence("dist-info", where, f"{name}=={version}"),
            attributes={"package": name, **(own if isinstance(own, Mapping) else {})},
        )
        known = components.get(component, ())
        if len(known) < MOST_COPIES and seen not in known:
            components[component] = (*known, seen)
    return inventory._replace(components=components)


def _with_environments(
    inventory: Inventory, environments: Any, packages: list[Mapping[str, Any]], catalog: Catalog
) -> Inventory:
    """Say which environments hold an engine or framework too, and were not judged because another one is active."""
    told = []
    wanted = set(catalog.policy.get("implied_by", ()))
    for environment in _list(environments)[:MOST_ENVIRONMENTS]:
        if not isinstance(environment, Mapping) or environment.get("active"):
            continue
        prefix = str(environment.get("prefix", ""))
        held = [
            f"{p.get('name')} {p.get('version')}"
            for p in packages
            if p.get("environment") == prefix
            and not p.get("shadowed_by")
            and catalog.aliases.get(normalised(str(p.get("name", "")))) in wanted
        ]
        if held:
            told.append(f"{prefix} ({', '.join(sorted(held))})")
    if not told:
        return inventory
    return _with_fact(inventory, ELSEWHERE, tuple(told), Evidence("dist-info", "environments"))


def _with_extensions(inventory: Inventory, catalog: Catalog) -> Inventory:
    """Tell apart the packages built for another torch that no matrix knows: whether anybody needs them, nobody can say."""
    told = inventory.facts.get(EXTENSIONS)
    if not isinstance(told, tuple) or not told:
        return inventory
    spared = frozenset(catalog.policy.get("brought_along", ()))
    counted = [name for name in told if normalised(str(name)) not in spared]
    known = tuple(name for name in counted if normalised(str(name)) in catalog.aliases)
    aside = tuple(name for name in counted if name not in known)
    evidence = inventory.evidence.get(f"fact:{EXTENSIONS}") or Evidence("elf-symbols", "packages")
    inventory = _with_fact(inventory, EXTENSIONS, known, evidence)
    return _with_fact(inventory, EXTENSIONS_ASIDE, aside, evidence) if aside else inventory


def with_gpu_code(inventory: Inventory, catalog: Catalog) -> Inventory:
    """Return an inventory that says which packages have no code for the GPU, or only such as the driver compiles at first use.

    The probe told what code each holds (fact `gpu_code`), whatever the GPU. Packages that are components with a rule of their own
    about `targets` are left to it; those with little to compile are told apart. Without a GPU nothing is said.
    """
    code = inventory.facts.get(CODE)
    if not isinstance(code, tuple) or not code:
        return inventory
    from stackcheck.check.node import Node
    from stackcheck.model.gpucode import Capability, covers, covers_natively

    capability = Node(catalog, inventory).value("gpu.capability")
    if not isinstance(capability, Capability):
        return inventory
    missing: list[str] = []
    compiled: list[str] = []
    aside: list[str] = []
    spared = frozenset(catalog.policy.get("brought_along", ()))
    sizes, small = _sizes(inventory.facts.get(PTX)), int(catalog.policy.get("small_ptx", 0))
    for entry in code:
        name, _, words = str(entry).partition(": ")
        targets = _parsed(words)
        if not targets or covers_natively(targets, capability) or _has_own_rule(name, catalog):
            continue
        if normalised(name) in spared:
            continue
        told = f"{name} ({words.replace(' ', ', ')})"
        if not covers(targets, capability):
            missing.append(told)
        else:
            (compiled if sizes.get(name, small) >= small else aside).append(told)
    seen = Evidence("fatbin", "packages", f"compute capability {capability}")
    inventory = _with_fact(inventory, MISSING, tuple(missing), seen)
    inventory = _with_fact(inventory, COMPILED_ASIDE, tuple(aside), seen)
    return _with_fact(inventory, COMPILED, tuple(compiled), seen)


def _sizes(fact: Any) -> dict[str, int]:
    """Return package -> bytes of PTX from what the probe told ("name: bytes")."""
    told = [str(entry).rpartition(": ") for entry in fact] if isinstance(fact, tuple) else []
    return {name: int(size) for name, _, size in told if size.isdecimal() and len(size) < _LONGEST}


def _has_own_rule(package: str, catalog: Catalog) -> bool:
    subject = f"{catalog.aliases.get(normalised(package))}.targets"
    return any(subject in rule.subject_names() for rule in catalog.rules)


def _parsed(words: str) -> list[Any]:
    from stackcheck.model.gpucode import Target

    targets = []
    for word in words.split():
        try:
            targets.append(Target.parse(word))
        except ValueError:
            continue
    return targets
