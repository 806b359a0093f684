"""A remedy that the solver finds: keep what the node is for, and move the rest to one set that fits together.

Asked only where no smaller change could be proved, as one search costs more than the rest of a check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from stackcheck.catalog.catalog import Catalog
from stackcheck.check.node import Node, Seen
from stackcheck.check.remedies import Recheck, applied, proved
from stackcheck.model.errors import StackcheckError
from stackcheck.model.finding import Finding, Remedy, Severity
from stackcheck.model.inventory import Inventory
from stackcheck.model.stack import CHOSEN_BY_BACKEND, Pin, Stack

if TYPE_CHECKING:
    from stackcheck.solver.request import Request

POLICY = "consistent_set"
"""Key of policy.json: `kinds` of findings that a set of versions can mend, `keep` the components in the order of what a person would keep."""

_MOST_KEPT = 2  # candidates to keep: each costs a search


def with_consistent_set(
    findings: Sequence[Finding], inventory: Inventory, catalog: Catalog, recheck: Recheck
) -> tuple[list[Finding], Remedy | None]:
    """Return the findings and the solver's set, if one was asked for: errors about versions without a proved remedy have it, if it removes them."""
    policy = catalog.policy.get(POLICY, {})
    open_ones = {f.id for f in findings if _is_open(f, policy.get("kinds", ()))}
    remedy = _remedy(Node(catalog, inventory), policy.get("keep", ())) if open_ones else None
    if remedy is None:
        return list(findings), None
    return [
        _proved(f, remedy, inventory, catalog, recheck, findings) if f.id in open_ones else f
        for f in findings
    ], remedy


def pointing_to(
    remedy: Remedy, findings: Sequence[Finding], inventory: Inventory, catalog: Catalog, recheck: Recheck
) -> list[Finding]:
    """Return the findings in their order; errors that the set offered for an earlier one mends too point to it, where theirs are parts of it.

    Two commands that move the same packages to different versions or builds would undo each other.
    """
    offering = next((f for f in findings if f.remedy and f.remedy[0].sets == remedy.sets), None)
    changed = applied(inventory, remedy.sets, catalog) if offering else None
    if offering is None or changed is None:
        return list(findings)
    left = {f.id for f in recheck(changed)}
    pointer = Remedy(f"The set under {offering.id} mends this too", proved=True)
    return [
        f._replace(remedy=(pointer,))
        if f is not offering
        and f.severity is Severity.ERROR
        and f.id not in left
        and any(r.sets for r in f.remedy)
        and all(r.sets.keys() <= remedy.sets.keys() for r in f.remedy)
        else f
        for f in findings
    ]


def _is_open(finding: Finding, kinds: Sequence[str]) -> bool:
    return (
        finding.severity is Severity.ERROR
        and finding.kind in kinds
        and not any(r.proved for r in finding.remedy)
    )


def _proved(
    finding: Finding,
    remedy: Remedy,
    inventory: Inventory,
    catalog: Catalog,
    recheck: Recheck,
    before: Sequence[Finding],
) -> Finding:
    tried = proved(finding._replace(remedy=(remedy,)), inventory, catalog, recheck, before)
    good = tuple(r for r in tried.remedy if r.proved)
    return finding._replace(remedy=(*good, *finding.remedy))


def _remedy(node: Node, names: Sequence[str]) -> Remedy | None:
    """Return the change from what is installed to a set that fits, or None if no set is known or nothing would change."""
    installed = {
        name: seen
        for name in sorted(node.observations)
        if (seen := node.seen(name)) is not None
        and seen.version is not None
        and seen.release is not None
        and (name in names or seen.observation.attributes.get("package"))
        and any(p.startswith("pkg:pypi/") for p in seen.component.packages)
    }
    kept = [installed[name] for name in names if name in installed][:_MOST_KEPT]
    if node.gpu is None:
        return None
    found = [r for one in kept if (r := _keeping(one, node, installed)) is not None]
    return min(found, key=lambda r: (not r.text.startswith("Keep"), len(r.sets)), default=None)


def _keeping(kept: Seen, node: Node, installed: Mapping[str, Seen]) -> Remedy | None:
    """Return the change that keeps one component, or else moves it too; None if there is no set or nothing would change."""
    for request, told in _requests(node, kept, installed):
        stack = _stack(node.catalog, request)
        if stack is not None:
            pins = [p for p in stack.pins if p.component in installed and _differs(p, installed[p.component])]
            if not pins:
                return None
            sets = {p.component: f"=={_labelled(p)}" for p in pins}
            brought = node.catalog.policy.get(
                "wheels_bring", ()
            )  # by the wheel of the framework, in the build it needs
            return Remedy(
                told, sets, run=_command([p for p in pins if p.component not in brought], installed)
            )
    return None


def _requests(node: Node, kept: Seen, installed: Mapping[str, Seen]) -> Iterator[tuple[Request, str]]:
    """Yield what to ask the resolver, the most careful first: this release with all that is there, its other releases, it alone."""
    from stackcheck.solver.request import (
        Request,
        Wish,
    )  # a search is rare; a check that needs none starts faster

    assert node.gpu is not None  # noqa: S101
    assert kept.version is not None  # noqa: S101
    driver, python = node.seen("driver"), node.seen("python")
    version = _public(kept.version.text)
    same = Wish(kept.component.id, f"=={version}", flag="--framework")
    any_of_it = Wish(kept.component.id, flag="--framework")
    others = tuple(Wish(name) for name in installed if name != kept.component.id)
    name = kept.component.name
    present = {n: s.version.text for n, s in installed.items() if s.version is not None}
    for framework, wishes, keep, told in (
        (same, others, present, f"Keep {name} {version} and move the rest to one set that fits"),
        (any_of_it, others, {}, f"Move {name} and the rest to one set that fits"),
        (any_of_it, (), {}, f"Move {name} and what it asks for to one set that fits"),
    ):
        yield (
            Request(
                gpu=node.gpu.id,
                instance=node.instance.id if node.instance else None,
                arch=None if node.instance else node.arch,
                frameworks=(framework,),
                wishes=wishes,
                host=(Wish("driver", f"=={driver.version.text}", flag="--host"),)
                if driver is not None and driver.release is not None and driver.version is not None
                else (),
                images="none",
                python=".".join(python.version.text.split(".")[:2]) if python and python.version else None,
                keep=keep,
            ),
            told,
        )


def _stack(catalog: Catalog, request: Request) -> Stack | None:
    from stackcheck.solver.resolve import resolve

    try:
        stack = resolve(catalog, request)
    except StackcheckError:  # what was seen contradicts itself: nothing to offer
        return None
    return stack if stack.solved else None


def _labelled(pin: Pin) -> str:
    """Return the version with the label of its build, where builds of it differ by CUDA."""
    return (
        f"{pin.version}+{pin.build}" if "+" not in pin.version and pin.build.startswith("cu") else pin.version
    )


def _differs(pin: Pin, seen: Seen) -> bool:
    assert seen.version is not None  # noqa: S101
    if _public(seen.version.text) != _public(pin.version):
        return True
    return "+" in seen.version.text and "+" in _labelled(pin) and seen.version.text != _labelled(pin)


def _public(version: str) -> str:
    """Return a version without its build label."""
    return version.partition("+")[0]


def _command(pins: Sequence[Pin], installed: Mapping[str, Seen]) -> str:
    """Return the pip command, if pip's own index has each of these builds; for builds of torch that it has not, uv's, which knows where they are.

    https://docs.astral.sh/uv/guides/integration/pytorch/#automatic-backend-selection
    """
    elsewhere = [p for p in pins if p.index_build is False]
    labels = {_labelled(p).partition("+")[2] for p in elsewhere}
    if not pins or (elsewhere and (len(labels) != 1 or not min(labels).startswith("cu"))):
        return ""
    if not all(_package(installed[p.component]).startswith(CHOSEN_BY_BACKEND) for p in elsewhere):
        return ""
    installer, flags = (
        ("uv pip install", f" --torch-backend={min(labels)}") if elsewhere else ("pip install", "")
    )
    if any(_public(p.version) == _public(_version(installed[p.component])) for p in pins):
        flags += (
            " --reinstall" if elsewhere else " --force-reinstall"
        )  # another build of the same version counts as installed
    if any(installed[p.component].component.builds_against for p in pins):
        flags += " --no-build-isolation"  # what is compiled here is compiled against the torch beside it
    names = " ".join(f"'{_package(installed[p.component])}=={_public(p.version)}'" for p in pins)
    return f"{installer}{flags} {names}"


def _version(seen: Seen) -> str:
    return seen.version.text if seen.version is not None else ""


def _package(seen: Seen) -> str:
    named = seen.observation.attributes.get("package")
    return str(
        named or next(p for p in seen.component.packages if p.startswith("pkg:pypi/")).rpartition("/")[2]
    )
