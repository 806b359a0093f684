"""`stackcheck show`: what the matrices say about a GPU, an instance type, a component, an image or an advisory."""

from __future__ import annotations

import argparse

from stackcheck.cli import output, streams
from stackcheck.cli.parser import add_matrices
from stackcheck.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from stackcheck.catalog.catalog import Catalog
    from stackcheck.catalog.queries import Held

SCHEMA = "stackcheck.show/1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the kinds of things and their flags."""
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    gpu = _kind(kinds, "gpu", "GPUs, or the compatibility matrix of one")
    gpu.add_argument("name", nargs="?", metavar="NAME", help="id, alias or marketing name")
    instance = _kind(kinds, "instance", "instance types, or the fabric of one")
    instance.add_argument("name", nargs="?", metavar="NAME", help="for example p5en.48xlarge")
    instance.add_argument("--gpu", help="only those with this GPU")
    component = _kind(kinds, "component", "components, or the releases, builds and requirements of one")
    component.add_argument(
        "name", nargs="?", metavar="NAME[SPEC]", help="id or package: nccl, 'torch==2.9.*'"
    )
    component.add_argument("--gpu", help="which releases run on this GPU, and why")
    component.add_argument("--all", action="store_true", help="all releases, each in full")
    component.add_argument("--layer", help="only the components of this layer")
    image = _kind(kinds, "image", "container images, or the contents of one")
    image.add_argument(
        "name", nargs="?", metavar="REF", help="reference or repository:tag; a repository lists its tags"
    )
    image.add_argument("--family", choices=["dlc", "ngc", "upstream"], help="only this family")
    image.add_argument("--gpu", help="leave out what is known not to run on this GPU")
    image.add_argument("--driver", metavar="V", help="leave out what does not run over this driver or branch")
    image.add_argument("--arch", choices=["x86_64", "aarch64"], help="only for this CPU architecture")
    image.add_argument(
        "--holds",
        action="append",
        default=[],
        metavar="COMPONENT[SPEC]",
        help="only what holds it: 'vllm>=0.30'",
    )
    advisory = _kind(kinds, "advisory", "advisories, or one in full")
    advisory.add_argument("name", nargs="?", metavar="ID", help="for example SC-2026-0001")
    advisory.add_argument("--all", action="store_true", help="rules too, not only published advisories")


def _kind(kinds: Any, name: str, help_text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = kinds.add_parser(name, help=help_text)
    output.add_format(parser)
    add_matrices(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Look up and show."""
    from stackcheck.cli.data import open_data

    show: dict[str, Callable[[Catalog, argparse.Namespace], None]] = {
        "gpu": _gpu,
        "instance": _instance,
        "component": _component,
        "image": _image,
        "advisory": _advisory,
    }
    show[options.kind](open_data(options.matrices), options)
    return streams.OK


def _deliver(
    options: argparse.Namespace, text: Callable[[], str], key: str, value: Callable[[], Any]
) -> None:
    """Write the text, or the JSON document whose `item` or `items` is the value."""
    output.deliver(options, text, lambda: {"schema": SCHEMA, "kind": options.kind, key: value()})


def _gpu(catalog: Catalog, options: argparse.Namespace) -> None:
    from stackcheck.catalog.names import gpu_named
    from stackcheck.report.gpu_text import gpu_to_json, render_gpu, render_gpus

    if not options.name:
        gpus = catalog.gpus()
        text, key = (lambda: render_gpus(gpus, **output.signs())), "items"
        _deliver(options, text, key, lambda: [gpu_to_json(g, whole=False) for g in gpus])
        return
    gpu = gpu_named(catalog, options.name)
    users = [i for i in catalog.instances() if i.gpu == gpu.id]
    _deliver(
        options,
        lambda: render_gpu(gpu, users, **output.looks()),
        "item",
        lambda: gpu_to_json(gpu, users),
    )


def _instance(catalog: Catalog, options: argparse.Namespace) -> None:
    from stackcheck.catalog.names import gpu_named, instance_named
    from stackcheck.report.instance_text import instance_to_json, render_instance, render_instances

    if options.name:
        one = instance_named(catalog, options.name)
        text = lambda: render_instance(one, catalog.gpu(one.gpu), **output.looks())  # noqa: E731
        _deliver(options, text, "item", lambda: instance_to_json(one))
        return
    wanted = gpu_named(catalog, options.gpu).id if options.gpu else None
    found = [i for i in catalog.instances() if wanted in (None, i.gpu)]
    _deliver(
        options,
        lambda: render_instances(found, **output.signs()),
        "items",
        lambda: [instance_to_json(i, whole=False) for i in found],
    )


def _component(catalog: Catalog, options: argparse.Namespace) -> None:
    from stackcheck.catalog.names import gpu_named
    from stackcheck.catalog.queries import brought_by, releases_on_gpu, required_by
    from stackcheck.model.demand import ComponentView
    from stackcheck.report.component_json import component_row_to_json, component_to_json
    from stackcheck.report.component_text import render_component, render_components

    gpu = gpu_named(catalog, options.gpu) if options.gpu else None
    if not options.name:
        if gpu is not None:
            raise UsageError(
                "--gpu asks about one component", fix=f"name it, or see `stackcheck show gpu {gpu.id}`"
            )
        found = [c for c in catalog.components() if options.layer in (None, c.layer)]
        _deliver(
            options,
            lambda: render_components(found, **output.signs()),
            "items",
            lambda: [component_row_to_json(c) for c in found],
        )
        return
    component, wanted = _held(catalog, options.name, "component")
    releases = tuple(r for r in reversed(component.releases) if r.version in wanted)
    view = ComponentView(
        component=component,
        releases=releases,
        required_by=required_by(catalog, component.id),
        brought_by=brought_by(catalog, component.id),
        every=options.all,
        gpu=gpu,
        on_gpu=releases_on_gpu(gpu, component.id, releases) if gpu else (),
    )
    _deliver(
        options,
        lambda: render_component(view, **output.looks()),
        "item",
        lambda: component_to_json(view),
    )


def _held(catalog: Catalog, text: str, flag: str) -> Held:
    """Return the component and range of `vllm>=0.30`.

    Raises:
        UsageError: it has another form, or nobody knows the component.
    """
    from stackcheck.catalog.names import component_named
    from stackcheck.model.ranges import Range
    from stackcheck.solver.request import parse_wish

    wish = parse_wish(text, flag=flag)
    component = component_named(catalog, wish.component)
    try:
        return component, Range(wish.range, component.scheme)
    except ValueError as fault:
        raise UsageError(f"{flag} {text[:80]!r}: {fault}", fix="write for example 'vllm>=0.30'") from fault


def _image(catalog: Catalog, options: argparse.Namespace) -> None:
    from stackcheck.catalog.names import gpu_named, image_named
    from stackcheck.catalog.queries import grade_on_gpu, matching_images
    from stackcheck.report.image_text import image_to_json, render_image, render_images

    gpu = gpu_named(catalog, options.gpu) if options.gpu else None
    repository = options.name if options.name and matching_images(catalog, repository=options.name) else None
    if options.name and repository is None:
        image = image_named(catalog, options.name)
        layers = {c.id: c.layer for c in map(catalog.component, image.contents) if c is not None}
        grade = (gpu.name, *grade_on_gpu(catalog, image, gpu)) if gpu else None
        text = lambda: render_image(image, layers, grade, **output.looks())  # noqa: E731
        _deliver(options, text, "item", lambda: image_to_json(image))
        return
    holds = [_held(catalog, text, "--holds") for text in options.holds]
    found = matching_images(
        catalog, family=options.family, gpu=gpu, arch=options.arch, holds=holds, repository=repository
    )
    columns = tuple(dict.fromkeys([*(c.id for c, _ in holds), *catalog.policy["must_be_known"]]))
    grades = {i.name: grade_on_gpu(catalog, i, gpu) for i in found} if gpu else None
    if options.driver:
        from stackcheck.solver.image_search import Query, search

        query = Query(family=options.family or "", gpu=gpu.id if gpu else "", driver=options.driver)
        hits = {hit.image.name: hit.grade for hit in search(catalog, query)}
        found = tuple(i for i in found if i.name in hits)
        grades = {i.name: (hits[i.name], ()) for i in found}
    _deliver(
        options,
        lambda: render_images(found, columns, grades, **output.signs()),
        "items",
        lambda: [image_to_json(i) for i in found],
    )


def _advisory(catalog: Catalog, options: argparse.Namespace) -> None:
    if options.name:
        from stackcheck.catalog.meaning import meaning_of
        from stackcheck.report.meaning_text import meaning_to_json, render_meaning

        meaning = meaning_of(catalog, options.name)
        text = lambda: render_meaning(meaning, **output.looks())  # noqa: E731
        _deliver(options, text, "item", lambda: meaning_to_json(meaning))
        return
    from stackcheck.report.rules_text import render_rules, rule_to_json

    found = [r for r in catalog.rules if options.all or r.is_advisory]
    _deliver(
        options,
        lambda: render_rules(found, len(catalog.rules) - len(found), **output.signs()),
        "items",
        lambda: [rule_to_json(r) for r in found],
    )
