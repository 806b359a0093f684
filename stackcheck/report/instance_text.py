"""Instance types for people and for programs: the table of all, and the fabric of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stackcheck.model.release import Gpu, Instance
from stackcheck.report.sources_text import source_line, source_to_json
from stackcheck.report.style import NARROWEST, Style, visible, wrapped
from stackcheck.report.tables import pairs, table
from stackcheck.report.values_text import attributes_json, value_text
from stackcheck.report.wording import openable

_FABRIC = ("efa", "gdr", "network", "nitro", "nvlink", "ofi", "rdma", "dedicated_topology", "tuner", "ultra")
"""Beginnings of the attributes that describe how nodes and GPUs talk."""


def render_instances(instances: Sequence[Instance], *, colour: bool = False, ascii_only: bool = False) -> str:
    """Return a table of instance types as text that ends with a newline; lines are as long as they are."""
    style = Style(colour, ascii_only)
    heading = ("instance", "gpu", "n", "cpu", "efa", "Gbit/s", "NVLink", "vCPU", "GiB", "NVMe GB")
    lines = table(heading, [_row(i) for i in instances], style, right=frozenset({2, 5, 6, 7, 8, 9}))
    return style.encode("\n".join(lines)) + "\n"


def _row(instance: Instance) -> tuple[str, ...]:
    return (
        instance.id,
        instance.gpu,
        "?" if instance.gpu_count is None else str(instance.gpu_count),
        _told(instance, "arch"),
        _efa(instance),
        _told(instance, "network_gbps"),
        _told(instance, "nvlink_domain"),
        _told(instance, "vcpus"),
        _told(instance, "memory_gib"),
        _told(instance, "nvme_gb"),
    )


def _efa(instance: Instance) -> str:
    has = instance.attributes.get("efa")
    if has is None:
        return "?"
    if not has:
        return "no"
    generation = instance.attributes.get("efa_generation")
    interfaces = instance.attributes.get("efa_interfaces")
    version = f"v{generation}" if generation is not None else "yes"
    return version if interfaces is None else f"{version} x {interfaces}"


def _told(instance: Instance, attribute: str) -> str:
    value = instance.attributes.get(attribute)
    return "?" if value is None else value_text(value)


def render_instance(
    instance: Instance, gpu: Gpu | None, *, colour: bool = False, width: int = 100, ascii_only: bool = False
) -> str:
    """Return what is known of an instance type, its fabric first, as text that ends with a newline."""
    style = Style(colour, ascii_only)
    return style.encode("\n".join(_instance(instance, gpu, style, max(width, NARROWEST)))) + "\n"


def _instance(instance: Instance, gpu: Gpu | None, style: Style, width: int) -> Iterator[str]:
    count = "" if instance.gpu_count is None else f"{instance.gpu_count} x "
    chip = gpu.name if gpu else instance.gpu
    cpu = instance.attributes.get("arch")
    about = [f"{count}{chip}", "" if cpu is None else value_text(cpu), instance.family]
    yield f"{style.paint(visible(instance.id), 'bold')}  {visible(style.dot.join(p for p in about if p))}"
    if instance.aliases:
        yield from wrapped(visible(f"also known as {', '.join(instance.aliases)}"), width, "  ", "    ")
    items = [(name, value_text(value)) for name, value in sorted(instance.attributes.items())]
    least = max((len(name) for name, _ in items), default=0)
    for title, part in (
        ("fabric", [i for i in items if i[0].startswith(_FABRIC)]),
        ("machine", [i for i in items if not i[0].startswith(_FABRIC)]),
    ):
        if part:
            yield ""
            yield style.paint(title, "bold")
            yield from pairs(part, style, width, least=least)
    if instance.notes:
        yield ""
    for note in instance.notes:
        yield from wrapped(visible(note), width, "note: ", "      ")
    yield ""
    yield style.paint("sources", "bold")
    for source in (s for s in instance.sources.values() if openable(s.ref)):
        for line in wrapped(source_line(source), width, "  ", "    "):
            yield style.paint(line, "dim")


def instance_to_json(instance: Instance, *, whole: bool = True) -> dict[str, Any]:
    """Return the JSON object of an instance type; `whole` adds notes and sources."""
    body: dict[str, Any] = {
        "id": instance.id,
        "gpu": instance.gpu,
        "gpu_count": instance.gpu_count,
        "family": instance.family,
        "aliases": list(instance.aliases),
        "attributes": attributes_json(instance.attributes),
    }
    if whole:
        body["notes"] = list(instance.notes)
        body["sources"] = [source_to_json(s) for s in instance.sources.values()]
    return body
