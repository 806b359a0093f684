"""`stackcheck check --image`: an image that nobody has run, from a registry or from disk, as an inventory."""

from __future__ import annotations

import argparse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stackcheck.catalog.catalog import Catalog
    from stackcheck.harvest.image_reading import ImageContents
    from stackcheck.model.inventory import Inventory, Observation


def add_image(parser: argparse.ArgumentParser) -> None:
    """Declare the flags that name an image."""
    parser.add_argument(
        "--image",
        metavar="REF|PATH",
        help="a container image: HOST/REPOSITORY:TAG, an OCI layout, a docker archive",
    )
    parser.add_argument("--image-arch", choices=["x86_64", "aarch64"], help="which image of several")
    parser.add_argument(
        "--no-layers", action="store_true", help="read the image's configuration only, not its files"
    )
    parser.add_argument("--token-file", metavar="FILE", help="a bearer token of the registry")


def image_inventory(options: argparse.Namespace, catalog: Catalog) -> Inventory:
    """Return what an image says about itself.

    Raises:
        HarvestError: it cannot be read or trusted.
    """
    from stackcheck.ingest import ingest
    from stackcheck.model.inventory import Evidence, Note

    contents = _contents(options)
    texts = [("image configuration", contents.config.text), *contents.texts]
    told = ingest(texts, aliases=catalog.aliases, gpu_names=catalog.gpu_names)
    components = dict(told.components)
    for component, seen in _observations(contents, catalog).items():
        components[component] = (*components.get(component, ()), *seen)
    notes = tuple(Note(source="image", text=text) for text in contents.notes)
    return told._replace(
        subject=options.image,
        image=told.image or options.image,
        arch=told.arch or contents.arch or None,
        components=components,
        notes=told.notes + notes,
        evidence={**told.evidence, "image": Evidence("registry", options.image, contents.digest)},
        texts=(),
    )


def _contents(options: argparse.Namespace) -> ImageContents:
    from pathlib import Path

    from stackcheck.harvest.image_reading import read
    from stackcheck.harvest.image_sources import Opened, RegistrySource

    arch, layers = options.image_arch or "", not options.no_layers
    path = Path(options.image.removeprefix("oci:").removeprefix("docker-archive:"))
    if path.exists():
        with Opened(path) as opened:
            return read(opened.source, arch=arch, layers=layers)
    import os

    from stackcheck.cli.matrices_harvest import progress
    from stackcheck.harvest.cache import Cache, default_directory
    from stackcheck.harvest.client import Client
    from stackcheck.harvest.image_reference import parse
    from stackcheck.harvest.oci_registry import Registry
    from stackcheck.harvest.settings import network

    reference = parse(options.image)
    proxy, ca = network(os.environ)
    with Client(cache=Cache(default_directory(os.environ)), proxy=proxy, ca=ca) as client:
        registry = Registry(client, reference.registry, token=_token(options.token_file))
        source = RegistrySource(registry, reference)
        return read(source, arch=arch, layers=layers, progress=progress)


def _token(path: str | None) -> str:
    from stackcheck.ingest.read import read_file

    return read_file(path).strip() if path else ""


def _observations(contents: ImageContents, catalog: Catalog) -> dict[str, list[Observation]]:
    """Return the packages that are components, by component; the operating system with them."""
    from stackcheck.catalog.catalog import normalised
    from stackcheck.model.inventory import Evidence, Observation

    found: dict[str, list[Observation]] = {}
    for package in contents.packages:
        component = catalog.aliases.get(normalised(package.name))
        if component is None:
            continue
        method = "dist-info" if package.manager == "pip" else package.manager
        found.setdefault(component, []).append(
            Observation(
                version=package.version,
                scope="container",
                path=package.path,
                evidence=Evidence(method, package.path, f"{package.name} {package.version}"),
            )
        )
    if contents.os and "os" not in found:
        found["os"] = [
            Observation(
                version=contents.os,
                scope="container",
                evidence=Evidence("os-release", "etc/os-release", contents.os),
            )
        ]
    return found
