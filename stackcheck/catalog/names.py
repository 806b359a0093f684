"""From what a person typed to a thing of the catalog, through ids, aliases and marketing names; the nearest names if there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stackcheck.catalog.catalog import Catalog, normalised
from stackcheck.model.errors import UsageError
from stackcheck.model.release import Component, Gpu, Image, Instance

_LONGEST = 80  # characters of a wrong name that a message repeats


def gpu_named(catalog: Catalog, name: str) -> Gpu:
    """Return the GPU known under an id, alias or marketing name.

    Raises:
        UsageError: nobody knows it; the message offers the nearest.
    """
    found = catalog.find_gpu(name)
    if found is None:
        raise _unknown("GPU", name, nearest_id(name, catalog.gpu_names), "stackcheck show gpu")
    return found


def instance_named(catalog: Catalog, name: str) -> Instance:
    """Return the instance type of an id or alias, whatever its case.

    Raises:
        UsageError: nobody knows it; the message offers the nearest.
    """
    wanted = name.strip().lower()
    found = catalog.instance(wanted)
    if found is None:
        found = next((i for i in catalog.instances() if wanted in (a.lower() for a in i.aliases)), None)
    if found is None:
        near = nearest_id(wanted, {i: i for i in catalog.instance_ids})
        raise _unknown("instance type", name, near, "stackcheck show instance")
    return found


def component_named(catalog: Catalog, name: str) -> Component:
    """Return the component of an id, a product name or a package name.

    Raises:
        UsageError: nobody knows it; the message offers the nearest.
    """
    wanted = normalised(name)
    found = catalog.component(wanted) or catalog.component(catalog.aliases.get(wanted, ""))
    if found is None:
        raise _unknown("component", name, nearest_id(name, catalog.aliases), "stackcheck show component")
    return found


def image_named(catalog: Catalog, name: str) -> Image:
    """Return the image that a reference or `repository:tag` means.

    Raises:
        UsageError: nobody knows it; the message offers the nearest.
    """
    found = catalog.find_image(name) if name.strip() else None
    if found is None:
        short = name.strip().partition("@")[0].rpartition("/")[2]
        known = {i.name.rpartition("/")[2]: i.name.rpartition("/")[2] for i in catalog.images}
        raise _unknown("image", name, nearest_id(short, known), "stackcheck show image")
    return found


def nearest_id(name: str, known: Mapping[str, str], most: int = 3) -> tuple[str, ...]:
    """Return up to `most` ids whose names (the keys of `known`) look like `name`, best first, each once."""
    import difflib  # only when somebody mistyped

    wanted = normalised(name)[:_LONGEST]
    by_form: dict[str, str] = {}
    for alias, target in known.items():
        by_form.setdefault(normalised(alias), target)
    close = difflib.get_close_matches(wanted, by_form, n=most * 4, cutoff=0.6)
    return tuple(dict.fromkeys(by_form[c] for c in close))[:most]


def offer(near: Sequence[str]) -> str:
    """Return `did you mean a, b or c?`, or an empty text if nothing is near."""
    if not near:
        return ""
    return f"did you mean {', '.join(near[:-1])}{' or ' if near[:-1] else ''}{near[-1]}?"


def _unknown(what: str, name: str, near: Sequence[str], command: str) -> UsageError:
    return UsageError(f"unknown {what} {name[:_LONGEST]!r}", fix=offer(near) or f"see `{command}`")
