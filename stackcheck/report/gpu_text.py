"""GPUs for people and for programs: the table of all, and the compatibility matrix of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from stackcheck.model.kinds import Grade
from stackcheck.model.release import Gpu, GpuRow, Instance
from stackcheck.model.sourcing import sources_of
from stackcheck.report.sources_text import Footnotes, source_to_json
from stackcheck.report.style import NARROWEST, Style, visible, wrapped
from stackcheck.report.tables import pairs, table
from stackcheck.report.values_text import attributes_json, value_text

_LEGEND = "cc: compute capability; driver and cuda: the first that work; modules: kernel modules that work"
_NEEDS = (("fabric_manager", "FM"), ("nvlsm", "NVLSM"), ("imex", "IMEX"))


def render_gpus(gpus: Sequence[Gpu], *, colour: bool = False, ascii_only: bool = False) -> str:
    """Return a table of GPUs as text that ends with a newline; lines are as long as they are."""
    style = Style(colour, ascii_only)
    heading = ("gpu", "architecture", "cc", "cpu", "driver", "cuda", "modules", "services", "memory")
    lines = [*table(heading, [_row(g) for g in gpus], style, right=frozenset({2, 8})), _LEGEND]
    return style.encode("\n".join(lines)) + "\n"


def _row(gpu: Gpu) -> tuple[str, ...]:
    floor = _told(gpu, "min_driver") or _told(gpu, "min_driver_branch")
    first = _told(gpu, "first_cuda")
    services = ["?" if gpu.attributes.get(key) is None else "" for key, _ in _NEEDS]
    needed = [word for key, word in _NEEDS if gpu.attributes.get(key) is True]
    open_only = gpu.attributes.get("open_module_required")
    modules = "?" if open_only is None else ("open only" if open_only else "any")
    memory = _told(gpu, "memory_gb")
    return (
        gpu.id,
        gpu.architecture,
        _told(gpu, "capability") or "?",
        _told(gpu, "arch") or "?",
        floor or "?",
        first or "?",
        modules,
        " ".join(needed) or ("?" if any(services) else "none"),
        f"{memory} GB" if memory else "?",
    )


def _told(gpu: Gpu, attribute: str) -> str:
    value = gpu.attributes.get(attribute)
    return "" if value is None else value_text(value)


def render_gpu(
    gpu: Gpu,
    instances: Sequence[Instance],
    *,
    colour: bool = False,
    width: int = 100,
    ascii_only: bool = False,
) -> str:
    """Return the compatibility matrix of a GPU as text that ends with a newline; `instances` are the types that have it."""
    style = Style(colour, ascii_only)
    return style.encode("\n".join(_gpu(gpu, instances, style, max(width, NARROWEST)))) + "\n"


def _gpu(gpu: Gpu, instances: Sequence[Instance], style: Style, width: int) -> Iterator[str]:
    notes = Footnotes()
    yield f"{style.paint(visible(gpu.name), 'bold')}  {visible(style.dot.join(p for p in (gpu.id, gpu.architecture) if p))}"
    yield from wrapped(visible(f"also known as {', '.join(gpu.aliases)}"), width, "  ", "    ")
    yield ""
    items = [(name, value_text(value)) for name, value in sorted(gpu.attributes.items())]
    if gpu.pci_ids:
        items.append(("pci_ids", ", ".join(gpu.pci_ids)))
    if instances:
        items.append(("instances", ", ".join(i.id for i in instances)))
    yield from pairs(items, style, width)
    yield ""
    yield style.paint("compatibility", "bold") + style.paint(
        "  the first row that holds a version counts; a version in no row is unknown", "dim"
    )
    for component in dict.fromkeys(r.component for r in gpu.rows):
        yield f"  {style.paint(visible(component, 60), 'bold')}"
        for row in gpu.rows:
            if row.component == component:
                yield from _matrix_row(gpu, row, notes, style, width)
    yield ""
    yield "  ".join(f"{style.sign(g)} {g}" for g in Grade if any(r.grade == g for r in gpu.rows))
    for note in gpu.notes:
        yield from wrapped(visible(note), width, "note: ", "      ")
    yield ""
    yield from notes.lines(style, width)


def _matrix_row(gpu: Gpu, row: GpuRow, notes: Footnotes, style: Style, width: int) -> Iterator[str]:
    grade = Grade(row.grade)
    marks = notes.marks(sources_of(gpu.sources, row.sources))
    text = f"{row.range or 'any version'}  {grade}: {row.why} {marks}".rstrip()
    lines = wrapped(visible(text), width, " " * 6, " " * 8)
    yield f"    {style.sign(grade)} {lines[0].lstrip()}"
    yield from lines[1:]


def gpu_to_json(gpu: Gpu, instances: Sequence[Instance] = (), *, whole: bool = True) -> dict[str, Any]:
    """Return the JSON object of a GPU; `whole` adds its matrix, the instance types that have it, notes and sources."""
    body: dict[str, Any] = {
        "id": gpu.id,
        "name": gpu.name,
        "architecture": gpu.architecture,
        "aliases": list(gpu.aliases),
        "pci_ids": list(gpu.pci_ids),
        "attributes": attributes_json(gpu.attributes),
    }
    if whole:
        body["components"] = [
            {
                "component": r.component,
                "range": r.range,
                "grade": r.grade,
                "why": r.why,
                "sources": [source_to_json(s) for s in sources_of(gpu.sources, r.sources)],
            }
            for r in gpu.rows
        ]
        body["instances"] = [i.id for i in instances]
        body["notes"] = list(gpu.notes)
    return body
