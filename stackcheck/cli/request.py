"""From the flags of resolve, why and graph to a request."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import Any

from stackcheck.catalog.catalog import Catalog, normalised
from stackcheck.model.errors import InputError, UsageError
from stackcheck.model.inventory import Inventory
from stackcheck.model.stack import Stack
from stackcheck.solver.request import Request, Wish, parse_wish

_LARGEST_LOCK = 20_000_000  # bytes


def request_from(options: argparse.Namespace, catalog: Catalog) -> Request:
    """Return the request that the flags describe.

    Raises:
        UsageError: flags are missing or contradict each other.
        InputError: a lock or host file cannot be used.
    """
    gpu, instance = options.gpu or "", options.instance
    host = host_inventory(options.host, catalog) if options.host else None
    if host is not None:
        instance = instance or (host.instance if host.instance in catalog.instance_ids else None)
        gpu = gpu or ("" if instance else host.gpu_model or "")
    if not gpu and not instance:
        raise UsageError("say for which GPU: --gpu or --instance", fix=f"known: {', '.join(catalog.gpu_ids)}")
    if options.image and options.images == "none":
        raise UsageError("--image and --images none exclude each other", fix="leave one out")
    lock = read_lock(options.lock) if options.lock else None
    wishes = [parse_wish(text, flag="--with") for text in options.wishes]
    wishes += [replace(parse_wish(text, flag="--without"), absent=True) for text in options.without]
    return Request(
        gpu=gpu,
        instance=instance,
        arch=options.arch,
        frameworks=tuple(parse_wish(text, flag="--framework") for text in options.framework),
        wishes=tuple(wishes),
        host=host_wishes(host, catalog) if host else (),
        images=options.images,
        image=options.image,
        python=options.python,
        policy=options.policy,
        keep={p.component: p.version for p in lock.pins} if lock else {},
    )


def read_lock(path: str) -> Stack:
    """Return the stack of a lock file.

    Raises:
        InputError: it cannot be read or is no lock.
    """
    from stackcheck.model.stack_json import stack_from_json

    return stack_from_json(read_json_file(path), where=path)


def read_json_file(path: str) -> Any:
    """Return the JSON value of a small file that a user named.

    Raises:
        InputError: it cannot be read, is too large or no JSON.
    """
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            text = file.read(_LARGEST_LOCK + 1)
        if len(text) > _LARGEST_LOCK:
            raise InputError("too large for a lock or inventory", where=path, fix="give the right file")
        return json.loads(text)
    except json.JSONDecodeError as fault:
        raise InputError(
            f"no JSON: {fault.msg}",
            where=f"{path}:{fault.lineno}:{fault.colno}",
            fix="give a file written by stackcheck",
        ) from fault
    except (OSError, UnicodeDecodeError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
        raise InputError(f"cannot be read: {reason}", where=path, fix="check the path") from fault
    except RecursionError as fault:
        raise InputError("nested too deeply", where=path, fix="give a file written by stackcheck") from fault


def host_inventory(name: str, catalog: Catalog) -> Inventory:
    """Return what is known of the host: of an inventory or pasted texts in a file, or of this very machine for `auto`.

    Raises:
        InputError: the file cannot be used.
    """
    if name == "auto":
        from stackcheck.cli.collect import probe_inventory

        return probe_inventory(catalog)
    from stackcheck.cli.collect import read_inventory

    return read_inventory([name], catalog)


def host_wishes(host: Inventory, catalog: Catalog) -> tuple[Wish, ...]:
    """Return the host's own components as requirements that only the user can drop."""
    wishes: list[Wish] = []
    for name, seen in sorted(host.components.items()):
        component = catalog.component(name) or catalog.component(catalog.aliases.get(normalised(name), ""))
        if component is None or component.scope != "host" or not seen:
            continue
        chosen = next((o for o in seen if o.loaded), seen[0])
        wishes.append(Wish(component=component.id, range=f"=={chosen.version}", flag="--host"))
    return tuple(wishes)
