"""Whether inventories are of one node: several files are read as one, and what two nodes have between them fits no rule."""

from __future__ import annotations

from collections.abc import Iterator

from stackcheck.ingest.interface import Context
from stackcheck.model.errors import InputError
from stackcheck.model.inventory import Inventory

_NAMELESS = ("", "node")  # what a probe writes that saw no host name
_NO_CONTAINER = (None, "none")


def require_one_node(first: tuple[str, Inventory], second: tuple[str, Inventory], context: Context) -> None:
    """Make sure that two inventories, each with the name of its file, can be of one node.

    Raises:
        InputError: they name different hosts, GPUs, instance types or architectures.
    """
    told = [f"{a[:60]} and {b[:60]}" for a, b in _differing(first, second, context)]
    if not told:
        return
    a, b = first[0], second[0]
    where = f"{a} and {b}" if a != b else a
    raise InputError(
        f"two nodes where one is meant: {', '.join(told)}",
        where=where,
        fix="check them one by one, or hold them against each other with `stackcheck diff`",
    )


def _differing(
    first: tuple[str, Inventory], second: tuple[str, Inventory], context: Context
) -> Iterator[tuple[str, str]]:
    """Yield what one node can have one of and these have two of, as they say it."""
    one, other = first[1], second[1]
    hosts = _host(*first), _host(*second)
    if all(hosts) and not _same_host(*hosts) and _is_container(one) == _is_container(other):
        yield hosts
    for attribute in ("gpu_model", "instance", "arch"):
        a, b = (str(getattr(i, attribute) or "").strip() for i in (one, other))
        if a and b and (context.gpu(a) or a.lower()) != (context.gpu(b) or b.lower()):
            yield a, b


def _host(name: str, inventory: Inventory) -> str:
    """Return the host name of an inventory; one without is called after its file."""
    subject = inventory.subject.strip()
    return "" if subject in (*_NAMELESS, name) else subject


def _same_host(a: str, b: str) -> bool:
    """Whether two host names can be of one host: with a domain and without."""
    short, long = sorted((a.lower(), b.lower()), key=len)
    return short == long or long.startswith(f"{short}.")


def _is_container(inventory: Inventory) -> bool:
    """Whether the inventory was made in a container, which has a host name of its own on the same node."""
    return inventory.facts.get("container") not in _NO_CONTAINER
