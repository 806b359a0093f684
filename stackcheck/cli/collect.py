"""From files, standard input or this machine to an inventory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stackcheck.catalog.catalog import Catalog
from stackcheck.model.inventory import Inventory


def read_inventory(names: Sequence[str], catalog: Catalog, *, forced_format: str | None = None) -> Inventory:
    """Return what all files together say about one node; `-` is standard input.

    Raises:
        InputError: a file cannot be read.
    """
    from stackcheck.ingest import ingest
    from stackcheck.ingest.read import file_name, read_file

    texts = [("stdin" if name == "-" else file_name(name), read_file(name)) for name in names]
    return ingest(texts, aliases=catalog.aliases, gpu_names=catalog.gpu_names, forced_format=forced_format)


def probe_inventory(catalog: Catalog, **options: Any) -> Inventory:
    """Return what the probes see on this machine, or below another root."""
    from stackcheck.model.inventory_json import inventory_from_json
    from stackcheck_probes import collect

    body = collect(**options)
    return with_packages(inventory_from_json(body, where="probe"), body.get("packages"), catalog)


def with_packages(inventory: Inventory, packages: Any, catalog: Catalog) -> Inventory:
    """Return an inventory with the Python packages of a probe added as components, where the catalog knows them."""
    from dataclasses import replace

    from stackcheck.catalog.catalog import normalised
    from stackcheck.model.inventory import Evidence, Observation

    components = dict(inventory.components)
    for package in packages if isinstance(packages, list) else ():
        if not isinstance(package, Mapping):
            continue
        name, version = str(package.get("name", "")), str(package.get("version", ""))
        component = catalog.aliases.get(normalised(name))
        if component is None or not version:
            continue
        seen = Observation(
            version=version,
            scope="container",
            path=str(package.get("path", "")),
            evidence=Evidence("dist-info", str(package.get("path", "")), f"{name}=={version}"),
            attributes=dict(package.get("attributes") or {}),
        )
        components[component] = (*components.get(component, ()), seen)
    return replace(inventory, components=components)
