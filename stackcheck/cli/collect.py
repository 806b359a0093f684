"""From files, standard input or this machine to an inventory."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from stackcheck.catalog.catalog import Catalog
from stackcheck.cli import streams
from stackcheck.model.errors import InputError, UsageError
from stackcheck.model.inventory import Inventory

_INVENTORY = "inventory-json"  # as ingest calls our own format
_DOCUMENTS = {_INVENTORY, "lock"}


def read_inventory(names: Sequence[str], catalog: Catalog, *, forced_format: str | None = None) -> Inventory:
    """Return what all files together say about one node; `-` is standard input.

    Raises:
        InputError: a file cannot be read, or inventories are of different nodes.
    """
    from stackcheck.cli.probed import with_probed
    from stackcheck.ingest import ingest
    from stackcheck.ingest.read import file_name

    if "-" in names and sys.stdin is None:
        raise InputError("standard input is closed", fix="name a file, or open it")
    if names.count("-") > 1:
        raise UsageError("standard input can be read once", fix="give - once")
    texts = [("stdin" if name == "-" else file_name(name), _content(name)) for name in names]
    read = ingest(texts, aliases=catalog.aliases, gpu_names=catalog.gpu_names, forced_format=forced_format)
    for text in read.texts:
        if _INVENTORY in text.format.split():
            read = with_probed(read, _body_of(text.content), catalog)
    return _without_documents(read)


def _content(name: str) -> str:
    """Return the text of a file, or the inventory of a captured node, which is a directory.

    Raises:
        InputError: it cannot be read, or is a directory that may be anything.
    """
    from stackcheck.ingest.read import read_file

    if not os.path.isdir(name):  # noqa: PTH112 - pathlib costs more than the question
        return read_file(name)
    from stackcheck_probes.tree import MARKERS

    if any(os.path.isfile(f"{name}/{marker}") for marker in MARKERS):  # noqa: PTH113
        import json

        from stackcheck.cli.look import begin

        return json.dumps(begin(root=name).inventory(), indent=2)
    import shlex

    root = shlex.quote(name)
    raise InputError(
        "is a directory and no captured node",
        where=name,
        fix=f"if a node or image lies there, give the FILE of stackcheck probe --root {root} --inventory -o FILE, "
        f"or judge it alone: stackcheck probe --root {root}",
    )


def _without_documents(inventory: Inventory) -> Inventory:
    """Return an inventory without the texts of our own documents: their lines are values and no log that a signature may match."""
    logs = tuple(t for t in inventory.texts if not t.format or not set(t.format.split()) <= _DOCUMENTS)
    return inventory if logs == inventory.texts else inventory._replace(texts=logs)


def _body_of(document: str) -> Any:
    """Return the JSON object of an inventory: a probe lists more in it than the model holds."""
    import json

    from stackcheck.ingest.formats.inventory_document import inventory_in

    try:
        return inventory_in(json.loads(document))
    except (ValueError, RecursionError):
        return None


def require_understood(inventory: Inventory, where: str, *, any_text: bool = False) -> None:
    """Make sure that there is something to judge; `any_text` lets unknown text pass, whose lines may still match a signature.

    Raises:
        InputError: it is empty, or (without `any_text`) nothing in it was recognised.
    """
    if inventory.components or inventory.environment or inventory.facts or inventory.gpu_model:
        return
    where = "standard input" if where == "-" else where
    contents = [t.content for t in inventory.texts if t.content.strip()]
    known = "give a collect_env, pip freeze, log, inventory or lock (docs/reference.md)"
    if not contents:
        raise InputError("nothing in it", where=where, fix=known)
    if not any_text:
        raise InputError("nothing in it was recognised", where=where, fix=known)


def with_target(
    inventory: Inventory, catalog: Catalog, gpu: str | None, instance: str | None, *, keep: bool = False
) -> Inventory:
    """Return an inventory with the GPU and instance type of the command line; `keep` leaves what the texts said.

    Raises:
        UsageError: nobody knows the GPU or instance type, or the instance type has another GPU.
    """
    from stackcheck.catalog.names import gpu_named, instance_named
    from stackcheck.cli.probed import with_gpu_code

    known = ""
    if gpu:
        board = catalog.find_gpu(gpu) is None and catalog.board_capability(gpu) is not None
        known = gpu if board else gpu_named(catalog, gpu).id
    if known and instance:
        named = instance_named(catalog, instance)
        if named.gpu != known:
            raise UsageError(f"{named.id} has {named.gpu}, not {known}", fix="leave --gpu out")
    if known:
        told = catalog.find_gpu(inventory.gpu_model) if inventory.gpu_model else None
        if told is not None and told.id != known and not keep:
            streams.remark(f"--gpu {known}: what is read says {told.id}; judged for {known}, as asked")
        inventory = inventory._replace(gpu_model=(keep and inventory.gpu_model) or known)
    if instance:
        found = instance_named(catalog, instance).id
        inventory = inventory._replace(instance=(keep and inventory.instance) or found)
    return with_gpu_code(inventory, catalog)


def probe_inventory(catalog: Catalog, **options: Any) -> Inventory:
    """Return what the probes see on this machine, or below another root; see `look.begin` for options and errors."""
    from stackcheck.cli.look import begin

    return inventory_of(begin(**options).inventory(), catalog)


def inventory_of(body: Mapping[str, Any], catalog: Catalog) -> Inventory:
    """Return the inventory of what the probes observed, Python packages as components."""
    from stackcheck.cli.probed import with_probed
    from stackcheck.model.inventory_json import inventory_from_json

    return with_probed(inventory_from_json(dict(body), where="probe"), body, catalog)
