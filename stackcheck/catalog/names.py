"""From what a person typed to a thing of the catalog, through ids, aliases and marketing names; the nearest names if there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stackcheck.catalog.catalog import Catalog, normalised
from stackcheck.model.errors import UsageError
from stackcheck.model.release import Component, Gpu, Image, Instance

_LONGEST = 80  # characters of a wrong name that a message repeats
_SURE = 0.8  # how near a short name must be: H800 is not H100 with a slip of the pen
_SURE_OF_LONG = 0.7  # the same for names of several words


def gpu_named(catalog: Catalog, name: str) -> Gpu:
    """Return the GPU known under an id, alias or marketing name.

    Raises:
        UsageError: nobody knows it; the message says what else the name means, or offers the nearest.
    """
    found = catalog.find_gpu(name)
    if found is None:
        raise _no_gpu(catalog, name)
    return found


def _no_gpu(catalog: Catalog, name: str) -> UsageError:
    instance = catalog.instance(name.strip().lower())
    if instance is not None:
        return UsageError(
            f"unknown GPU {name[:_LONGEST]!r}, which is an instance type",
            fix=f"did you mean --instance {instance.id}, or --gpu {instance.gpu}?",
        )
    family = of_architecture(catalog, name)
    if family:
        return UsageError(f"unknown GPU {name[:_LONGEST]!r}, which is an architecture", fix=offer(family))
    known = f"known: {', '.join(catalog.gpu_ids)}"
    if catalog.board_capability(name) is not None:
        return UsageError(f"GPU {name[:_LONGEST]!r} has no matrix", fix=known)
    near = nearest_id(name, catalog.gpu_names, cutoff=_SURE)
    return UsageError(f"unknown GPU {name[:_LONGEST]!r}", fix=offer(near) or known)


def of_architecture(catalog: Catalog, name: str) -> tuple[str, ...]:
    """Return the ids of the GPUs whose architecture has all words of `name`: Hopper is that of H100 and of Grace Hopper."""
    words = set(normalised(name).split("-")) - {"nvidia"}
    return tuple(
        g.id for g in catalog.gpus() if words and words <= set(normalised(g.architecture).split("-"))
    )


def instance_named(catalog: Catalog, name: str) -> Instance:
    """Return the instance type of an id or alias, whatever its case.

    Raises:
        UsageError: nobody knows it; the message says what else the name means, or offers those it is the beginning of or the nearest.
    """
    wanted = name.strip().lower()
    found = catalog.instance(wanted)
    if found is None:
        found = next((i for i in catalog.instances() if wanted in (a.lower() for a in i.aliases)), None)
    if found is None:
        raise _no_instance(catalog, name)
    return found


def _no_instance(catalog: Catalog, name: str) -> UsageError:
    wanted = name.strip().lower().removeprefix("ml.")
    begun = [i for end in ".-" for i in catalog.instance_ids if wanted and i.startswith(wanted + end)]
    gpu = catalog.find_gpu(name)
    if gpu is not None and not begun:
        return UsageError(
            f"unknown instance type {name[:_LONGEST]!r}, which is a GPU", fix=f"did you mean --gpu {gpu.id}?"
        )
    begun = begun or [i for i in catalog.instance_ids if "." in wanted and i.startswith(wanted)]
    near = begun[:3] or nearest_id(wanted, {i: i for i in catalog.instance_ids}, cutoff=_SURE_OF_LONG)
    return _unknown("instance type", name, near, "stackcheck show instance")


def component_named(catalog: Catalog, name: str) -> Component:
    """Return the component of an id, a product name or a package name.

    Raises:
        UsageError: nobody knows it; the message offers the nearest.
    """
    wanted = normalised(name)
    found = catalog.component(wanted) or catalog.component(catalog.aliases.get(wanted, ""))
    if found is None:
        toolkit = toolkit_of(catalog, name)
        near = (f"cuda=={toolkit}",) if toolkit else nearest_id(name, catalog.aliases, cutoff=_SURE_OF_LONG)
        raise _unknown("component", name, near, "stackcheck show component")
    return found


def toolkit_of(catalog: Catalog, label: str) -> str:
    """Return the CUDA version for which the builds of a label (`cu128`) are made, or an empty text if none has it."""
    wanted = label.strip().lower()
    for component in map(catalog.component, catalog.policy.get("must_be_known", ())):
        for build in (b for r in component.releases for b in r.builds) if component else ():
            if build.label == wanted and "cuda" in build.attributes:
                return str(build.attributes["cuda"])
    return ""


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


def nearest_id(name: str, known: Mapping[str, str], most: int = 3, *, cutoff: float = 0.6) -> tuple[str, ...]:
    """Return up to `most` ids whose names (the keys of `known`) look like `name` by `cutoff` at least, best first, each once."""
    import difflib  # only when somebody mistyped

    wanted = normalised(name)[:_LONGEST]
    by_form: dict[str, str] = {}
    for alias, target in known.items():
        by_form.setdefault(normalised(alias), target)
    close = difflib.get_close_matches(wanted, by_form, n=most * 4, cutoff=cutoff)
    return tuple(dict.fromkeys(by_form[c] for c in close))[:most]


def offer(near: Sequence[str]) -> str:
    """Return `did you mean a, b or c?`, or an empty text if nothing is near."""
    if not near:
        return ""
    return f"did you mean {', '.join(near[:-1])}{' or ' if near[:-1] else ''}{near[-1]}?"


def _unknown(what: str, name: str, near: Sequence[str], command: str) -> UsageError:
    return UsageError(f"unknown {what} {name[:_LONGEST]!r}", fix=offer(near) or f"see `{command}`")
