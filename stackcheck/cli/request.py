"""From the flags of resolve, why and graph to a request."""

from __future__ import annotations

import argparse
import json
import re
from typing import TYPE_CHECKING, Any, cast, get_args

from stackcheck.catalog.catalog import Catalog, normalised
from stackcheck.catalog.identify import parsed_version
from stackcheck.cli import streams
from stackcheck.model.errors import InputError, UsageError
from stackcheck.solver.request import Policy, Request, Wish, parse_wish, request_from_json

if TYPE_CHECKING:  # only named in signatures: importing them costs each resolve
    from stackcheck.model.inventory import Inventory
    from stackcheck.model.stack import Stack

DRIVER = "driver"
_HOST_FILE = (
    "give what `stackcheck probe --inventory` writes on a node with its driver loaded, or the text that nvidia-smi "
    "or collect_env prints there; without a node to look at, --with driver==... and a --with for each further part"
)
_EXACT = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+~_-]*")
_PATCHED = re.compile(r"([0-9]{1,4}\.[0-9]{1,4})\.[0-9]{1,4}")
_LARGEST_LOCK = 20_000_000  # bytes


def request_from(options: argparse.Namespace, catalog: Catalog) -> Request:
    """Return the request that the flags describe.

    Raises:
        UsageError: flags are missing or contradict each other.
        InputError: a lock or host file cannot be used.
    """
    from stackcheck.catalog.names import instance_named

    gpu = options.gpu or ""
    instance = instance_named(catalog, options.instance).id if options.instance else None
    host = host_inventory(options.host, catalog) if options.host else None
    if host is not None:
        instance = instance or (host.instance if host.instance in catalog.instance_ids else None)
        gpu = gpu or ("" if instance else host.gpu_model or "")
    lock = read_lock(options.lock) if options.lock else None
    arch = options.arch
    if lock is not None and not gpu and not instance:
        instance, arch = lock.target.instance, arch or lock.target.arch or None
        gpu = "" if instance else lock.target.gpu
    if not gpu and not instance:
        raise UsageError("say for which GPU: --gpu or --instance", fix=f"known: {', '.join(catalog.gpu_ids)}")
    if options.image and options.images == "none":
        raise UsageError("--image and --images none exclude each other", fix="leave one out")
    wishes = [parse_wish(text, flag="--with") for text in options.wishes]
    wishes += [parse_wish(text, flag="--without")._replace(absent=True) for text in options.without]
    return Request(
        gpu=gpu,
        instance=instance,
        arch=arch,
        frameworks=tuple(parse_wish(text, flag="--framework") for text in options.framework),
        wishes=tuple(wishes),
        host=_required_of(host, options.host, catalog) if host else (),
        images=options.images,
        image=options.image,
        python=_minor(options.python),
        policy=options.policy,
        keep={p.component: p.version for p in lock.pins} if lock else {},
    )


def _minor(python: str | None) -> str | None:
    """Return a Python version without its patch level, which no package asks for, and say so."""
    found = _PATCHED.fullmatch(python or "")
    if found is None:
        return python
    streams.remark(f"--python {python}: taken as {found[1]}")
    return found[1]


def _required_of(host: Inventory, name: str, catalog: Catalog) -> tuple[Wish, ...]:
    """Return the host's own components as requirements.

    Raises:
        InputError: nothing is known of them, or the host has no driver.
    """
    wishes = host_wishes(host, catalog)
    lacks_driver = host.components.get(DRIVER) == () or (name == "auto" and not host.components.get(DRIVER))
    if wishes and not lacks_driver:
        if not host.components.get(DRIVER):
            streams.remark(f"--host {name}: says nothing about the driver, which is chosen freely")
        return wishes
    where = "--host auto" if name == "auto" else name
    raise InputError(
        "no driver on this machine"
        if name == "auto"
        else f"says {'that there is no' if lacks_driver else 'nothing about a'} driver or kernel module",
        where=where,
        fix=_HOST_FILE,
    )


_TARGET_FLAGS = ("gpu", "instance", "framework", "wishes", "without", "image", "host", "python", "arch")


def describes_stack(options: argparse.Namespace) -> str:
    """Return the first flag that describes a stack, or an empty text if none was given."""
    given = [f for f in _TARGET_FLAGS if getattr(options, f)]
    return f"--{given[0].replace('wishes', 'with')}" if given else ""


def request_of_lock(options: argparse.Namespace, catalog: Catalog) -> tuple[Request, Stack]:
    """Return the request that a lock records, and the lock.

    Raises:
        UsageError: other flags describe a stack too.
        InputError: the lock cannot be used.
    """
    given = describes_stack(options)
    if given:
        raise UsageError(f"--lock and {given} exclude each other", fix="leave one out")
    lock = read_lock(options.lock)
    if lock.request:
        from stackcheck.model.stack_json import wrong_part

        try:
            return request_from_json(lock.request), lock
        except (KeyError, TypeError) as fault:
            raise InputError(
                f"broken lock: /request: {wrong_part(fault)}",
                where=options.lock,
                fix="write it again with `stackcheck resolve -o`",
            ) from fault
    wishes = [parse_wish(text, flag="--lock") for text in lock.requirements]
    image = catalog.find_image(f"{lock.image.repository}:{lock.image.tag}") if lock.image else None
    return (
        Request(
            gpu="" if lock.target.instance else lock.target.gpu,
            instance=lock.target.instance,
            arch=lock.target.arch or None,
            frameworks=tuple(w for w in wishes if _is_framework(w, catalog)),
            wishes=tuple(w for w in wishes if not _is_framework(w, catalog)),
            images="any" if lock.image else "none",
            image=image.name if image else None,
            policy=_policy(lock.policy, options.lock),
        ),
        lock,
    )


def _is_framework(wish: Wish, catalog: Catalog) -> bool:
    """Whether a wish names what is to run: a lock does not record the flag."""
    component = catalog.component(wish.component) or catalog.component(
        catalog.aliases.get(normalised(wish.component), "")
    )
    return component is not None and component.layer in ("framework", "training", "serving")


def _policy(name: str, where: str) -> Policy:
    if name not in get_args(Policy):
        raise InputError(
            f"policy {name[:40]!r} is not known", where=where, fix=f"known: {', '.join(get_args(Policy))}"
        )
    return cast(Policy, name)


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
    from stackcheck.ingest.read import read_file

    text = read_file(path, limit=_LARGEST_LOCK)
    try:
        return json.loads(text)
    except json.JSONDecodeError as fault:
        raise InputError(
            f"no JSON: {fault.msg}",
            where=f"{path}:{fault.lineno}:{fault.colno}",
            fix="give a file written by stackcheck",
        ) from fault
    except RecursionError as fault:
        raise InputError("nested too deeply", where=path, fix="give a file written by stackcheck") from fault
    except ValueError as fault:
        raise InputError(
            f"no JSON: {str(fault)[:80]}", where=path, fix="give a file written by stackcheck"
        ) from fault


def host_inventory(name: str, catalog: Catalog) -> Inventory:
    """Return what is known of the host: of an inventory or pasted texts in a file, or of this very machine for `auto`.

    Raises:
        InputError: the file cannot be used.
    """
    if name == "auto":
        from stackcheck.cli.collect import probe_inventory

        return probe_inventory(catalog)
    import os

    from stackcheck.cli.collect import read_inventory

    if "==" in name and not os.path.lexists(name):
        raise UsageError(f"--host {name[:80]!r} is no file", fix=f"did you mean --with {name[:80]}?")
    return read_inventory([name], catalog)


def host_wishes(host: Inventory, catalog: Catalog) -> tuple[Wish, ...]:
    """Return the host's own components as requirements that only the user can drop."""
    wishes: list[Wish] = []
    for name, seen in sorted(host.components.items()):
        component = catalog.component(name) or catalog.component(catalog.aliases.get(normalised(name), ""))
        if component is None or component.scope != "host" or not seen:
            continue
        on_host = [o for o in seen if o.scope != "container" and _EXACT.fullmatch(o.version)]
        chosen = next((o for o in on_host if o.loaded), on_host[0] if on_host else None)
        if chosen is None or parsed_version(component, chosen.version) is None:
            continue  # there, but nobody can say in which version
        wishes.append(Wish(component=component.id, range=f"=={chosen.version}", flag="--host"))
    return tuple(wishes)
