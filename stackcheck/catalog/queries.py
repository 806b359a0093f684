"""Questions about the whole catalog that more than one front end asks: who requires a component, which images fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.evaluate import lies_in
from stackcheck.catalog.identify import parsed_version
from stackcheck.catalog.image_age import days, newest_first
from stackcheck.model.demand import Bringer, Requirer, RowReleases
from stackcheck.model.gpucode import Capability, covers
from stackcheck.model.kinds import Grade
from stackcheck.model.ranges import Range
from stackcheck.model.release import Component, Gpu, Image, Release, Requirement
from stackcheck.model.version import Version

Held = tuple[Component, Range]
"""A component and the versions of it that an image must hold."""

_WORST_FIRST = (Grade.BROKEN, Grade.DEGRADED, Grade.CAVEAT, Grade.UNKNOWN, Grade.TESTED, Grade.SUPPORTED)


def required_by(catalog: Catalog, component_id: str) -> tuple[Requirer, ...]:
    """Return the components whose releases or builds ask for this one, sorted by id; reads every component."""
    found: list[Requirer] = []
    for component in catalog.components():
        asking = [
            (release, build, asked)
            for release in reversed(component.releases)
            for build, asked in _asked_of(release)
            if asked.component == component_id
        ]
        if asking:
            release, build, asked = asking[0]
            found.append(
                Requirer(
                    component=component.id,
                    version=release.version.text,
                    build=build,
                    range=asked.range,
                    extra=asked.extra,
                    releases=len({r.version.text for r, _, _ in asking}),
                )
            )
    return tuple(found)


def _asked_of(release: Release) -> Iterator[tuple[str, Requirement]]:
    """Yield the requirements of a release with the label of the build that has them, or an empty text."""
    for asked in release.requires or ():
        yield "", asked
    for build in release.builds:
        for asked in build.requires:
            yield build.label, asked


def brought_by(catalog: Catalog, component_id: str) -> tuple[Bringer, ...]:
    """Return the components that bring this one inside them, sorted by id; reads every component."""
    found: list[Bringer] = []
    for component in catalog.components():
        bringing = [r for r in component.releases if r.bundles and component_id in r.bundles]
        if bringing:
            newest = bringing[-1]
            assert newest.bundles is not None  # noqa: S101
            found.append(
                Bringer(
                    component=component.id,
                    version=newest.version.text,
                    brings=newest.bundles[component_id],
                    releases=len(bringing),
                )
            )
    return tuple(found)


def matching_images(
    catalog: Catalog,
    *,
    family: str | None = None,
    gpu: Gpu | None = None,
    arch: str | None = None,
    holds: Sequence[Held] = (),
    repository: str | None = None,
) -> tuple[Image, ...]:
    """Return the images that fit all that is asked, newest first; what an image does not state does not fit `holds`.

    A `repository` is named by its path or the end of it: `pytorch`, `nvidia/pytorch`. Without days, tags and contents tell which is newer.

    With `gpu`, images that the data knows not to run there are left out; those of which it does not know are kept.
    """
    found = [
        image
        for image in catalog.images
        if (family is None or image.family == family)
        and (repository is None or f"/{image.repository}".endswith(f"/{repository.strip('/')}"))
        and (arch is None or not image.arch or arch in image.arch)
        and all(_holds(image, component, wanted) for component, wanted in holds)
        and (gpu is None or grade_on_gpu(catalog, image, gpu)[0] is not Grade.BROKEN)
    ]
    return tuple(found[place] for place in newest_first(found, days(catalog, found)))


def _holds(image: Image, component: Component, wanted: Range) -> bool:
    text = image.contents.get(component.id)
    version = parsed_version(component, text) if text else None
    return version is not None and version in wanted


def grade_on_gpu(catalog: Catalog, image: Image, gpu: Gpu) -> tuple[Grade, tuple[str, ...]]:
    """Return what an image is worth on a GPU and why: the worst of what the GPU's matrix says of its contents.

    CPU architecture, the GPU code that the image states, and the first CUDA of the GPU count too. Unknown if nothing is said.
    """
    told: list[tuple[Grade, str]] = list(_hardware_words(image, gpu))
    for name, text in sorted(image.contents.items()):
        component = catalog.component(name)
        version = parsed_version(component, text) if component else None
        if version is not None:
            told += _row_words(gpu, name, version)
    if not told:
        return Grade.UNKNOWN, ()
    worst = min((grade for grade, _ in told), key=_WORST_FIRST.index)
    return worst, tuple(why for grade, why in told if grade is worst)


def releases_on_gpu(gpu: Gpu, component_id: str, releases: Sequence[Release]) -> tuple[RowReleases, ...]:
    """Return the releases by the row of the GPU's matrix that decides on them: the first that holds a version counts.

    Rows that decide on none of them are left out; those of which no row speaks come last.
    """
    left = list(releases)
    told = []
    for row in (r for r in gpu.rows if r.component == component_id):
        held = [r for r in left if lies_in(r.version, row.range)]
        left = [r for r in left if r not in held]
        if held:
            told.append(RowReleases(row=row, releases=tuple(held)))
    return (*told, *([RowReleases(row=None, releases=tuple(left))] if left else []))


def _row_words(gpu: Gpu, name: str, version: Version) -> Iterator[tuple[Grade, str]]:
    """Yield grade and reason of the first row that holds the version."""
    for row in gpu.rows:
        if row.component == name and lies_in(version, row.range):
            yield Grade(row.grade), f"{name} {version}: {row.why}"
            return


def _hardware_words(image: Image, gpu: Gpu) -> Iterator[tuple[Grade, str]]:
    machines = gpu.attributes.get("arch") or frozenset()
    if image.arch and machines and not machines & set(image.arch):
        yield (
            Grade.BROKEN,
            f"is for {' and '.join(image.arch)}, {gpu.name} sits in {' or '.join(sorted(machines))} machines",
        )
    capability, targets = gpu.attributes.get("capability"), image.attributes.get("targets")
    if isinstance(capability, Capability) and targets and not covers(targets, capability):
        yield Grade.BROKEN, f"holds no code for compute capability {capability}"
    first, text = gpu.attributes.get("first_cuda"), image.contents.get("cuda")
    try:
        cuda = Version(text) if text else None
    except ValueError:
        cuda = None
    if isinstance(first, Version) and cuda is not None and cuda.public < first.public:
        yield Grade.BROKEN, f"its CUDA {cuda} does not know {gpu.name}; {first} is the first"
