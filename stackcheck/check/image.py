"""What a named image holds, where nobody looked into it: the catalog's list stands in for what was not observed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stackcheck.catalog.catalog import Catalog
from stackcheck.model.finding import Finding, FindingEvidence, Kind, Severity
from stackcheck.model.inventory import Evidence, Inventory, Observation
from stackcheck.model.release import Image

METHOD = "image"
"""How an observation was made that is only what the catalog says of an image."""

_CUDA, _CUDA_MAJOR = "cuda", "cuda_major"
_LOOKED_INTO = ("registry", "procfs")  # ways to learn an image's name that also see what is in it


def image_contents(
    catalog: Catalog, inventory: Inventory, image: Image | None, known: Mapping[str, tuple[Observation, ...]]
) -> dict[str, tuple[Observation, ...]]:
    """Return an observation of each component of `image` that is not `known`.

    Where something known is of another version than the image's, somebody installed it over the image: what it requires and
    what requires it may have moved with it, and is left out. Of an image without a list there is what its tag tells.
    """
    name = inventory.image
    if not name or not _is_only_named(inventory):
        return {}
    if image is None:
        told = catalog.told_by_tag(name)
        return {c: (_derived(name, c, version),) for c, version in told.items() if c not in known}
    moved = {c for c, version in image.contents.items() if known.get(c) and not _holds(known[c], version)}
    doubtful = {r for c in moved for r in _requirements(catalog, c) if _is_package(catalog, r)}
    doubtful |= {
        row["component"] for row in catalog.policy.get("derive", ()) if row["from"].partition(".")[0] in moved
    }
    return {
        c: (_observation(catalog, image, c),)
        for c in image.contents
        if c not in known and c not in doubtful and not moved.intersection(_requirements(catalog, c))
    }


def _observation(catalog: Catalog, image: Image, name: str) -> Observation:
    """Return what the list says of one component; whoever made the image took the variant for its CUDA."""
    component = catalog.component(name)
    major = image.contents.get(_CUDA, "").partition(".")[0]
    is_variant = major.isdecimal() and component is not None and _CUDA_MAJOR in component.attribute_types
    version = image.contents[name]
    return Observation(
        version=version,
        scope="container",
        evidence=Evidence(METHOD, image.name, f"{name} {version}"),
        attributes={_CUDA_MAJOR: int(major)} if is_variant and name != _CUDA else {},
    )


def _derived(image: str, name: str, version: str) -> Observation:
    """Return what the tag of an image says of one component."""
    return Observation(
        version=version, scope="container", evidence=Evidence("derived", image, f"{name} {version}")
    )


def unknown_image(catalog: Catalog, inventory: Inventory) -> list[Finding]:
    """Return one finding about an image that was named, that nobody looked into, and of which neither list nor tag tells anything."""
    if (
        not inventory.image
        or not _is_only_named(inventory)
        or catalog.find_image(inventory.image) is not None
        or catalog.told_by_tag(inventory.image)
    ):
        return []
    seen = inventory.evidence.get("image", Evidence())
    return [
        Finding(
            id="image-unknown",
            kind=Kind.UNKNOWN_RELEASE,
            severity=Severity.INFO,
            subjects=("image",),
            title=f"nothing is known of what {inventory.image} holds",
            evidence=(FindingEvidence("image", inventory.image, seen.method, seen.where),),
            why="No list of its contents is in the data: only what stands beside it was judged. `check --image` reads the image itself.",
        )
    ]


def _is_only_named(inventory: Inventory) -> bool:
    told = inventory.evidence.get("image", Evidence())
    return told.method not in _LOOKED_INTO and "container" not in inventory.facts


def _holds(observations: Iterable[Observation], version: str) -> bool:
    return any(o.version.partition("+")[0] == version.partition("+")[0] for o in observations)


def _is_package(catalog: Catalog, name: str) -> bool:
    component = catalog.component(name)
    return component is not None and any(p.startswith("pkg:pypi/") for p in component.packages)


def _requirements(catalog: Catalog, name: str) -> set[str]:
    """Return what any release of a component requires."""
    component = catalog.component(name)
    if component is None:
        return set()
    every = (
        r
        for release in component.releases
        for r in (release.requires or (), *(b.requires for b in release.builds))
    )
    return {requirement.component for requirements in every for requirement in requirements}
