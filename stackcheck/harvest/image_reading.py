"""An image that nobody has run, read as far as asked: its configuration, and with the layers its packages and libraries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stackcheck.harvest import image_files, layer_tar
from stackcheck.harvest import oci_documents as oci
from stackcheck.harvest.image_files import Package
from stackcheck.harvest.image_sources import Source
from stackcheck.harvest.interface import HarvestError


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageContents:
    """What was read of one image for one architecture."""

    arch: str
    digest: str
    config: oci.Config
    packages: tuple[Package, ...] = ()
    libraries: tuple[str, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()
    os: str = ""
    layers_read: bool = False
    notes: tuple[str, ...] = ()


def read(
    source: Source,
    *,
    arch: str = "",
    layers: bool = True,
    bounds: layer_tar.Bounds | None = None,
    progress: Callable[[str], None] | None = None,
) -> ImageContents:
    """Return the contents of the image for an architecture (x86_64 if there is a choice and none is asked for).

    Raises:
        HarvestError: there is no such image, or a part of it cannot be trusted.
    """
    found = source.images()
    candidates = [(a or _config(source, m).arch, digest, m) for a, digest, m in found]
    wanted = arch or (
        "x86_64" if any(a == "x86_64" for a, _, _ in candidates) else candidates[0][0] if candidates else ""
    )
    chosen = next((c for c in candidates if c[0] == wanted), None)
    if chosen is None:
        have = ", ".join(sorted({a for a, _, _ in candidates})) or "none"
        raise HarvestError(f"has no image for {arch or 'Linux'}", fix=f"it has: {have}")
    told = _config(source, chosen[2])
    if not layers:
        return ImageContents(arch=told.arch, digest=chosen[1], config=told)
    tree = layer_tar.Tree()
    for number, layer in enumerate(chosen[2].layers, start=1):
        if progress:
            progress(f"layer {number} of {len(chosen[2].layers)}")
        layer_tar.apply(
            tree, source.chunks(layer), image_files.wanted, bounds or layer_tar.Bounds(), f"layer {number}"
        )
    packages = image_files.packages(tree)
    return ImageContents(
        arch=told.arch,
        digest=chosen[1],
        config=told,
        packages=packages,
        libraries=image_files.libraries(tree),
        texts=image_files.texts(tree),
        os=image_files.operating_system(tree),
        layers_read=True,
        notes=tuple(tree.notes),
    )


def _config(source: Source, manifest: oci.Manifest) -> oci.Config:
    return oci.config(source.small(manifest.config), "image configuration")
