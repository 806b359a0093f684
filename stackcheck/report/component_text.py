"""Components for people and for programs: the table of all, the releases of one, and one release in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stackcheck.model.demand import ComponentView
from stackcheck.model.kinds import Grade
from stackcheck.model.release import Build, Component, Release, Requirement
from stackcheck.model.sourcing import sources_of
from stackcheck.report.sources_text import Footnotes
from stackcheck.report.style import NARROWEST, Style, counted, visible, wrapped
from stackcheck.report.tables import pairs, table
from stackcheck.report.values_text import value_text

MOST_RELEASES = 15
"""Releases that are listed unless all are asked for."""
MOST_NAMES = 10
"""Releases of one row of a GPU that are named unless all are asked for."""


def render_components(
    components: Sequence[Component], *, colour: bool = False, ascii_only: bool = False
) -> str:
    """Return a table of components as text that ends with a newline; lines are as long as they are."""
    style = Style(colour, ascii_only)
    heading = ("component", "layer", "scope", "releases", "newest", "of", "what it is")
    rows = []
    for c in components:
        newest = c.releases[-1] if c.releases else None
        shown = newest.version.text if newest else "-"
        date = (newest.date if newest else "") or "?"
        rows.append((c.id, c.layer, c.scope, str(len(c.releases)), shown, date, c.name))
    return style.encode("\n".join(table(heading, rows, style, right=frozenset({3})))) + "\n"


def render_component(
    view: ComponentView, *, colour: bool = False, width: int = 100, ascii_only: bool = False
) -> str:
    """Return releases, builds and requirements of a component as text that ends with a newline."""
    style = Style(colour, ascii_only)
    return style.encode("\n".join(_component(view, style, max(width, NARROWEST)))) + "\n"


def _component(view: ComponentView, style: Style, width: int) -> Iterator[str]:
    component, notes = view.component, Footnotes()
    about = (component.id, component.layer, component.scope)
    yield f"{style.paint(visible(component.name), 'bold')}  {visible(style.dot.join(about))}"
    known = [a for a in component.aliases if a != component.id]
    for label, text in (
        ("", component.description),
        ("packages ", ", ".join(component.packages)),
        ("also known as ", ", ".join(known)),
    ):
        if text:
            yield from wrapped(visible(f"{label}{text}"), width, "  ", "    ")
    yield ""
    yield from _on_gpu(view, notes, style, width)
    yield from _list(view, style, width)
    for release in view.releases if view.every else view.releases[:1]:
        yield ""
        yield from _release(component, release, notes, style, width)
    yield from _demand(view, style, width)
    yield ""
    yield from notes.lines(style, width)


def _on_gpu(view: ComponentView, notes: Footnotes, style: Style, width: int) -> Iterator[str]:
    gpu = view.gpu
    if gpu is None:
        return
    yield style.paint(visible(f"on {gpu.name}"), "bold") + style.paint(
        "  by release; a build may lack what another of its release has", "dim"
    )
    for told in view.on_gpu:
        grade, text, marks = Grade.UNKNOWN, "unknown: its matrix says nothing of these", ""
        if told.row is not None:
            grade = Grade(told.row.grade)
            marks = notes.marks(sources_of(gpu.sources, told.row.sources))
            text = f"{told.row.range or 'any version'}  {grade}: {told.row.why}"
        lines = wrapped(visible(f"{text} {marks}".rstrip()), width, "    ", "    ")
        yield f"  {style.sign(grade)} {lines[0].lstrip()}"
        yield from lines[1:]
        shown = told.releases if view.every else told.releases[:MOST_NAMES]
        names = ", ".join(r.version.text for r in shown)
        more = len(told.releases) - len(shown)
        yield from wrapped(
            visible(f"{names}{f' and {more} older' if more else ''}"), width, "      ", "      "
        )
    if not view.on_gpu:
        yield "  no release is known"
    yield ""


def _list(view: ComponentView, style: Style, width: int) -> Iterator[str]:
    if not view.releases:
        yield "no release is known: it can be named in rules, not resolved"
        return
    yield style.paint(counted(len(view.releases), "release", "releases") + ", newest first", "bold")
    shown = view.releases if view.every else view.releases[:MOST_RELEASES]
    width_of = max(len(r.version.text) for r in shown)
    for release in shown:
        builds = _builds_text(release.builds)
        text = "  ".join(p for p in (release.date or "undated", _marks(release), builds) if p)
        first = f"  {release.version.text:<{width_of}}  "
        yield from wrapped(visible(text), width, first, " " * len(first))
    if len(shown) < len(view.releases):
        yield style.paint(f"  and {len(view.releases) - len(shown)} older with --all", "dim")


def _marks(release: Release) -> str:
    marks = []
    if release.yanked:
        marks.append("yanked")
    if release.prerelease:
        marks.append("pre-release")
    if release.eol:
        marks.append(f"end of life {release.eol}")
    if release.requires is None:
        marks.append("requirements not read")
    return ", ".join(marks)


def _builds_text(builds: Sequence[Build]) -> str:
    """Return the labels of all builds, each once, with the CPU architectures it is for."""
    by_label: dict[tuple[str, bool | None], list[str]] = {}
    for build in builds:
        by_label.setdefault((build.label, build.exists), []).extend(build.arch)
    parts = []
    for (label, exists), arches in by_label.items():
        arch = f" ({', '.join(dict.fromkeys(arches))})" if arches else ""
        parts.append(f"{label}{arch}{'' if exists else ' not seen'}")
    return ", ".join(parts)


def _build_label(build: Build) -> str:
    arch = f" ({'/'.join(build.arch)})" if build.arch else ""
    return f"{build.label}{arch}{'' if build.exists else ' not seen'}"


def _release(
    component: Component, release: Release, notes: Footnotes, style: Style, width: int
) -> Iterator[str]:
    marks = notes.marks(sources_of(component.sources, release.sources, component.read))
    yield style.paint(visible(f"{component.id} {release.version}"), "bold") + f" {marks}".rstrip()
    if release.aka:
        yield from wrapped(visible(f"also called {', '.join(release.aka)}"), width, "  ", "    ")
    if release.attributes:
        yield from pairs([(n, value_text(v)) for n, v in sorted(release.attributes.items())], style, width)
    if release.requires is None:
        yield "  its requirements were not read: unknown"
    elif not release.requires:
        yield "  requires nothing of the components known here"
    else:
        yield from _requirements(release.requires, width, "  ")
    for part, version in sorted((release.bundles or {}).items()):
        yield visible(f"  brings {part} {version}")
    for build in release.builds:
        yield from _build(component, build, notes, style, width)
    for note in release.notes:
        yield from wrapped(visible(note), width, "  note: ", "        ")


def _build(component: Component, build: Build, notes: Footnotes, style: Style, width: int) -> Iterator[str]:
    sources = [s for s in build.sources if s]
    marks = notes.marks(sources_of(component.sources, sources, component.read))
    default = ", the default of the package index" if build.default else ""
    yield f"  build {style.paint(visible(_build_label(build)), 'bold')}{default} {marks}".rstrip()
    told = "; ".join(f"{n} {value_text(v)}" for n, v in sorted(build.attributes.items()))
    if told:
        yield from wrapped(visible(told), width, "    ", "      ")
    yield from _requirements(build.requires, width, "    ")


def requirement_text(asked: Requirement) -> str:
    """Return a requirement with its conditions: `torch ==2.14.0 (extra vllm; on x86_64)`."""
    conditions = [
        f"extra {asked.extra}" if asked.extra else "",
        f"Python {asked.python}" if asked.python else "",
        f"on {'/'.join(asked.arch)}" if asked.arch else "",
        "if it is there" if asked.optional else "",
    ]
    told = "; ".join(c for c in conditions if c)
    return f"{asked.component} {asked.range}".strip() + (f" ({told})" if told else "")


def _requirements(asked: Sequence[Requirement], width: int, indent: str) -> Iterator[str]:
    if asked:
        text = "requires " + ", ".join(requirement_text(r) for r in asked)
        yield from wrapped(visible(text), width, indent, f"{indent}  ")


def _demand(view: ComponentView, style: Style, width: int) -> Iterator[str]:
    if view.required_by:
        yield ""
        yield style.paint("required by", "bold") + style.paint("  the newest release that asks", "dim")
        rows = [
            (
                f"{r.component} {r.version}{f' ({r.build})' if r.build else ''}{f'[{r.extra}]' if r.extra else ''}",
                f"{r.range or 'any version'}{style.dot}{counted(r.releases, 'release asks', 'releases ask')}",
            )
            for r in view.required_by
        ]
        yield from pairs(rows, style, width)
    if view.brought_by:
        yield ""
        yield style.paint("brought by", "bold") + style.paint("  the newest release that brings it", "dim")
        yield from pairs([(f"{b.component} {b.version}", b.brings) for b in view.brought_by], style, width)
