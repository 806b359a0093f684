"""What each harvester of `registry.HARVESTERS` does with a context: one function per kind of upstream, `Context` to findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from stackcheck.catalog.catalog import Catalog
from stackcheck.harvest import image_tags, packages, release_pages, vendor_tables
from stackcheck.harvest.client import Client
from stackcheck.harvest.door import Door
from stackcheck.harvest.interface import Candidate, HarvestError
from stackcheck.harvest.oci_registry import Registry
from stackcheck.harvest.packages import Remark, Wish
from stackcheck.harvest.requirement_rows import Names
from stackcheck.harvest.upstreams import Upstreams
from stackcheck.model.release import Component


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a harvester may use: the reviewed data, what to read, and the ways out."""

    catalog: Catalog
    components: tuple[Component, ...]
    names: Names
    upstreams: Upstreams
    wish: Wish
    today: str
    client: Client
    door: Door
    newest_tags: int = field(default=5)


Finding = Candidate | Remark


def collect_packages(context: Context) -> Iterator[Finding]:
    """Yield what the package index says of the chosen components that are Python packages."""
    chosen = [c for c in context.components if packages.packages_of(c)]
    yield from packages.harvest(chosen, context.door, context.names, context.wish, context.today)


def collect_pages(context: Context) -> Iterator[Finding]:
    """Yield what release lists and changelogs say of the chosen components."""
    chosen = {c.id for c in context.components}
    for page in context.upstreams.releases:
        if page.component in chosen:
            try:
                data = context.client.get(page.url, most=16_000_000).body
                yield from release_pages.READERS[page.reader](data, page, context.today)
            except HarvestError as fault:
                yield Remark(component=page.component, release="", text=str(fault))


def collect_tables(context: Context) -> Iterator[Finding]:
    """Yield what vendors' tables say of the chosen components."""
    chosen = {c.id for c in context.components}
    for table in context.upstreams.tables:
        if table.component in chosen:
            try:
                data = context.client.get(table.url, most=32_000_000).body
                yield from vendor_tables.candidates(data, table, context.today)
            except HarvestError as fault:
                yield Remark(component=table.component, release="", text=str(fault))


def collect_images(context: Context) -> Iterator[Finding]:
    """Yield what registries say of the newest known tags of each repository."""
    for name in context.upstreams.repositories:
        host, _, repository = name.partition("/")
        known = [
            i for i in context.catalog.images if name in (i.repository, i.public_reference.rpartition(":")[0])
        ]
        recent = sorted(known, key=lambda i: i.date, reverse=True)[: context.newest_tags]
        try:
            registry = Registry(context.client, host)
            yield from image_tags.harvest(registry, host, repository, [i.tag for i in recent], context.today)
        except HarvestError as fault:
            yield Remark(component=name, release="", text=str(fault))
