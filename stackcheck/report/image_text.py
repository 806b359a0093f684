"""Container images for people and for programs. A reference is shown as something to pull only if a source says that it exists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stackcheck.model.kinds import Grade
from stackcheck.model.release import Image, Source
from stackcheck.model.sourcing import sources_of
from stackcheck.report.sources_text import source_line, source_to_json
from stackcheck.report.stack_text import LAYERS
from stackcheck.report.style import LONGEST_VALUE, NARROWEST, Style, visible, wrapped
from stackcheck.report.tables import pairs, table
from stackcheck.report.values_text import value_text
from stackcheck.report.wording import openable

UNVERIFIED = "tag not verified"
Grades = Mapping[str, tuple[Grade, tuple[str, ...]]]
"""What images are worth on the GPU asked about, and why; by image name."""


def pullable(image: Image) -> str:
    """Return the reference to pull, the public one first; empty if no source says that the tag exists."""
    return (image.public_reference or image.reference) if image.verified else ""


def render_images(
    images: Sequence[Image],
    components: Sequence[str],
    grades: Grades | None = None,
    *,
    colour: bool = False,
    ascii_only: bool = False,
) -> str:
    """Return a table of images with what they hold of `components`, as text that ends with a newline; lines are as long as they are."""
    style = Style(colour, ascii_only)
    heading = ("family", "date", *components, "cpu", *(("gpu",) if grades is not None else ()), "image")
    rows = [_row(image, components, grades) for image in images]
    unverified = sum(not i.verified for i in images)
    lines = list(table(heading, rows, style))
    lines.append(f"{len(images)} images" + (f", {unverified} with a {UNVERIFIED}" if unverified else ""))
    return style.encode("\n".join(lines)) + "\n"


def _row(image: Image, components: Sequence[str], grades: Grades | None) -> tuple[str, ...]:
    held = [
        image.contents.get(c, "no" if c in image.absent else "?") for c in components
    ]  # `no` is known, `?` is not
    graded = () if grades is None else (str(grades[image.name][0]),)
    shown = pullable(image) or f"({UNVERIFIED}) {image.name.rpartition('/')[2]}"
    return (image.family, image.date or "?", *held, "/".join(image.arch) or "?", *graded, shown)


def render_image(
    image: Image,
    layers: Mapping[str, str],
    grade: tuple[str, Grade, tuple[str, ...]] | None = None,
    *,
    colour: bool = False,
    width: int = 100,
    ascii_only: bool = False,
) -> str:
    """Return what an image holds, layer by layer, as text that ends with a newline.

    `layers` maps component ids to layers; `grade` is a GPU's name, what the image is worth on it, and why.
    """
    style = Style(colour, ascii_only)
    return style.encode("\n".join(_image(image, layers, grade, style, max(width, NARROWEST)))) + "\n"


def _image(
    image: Image,
    layers: Mapping[str, str],
    grade: tuple[str, Grade, tuple[str, ...]] | None,
    style: Style,
    width: int,
) -> Iterator[str]:
    reference = pullable(image)
    if reference:
        digest = f"@{image.digest}" if image.digest and "@" not in reference else ""
        yield style.paint(visible(reference + digest, LONGEST_VALUE), "bold")
        if "<" in reference:
            yield "  (put your own region into it)"
    else:
        yield f"{visible(image.name, LONGEST_VALUE)}  {style.paint(UNVERIFIED, 'bold', 'yellow')}: no source says that it exists"
    about = [
        ("family", image.family),
        ("grade", f"{image.grade}: what its maker says of it"),
        ("also", image.reference if reference and reference != image.reference else ""),
        ("other tags", ", ".join(image.other_tags)),
        ("platform", image.platform),
        ("purpose", ", ".join(image.purpose)),
        ("cpu", ", ".join(image.arch) or "unknown"),
        ("os", image.os),
        ("date", image.date),
        ("patched until", image.eop),
        *(
            (name, value_text(image.attributes[name]))
            for name in ("min_driver", "targets")
            if name in image.attributes
        ),
    ]
    yield from pairs([(n, v) for n, v in about if v], style, width)
    if grade is not None:
        name, worth, why = grade
        yield ""
        yield f"{style.sign(worth)} {worth} on {visible(name)}, going by its contents"
        for reason in why:
            yield from wrapped(visible(reason), width, "  ", "    ")
    yield from _contents(image, layers, style, width)
    if image.environment:
        yield ""
        yield style.paint("environment", "bold")
        yield from (f"  {visible(f'{n}={v}', LONGEST_VALUE)}" for n, v in sorted(image.environment.items()))
    yield ""
    for note in image.notes:
        yield from wrapped(visible(note), width, "note: ", "      ")
    yield style.paint("sources", "bold")
    for source in (s for s in _sources(image) if openable(s.ref)):
        for line in wrapped(source_line(source), width, "  ", "    "):
            yield style.paint(line, "dim")


def _contents(image: Image, layers: Mapping[str, str], style: Style, width: int) -> Iterator[str]:
    least = max((len(c) for c in (*image.contents, *image.absent)), default=0)
    found = {layers.get(c, "other") for c in image.contents}
    for layer in [*LAYERS, *sorted(found - set(LAYERS))]:
        items = [
            (c, f"{v}  (derived)" if c in image.derived else v)
            for c, v in sorted(image.contents.items())
            if layers.get(c, "other") == layer
        ]
        if items:
            yield ""
            yield style.paint(visible(layer, 40), "bold")
            yield from pairs(items, style, width, least=least)
    yield ""
    if image.absent:
        yield f"surely not in it: {visible(', '.join(sorted(image.absent)), LONGEST_VALUE)}"
    yield "of everything else no source says whether it is in it"


def _sources(image: Image) -> tuple[Source, ...]:
    return sources_of(image.source_table, image.sources)


def image_to_json(image: Image) -> dict[str, Any]:
    """Return the JSON object of an image; `reference` is null where no source says that the tag exists."""
    return {
        "name": image.name,
        "repository": image.repository,
        "tag": image.tag,
        "family": image.family,
        "verified": image.verified,
        "reference": pullable(image) or None,
        "private_reference": (image.reference or None) if image.verified else None,
        "digest": image.digest or None,
        "other_tags": list(image.other_tags),
        "arch": list(image.arch) or None,
        "date": image.date or None,
        "patched_until": image.eop or None,
        "platform": image.platform or None,
        "purpose": list(image.purpose),
        "os": image.os or None,
        "grade": image.grade,
        "contents": dict(sorted(image.contents.items())),
        "derived": list(image.derived),
        "absent": list(image.absent),
        "environment": dict(image.environment),
        "notes": list(image.notes),
        "sources": [source_to_json(s) for s in _sources(image)],
    }
