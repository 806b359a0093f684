"""What workers ask the library for. Everything here may take long and runs in a thread, never on the UI's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the first paint needs none of it
    from stackcheck.catalog.catalog import Catalog
    from stackcheck.model.explanation import Explanation
    from stackcheck.model.finding import Report
    from stackcheck.model.inventory import Inventory
    from stackcheck.model.stack import Stack
    from stackcheck.solver.encode import Encoding
    from stackcheck.solver.pair_facts import PairStory
    from stackcheck.solver.pairing import Pairing
    from stackcheck.solver.request import Request
    from stackcheck.solver.search import Solution
    from stackcheck_probes.interface import Probe
    from stackcheck_probes.look import Look
    from stackcheck_tui.named import Named


@dataclass(frozen=True, slots=True)
class View:
    """Which picture is asked for."""

    rows: str = "torch"
    columns: str = "gpu"
    gpu: str = ""
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """A report on an inventory, and on the same with remedies applied."""

    before: Report
    after: Report


class Desk:
    """The library behind one catalog, which is opened when the first worker asks for it."""

    def __init__(self, opening: Callable[[], Catalog]) -> None:
        self._opening = opening
        self._lock = threading.RLock()
        self._opened: Catalog | None = None
        self._named: tuple[tuple[Named, ...], ...] = ()
        self._asked: tuple[Request, Encoding, Solution | None] | None = None

    @property
    def catalog(self) -> Catalog:
        """The catalog; reads the disk at first, so ask for it in workers alone.

        Raises:
            StackcheckError: it cannot be opened.
        """
        with self._lock:
            if self._opened is None:
                self._opened = self._opening()
            return self._opened

    def picture(self, view: View) -> Pairing:
        """Return the graded picture of two axes."""
        from stackcheck.solver.axes import axis
        from stackcheck.solver.pairing import Context, pair

        rows = axis(self.catalog, view.rows, without=(view.columns,))
        columns = axis(self.catalog, view.columns, without=(view.rows,))
        if view.folded:
            rows, columns = rows.folded(), columns.folded()
        gpu = self.catalog.find_gpu(view.gpu) if view.gpu else None
        return pair(self.catalog, rows, columns, Context(gpu))

    def story(self, picture: Pairing, row: int, column: int) -> PairStory:
        """Return the facts behind one pair."""
        from stackcheck.solver.pair_facts import story

        return story(self.catalog, picture, row, column)

    def axes(self) -> tuple[str, ...]:
        """Return every axis there is."""
        from stackcheck.solver.axes import axis_names

        return axis_names(self.catalog)

    def named(self, query: str) -> list[Named]:
        """Return what has a name with the words of a query in it.

        Raises:
            StackcheckError: the data cannot be read.
        """
        from stackcheck_tui.named import everything, found

        with self._lock:
            self._named = self._named or everything(self.catalog)
        return found(self._named, query)

    def resolve(self, request: Request) -> Stack:
        """Return the stack for a request."""
        from stackcheck.solver.resolve import resolve

        return resolve(self.catalog, request)

    def explain(self, request: Request, component: str) -> Explanation | None:
        """Return why the stack of a request holds a component as it does; None if there is no stack."""
        from stackcheck.solver.explain_pin import explain_pin
        from stackcheck.solver.resolve import question

        with self._lock:  # one question after the other: the next component of the same request is cheap
            if self._asked is None or self._asked[0] != request:
                self._asked = (request, *question(self.catalog, request))
            _, encoding, solution = self._asked
        return None if solution is None else explain_pin(encoding, solution, component)

    def check(self, inventory: Inventory, sets: Sequence[Mapping[str, Any]] = ()) -> Verdict:
        """Return the report on an inventory, and on the same with the changes of some remedies made."""
        from stackcheck.check import check
        from stackcheck.check.remedies import applied

        before = check(self.catalog, inventory)
        changed = before.inventory
        for one in sets:
            changed = applied(changed, one, self.catalog) or changed
        return Verdict(before, check(self.catalog, changed) if sets else before)

    def read(self, names: Sequence[str]) -> Inventory:
        """Return what files, or a captured tree, say about one node."""
        import os

        from stackcheck.cli.collect import probe_inventory, read_inventory

        if len(names) == 1 and os.path.isdir(names[0]):  # noqa: PTH112
            return probe_inventory(self.catalog, root=names[0])
        return read_inventory(names, self.catalog)

    def pasted(self, text: str) -> Inventory:
        """Return what a pasted text says."""
        from stackcheck.ingest import ingest

        return ingest([("paste", text)], aliases=self.catalog.aliases, gpu_names=self.catalog.gpu_names)

    def probe(self, progress: Callable[[str], None]) -> Inventory:
        """Return what the probes see on this machine, telling each one that is done.

        Raises:
            InputError: the machine cannot be looked at.
        """
        from stackcheck.cli.collect import inventory_of
        from stackcheck.model.errors import InputError
        from stackcheck_probes.host import live_host
        from stackcheck_probes.interface import HostError
        from stackcheck_probes.inventory import DEFAULT_TIMEOUT, observe
        from stackcheck_probes.registry import PROBES

        done: list[str] = []

        def telling(one: Probe) -> Probe:
            def run(look: Look) -> None:
                try:
                    one.run(look)
                finally:
                    done.append(one.name)
                    progress(f"probing: {len(done)} of {len(PROBES)} done, {one.name} last")

            return one._replace(run=run)

        progress(f"probing: {len(PROBES)} probes are at work")
        try:
            body = observe(live_host(), [telling(p) for p in PROBES], DEFAULT_TIMEOUT)
        except HostError as fault:
            raise InputError(
                fault.reason, where=fault.subject, fix="run it as a user who may look"
            ) from fault
        return inventory_of(body, self.catalog)
