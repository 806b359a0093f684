"""Join what several formats said about the same thing: hearsay gives way, less precise versions are completed.

Different versions of one component stay apart. What is joined here is one release under two spellings: `2.9.1` in a package
list and `2.9.1+cu130` where torch told it, `9.10.2` from a library and `9.10.2.21` from its wheel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from stackcheck.ingest.draft import MENTION
from stackcheck.ingest.patterns import Lazy
from stackcheck.model.inventory import Inventory, Observation

_NUMBERS = Lazy(r"v?(\d{1,9}(?:\.\d{1,9}){0,8})(.{0,180})\Z", re.DOTALL)
# The CUDA line of a wheel or package: two flavours of one version are two copies.
_FLAVOUR = Lazy(r"cu(?:da)?-?\d+")
# More numbers, a local label, a package revision or a vendor's mark; never a pre-, post- or development release.
_MORE = Lazy(r"\.\d|\+|-(?:\d|aws)|(?!a\d|b\d|c\d|rc|dev|post|alpha|beta|pre)[a-z]")


def reconcile(inventory: Inventory) -> Inventory:
    """Return the inventory with the observations of each component joined."""
    return inventory._replace(components={c: _joined(c, seen) for c, seen in inventory.components.items()})


def _joined(component: str, seen: tuple[Observation, ...]) -> tuple[Observation, ...]:
    if len(seen) > 1:
        seen = _without_hearsay(seen)
        seen = _with_lent_attributes(seen)
    if component == "torch":
        seen = tuple(_with_cuda_label(o) for o in seen)
    if len(seen) > 1:
        versions = {o.version for o in seen}
        completed = {v: _completed(v, versions) for v in versions}
        seen = tuple(o._replace(version=full) for o in seen if (full := completed[o.version]) is not None)
    return tuple(_labelled(o) for o in _unique(seen))


def _without_hearsay(seen: tuple[Observation, ...]) -> tuple[Observation, ...]:
    """Drop what free text mentions if some program's output names a version of the same component."""
    told = tuple(o for o in seen if o.evidence.method != MENTION)
    return told if any(o.version for o in told) else seen


def _with_lent_attributes(seen: tuple[Observation, ...]) -> tuple[Observation, ...]:
    """Give attributes told without a version to the copies that have one."""
    nameless = [o for o in seen if not o.version and not o.path]
    named = [o for o in seen if o.version or o.path]
    if not nameless or not named:
        return seen
    lent: dict[str, Any] = {}
    for o in nameless:
        lent = {**o.attributes, **lent}
    return tuple(o._replace(attributes={**lent, **o.attributes}, loaded=_either(o, nameless)) for o in named)


def _with_cuda_label(o: Observation) -> Observation:
    """Write the CUDA line that torch was built with into its version, as its own wheels do: 2.4.1 and 12.1 make 2.4.1+cu121."""
    cuda = o.attributes.get("cuda")
    if not isinstance(cuda, str) or "+" in o.version or not _NUMBERS.match(o.version):
        return o
    return o._replace(version=f"{o.version}+cu{cuda.replace('.', '')}")


def _either(observation: Observation, others: Iterable[Observation]) -> bool | None:
    return True if observation.loaded or any(o.loaded for o in others) else observation.loaded


def _completed(version: str, all_versions: set[str]) -> str | None:
    """Return the more precise spelling of a version, itself, or None where it could be several of the others."""
    if "+" in version:  # a commit hash cut shorter
        longer = [
            v for v in all_versions if v != version and v.startswith(version) and v[len(version) :].isalnum()
        ]
        return max(longer, key=len) if longer and "+cu" not in version else version
    match = _NUMBERS.match(version)
    if match is None or match[2]:
        return version
    better = [v for v in all_versions if v != version and _refines(v, match[1])]
    longest = [v for v in better if not any(w != v and w.startswith(v) for w in better)]
    if not longest:
        return version
    return longest[0] if len(longest) == 1 else None


def _refines(longer: str, numbers: str) -> bool:
    """Whether `longer` is the version `numbers` with more behind it."""
    if numbers.count(".") == 0 or not longer.startswith(numbers):
        return False
    return _MORE.match(longer, len(numbers)) is not None


def _unique(seen: tuple[Observation, ...]) -> tuple[Observation, ...]:
    """Drop repetitions of one version at one place, keeping the first evidence and what any of them knew."""
    kept: dict[tuple[str, str, str], Observation] = {}
    for o in seen:
        flavour = _FLAVOUR.search(str(o.attributes.get("package", "")))
        key = (o.version, o.path, flavour[0] if flavour else "")
        mine = kept.get(key)
        if mine is None:
            kept[key] = o
        else:
            kept[key] = mine._replace(
                attributes={**o.attributes, **mine.attributes},
                loaded=mine.loaded if mine.loaded is not None else o.loaded,
                scope=mine.scope or o.scope,
            )
    return tuple(kept.values())


_TORCH = Lazy(r"torch(\d{1,2}\.\d{1,3})")
_CUDA = Lazy(r"(?:^|[._-])cu(1\d)(\d?)(?!\d)")
_ABI = Lazy(r"cxx11abi(true|false)")


def _labelled(o: Observation) -> Observation:
    """Add what the local label of a version says about its build: `+cu121`, `+cu12torch2.4cxx11abifalse`."""
    label = o.version.partition("+")[2].lower()
    if not label:
        return o
    read = label_attributes(label)
    return o._replace(attributes={**read, **o.attributes}) if read else o


def label_attributes(label: str) -> Mapping[str, Any]:
    """Return the attributes that a PEP 440 local label tells: CUDA major, torch minor, C++ ABI."""
    found: dict[str, Any] = {}
    if match := _CUDA.search(label):
        found["cuda_major"] = int(match[1])
        if match[2]:
            found["cuda"] = f"{match[1]}.{match[2]}"
    if match := _TORCH.search(label):
        found["torch"] = match[1]
    if match := _ABI.search(label):
        found["abi"] = "cxx11" if match[1] == "true" else "pre-cxx11"
    return found
