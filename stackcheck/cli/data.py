"""Opening the data that a command works with."""

from __future__ import annotations

import os

from stackcheck.cli import streams

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stackcheck.catalog.catalog import Catalog


def open_data(directory: str | None) -> Catalog:
    """Return the catalog of `--matrices`, or the one in use, and say on stderr if an installed data set had to be passed over.

    Raises:
        InputError: see `stackcheck.catalog.open_catalog`.
    """
    from stackcheck.catalog import open_catalog
    from stackcheck.catalog.files import VARIABLE, installed_doubt

    catalog = open_catalog(directory)
    if not directory and not os.environ.get(VARIABLE) and (doubt := installed_doubt(os.environ)):
        streams.remark(f"{doubt}; run `stackcheck matrices update` again, or remove it")
    return catalog
