"""Which images fit: by family, by what they hold, on a GPU, over a driver; and what two images differ in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stackcheck.catalog.catalog import Catalog, normalised
from stackcheck.catalog.evaluate import parsed_range
from stackcheck.catalog.identify import parsed_version
from stackcheck.model.errors import UsageError
from stackcheck.model.kinds import Grade
from stackcheck.model.release import Component, Image, Release
from stackcheck.solver.axes import ARCHES, Axis, Entry, Unit, gpu_entry, image_entry, version_candidate
from stackcheck.solver.pairing import pair, worst
from stackcheck.solver.request import parse_wish


@dataclass(frozen=True, slots=True)
class Query:
    """What an image has to be; an empty field asks for nothing."""

    family: str = ""
    gpu: str = ""
    driver: str = ""
    """A version, or a branch such as 550, which means its newest release."""
    holds: str = ""
    """Words, each a part of the name, or a requirement such as `torch>=2.9`; all have to hold."""


@dataclass(frozen=True, slots=True)
class Hit:
    """An image that is not ruled out, and what it is worth on the GPU and driver asked for."""

    image: Image
    grade: Grade


def search(catalog: Catalog, query: Query) -> tuple[Hit, ...]:
    """Return the images that may fit, newest first and those of which nobody says whether they fit last; what is broken is left out.

    Raises:
        UsageError: the GPU, driver or a component is unknown.
    """
    tests = [_test(catalog, word) for word in query.holds.split()]
    images = [
        i
        for i in catalog.images
        if (not query.family or i.family == query.family) and all(t(i) for t in tests)
    ]
    images.sort(key=lambda i: (i.date, i.tag), reverse=True)
    others = [_gpu(catalog, query.gpu)] if query.gpu else []
    others += [_driver(catalog, query.driver)] if query.driver else []
    grades = [_grades(catalog, images, other) for other in others]
    hits = []
    for place, image in enumerate(images):
        found = [g[place] for g in grades]
        grade = Grade.UNKNOWN if Grade.UNKNOWN in found and Grade.BROKEN not in found else worst(found)
        if grade is not Grade.BROKEN:
            hits.append(Hit(image, grade if grades else Grade(image.grade)))
    if grades:
        hits.sort(key=lambda h: h.grade is Grade.UNKNOWN)
    return tuple(hits)


def _grades(catalog: Catalog, images: Sequence[Image], other: Entry) -> list[Grade]:
    rows = Axis(
        "image",
        "image",
        "image",
        tuple(image_entry(catalog, i, without=frozenset({"driver"})) for i in images),
    )
    picture = pair(catalog, rows, Axis("component", "driver", "", (other,)))
    return [picture.grade(row, 0) for row in range(len(images))]


def _gpu(catalog: Catalog, name: str) -> Entry:
    gpu = catalog.find_gpu(name)
    if gpu is None:
        near = catalog.nearest(name, catalog.gpu_ids)
        raise UsageError(f"unknown GPU {name[:40]!r}", fix=f"known: {', '.join(near or catalog.gpu_ids)}")
    return gpu_entry(gpu)


def _driver(catalog: Catalog, text: str) -> Entry:
    component = catalog.component("driver")
    release = _newest_of(component, text.strip()) if component else None
    version = release.version.text if release else text.strip()
    candidate = version_candidate(component, version, ARCHES[0]) if component else None
    if candidate is None:
        raise UsageError(
            f"no driver version {text[:40]!r}", fix="write a branch or version, such as 550 or 580.95.05"
        )
    unit = Unit(version, {"driver": candidate}, frozenset(ARCHES))
    return Entry(version, version, version, "", (unit,))


def _newest_of(component: Component, text: str) -> Release | None:
    """Return the newest release of a branch written without dots."""
    if "." in text:
        return None
    return next((r for r in reversed(component.releases) if str(r.version.major) == text), None)


def _test(catalog: Catalog, word: str) -> Callable[[Image], bool]:
    """Return whether an image passes one word."""
    if not any(c in word for c in "<>=~!"):
        wanted = word.lower()
        return lambda i: (
            wanted in i.name.lower() or wanted in i.contents or any(wanted in p for p in i.purpose)
        )
    wish = parse_wish(word, flag="holds")
    name = catalog.aliases.get(normalised(wish.component), "")
    component = catalog.component(name)
    if component is None:
        near = catalog.nearest(wish.component, catalog.component_ids)
        raise UsageError(
            f"unknown component {wish.component[:40]!r}", fix=f"try {', '.join(near) or 'torch'}"
        )
    bounds = parsed_range(wish.range, component.scheme)
    if bounds is None:
        raise UsageError(f"no range: {wish.range[:40]!r}", fix="write for example torch>=2.9")

    def holds(image: Image) -> bool:
        version = parsed_version(component, image.contents.get(component.id, ""))
        return version is not None and version in bounds

    return holds


@dataclass(frozen=True, slots=True)
class Difference:
    """One component in which two images may differ; an empty text is a thing not stated, `absent` one surely lacking."""

    component: str
    left: str
    right: str

    @property
    def same(self) -> bool:
        """Whether both say the same."""
        return self.left == self.right


def differences(left: Image, right: Image) -> tuple[Difference, ...]:
    """Return what two images say of every component that one of them mentions, differences first."""
    names = sorted({*left.contents, *right.contents, *left.absent, *right.absent})
    found = [Difference(n, _said(left, n), _said(right, n)) for n in names]
    found += [
        Difference("os", left.os, right.os),
        Difference("cpu", ", ".join(sorted(left.arch)), ", ".join(sorted(right.arch))),
        Difference("date", left.date, right.date),
    ]
    return tuple(sorted(found, key=lambda d: d.same))


def _said(image: Image, name: str) -> str:
    return image.contents.get(name) or ("absent" if name in image.absent else "")
