"""What a data set makes of things: a stack for every GPU and instance type, findings for every shipped image, golden cases.

Pure: catalogs to texts that can be compared. A verdict is a short text; two data sets that give the same one agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from stackcheck.catalog.catalog import Catalog
from stackcheck.check.verdict import check
from stackcheck.model.inventory import Evidence, Inventory, Observation
from stackcheck.model.release import Image
from stackcheck.model.stack import Stack
from stackcheck.solver.request import Request
from stackcheck.solver.resolve import resolve


@dataclass(frozen=True, slots=True, order=True)
class Flip:
    """A subject about which two data sets do not say the same; `golden` if somebody recorded what is right."""

    subject: str
    before: str
    after: str
    golden: bool = False


def targets(catalog: Catalog) -> dict[str, str]:
    """Return the stack that is proposed for each GPU and instance type, as `component version` pairs, or the conflict."""
    asked = {f"resolve --gpu {g}": Request(gpu=g) for g in catalog.gpu_ids}
    asked |= {f"resolve --instance {i}": Request(gpu="", instance=i) for i in catalog.instance_ids}
    return {subject: _stack(catalog, request) for subject, request in asked.items()}


def _stack(catalog: Catalog, request: Request) -> str:
    stack = resolve(catalog, request)
    if stack.conflict is not None:
        return f"conflict: {' / '.join(stack.conflict.chain)}"
    image = f"image {stack.image.reference}; " if stack.image else ""
    return image + ", ".join(
        f"{p.component} {p.version}" for p in sorted(stack.pins, key=lambda p: p.component)
    )


def images(catalog: Catalog, gpus: Iterable[str] = ()) -> dict[str, str]:
    """Return what is found about each shipped image as it is, and on each of these GPUs."""
    found = {}
    for image in catalog.images:
        for gpu in ("", *gpus):
            subject = f"image {image.name}" + (f" on {gpu}" if gpu else "")
            found[subject] = _findings(catalog, inventory_of(image, gpu))
    return found


def inventory_of(image: Image, gpu: str = "") -> Inventory:
    """Return an image as if it had been looked into: its contents, what it surely lacks, its variables."""
    contents = {
        name: (
            Observation(version=version, scope="container", evidence=Evidence("image", image.name, version)),
        )
        for name, version in image.contents.items()
    }
    absent: dict[str, tuple[Observation, ...]] = {name: () for name in image.absent if name not in contents}
    return Inventory(
        subject=image.name,
        gpu_model=gpu or None,
        arch=image.arch[0] if len(image.arch) == 1 else None,
        image=image.name,
        components={**contents, **absent},
        environment=dict(image.environment),
    )


def _findings(catalog: Catalog, inventory: Inventory) -> str:
    report = check(catalog, inventory)
    return ", ".join(sorted(f"{f.severity} {f.id}" for f in report.findings)) or "nothing found"


def answer(stack: Stack) -> str:
    """Return what counts of the answer to a golden case: that there is one, and its kind."""
    return "solved" if stack.conflict is None else "conflict"


def flips(before: Mapping[str, str], after: Mapping[str, str], *, golden: bool = False) -> Iterator[Flip]:
    """Yield the subjects that both know and judge differently, sorted."""
    for subject in sorted(before.keys() & after.keys()):
        if before[subject] != after[subject]:
            yield Flip(subject, before[subject], after[subject], golden)
