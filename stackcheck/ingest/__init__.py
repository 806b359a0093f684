"""Texts that people paste, to inventories. `ingest` takes any mix of texts about one node; formats load when a text needs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stackcheck.model.inventory import Inventory


def ingest(
    texts: Sequence[tuple[str, str]],
    *,
    aliases: Mapping[str, str],
    gpu_names: Mapping[str, str] | None = None,
    forced_format: str | None = None,
) -> Inventory:
    """Return what all `texts`, pairs of name and content, say about one node.

    `aliases` maps normalised package and product names to component ids, `gpu_names` lower-case model names to gpu ids.
    With `forced_format` each text is read as that one format. What was not understood is told in the notes; the cleaned
    texts are kept in `Inventory.texts`, `Text.format` being the ids of the formats found in it, the surest first, with blanks between.

    Raises:
        InputError: a text declares itself as one of our own documents and cannot be used, or there is no such format.
    """
    from stackcheck.ingest.pipeline import read_all  # loads the cleaning patterns: not before there is a text

    return read_all(texts, aliases=aliases, gpu_names=gpu_names or {}, forced_format=forced_format)
