"""What goes with what: the grade of every pair of two axes, worked out with the rules, rows and requirements that the solver uses.

Rules become masks over both axes at once, so a picture of some thousand pairs takes a fraction of a second; the facts behind one pair
are told by `stackcheck.solver.pair_facts`, which evaluates the same rules on that pair alone (a test holds the two together).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.evaluate import Missing, parsed_range
from stackcheck.model.kinds import Grade
from stackcheck.model.release import Gpu, GpuRow, Image, Requirement
from stackcheck.model.rule import Rule, head_of
from stackcheck.solver.axes import Axis, Entry, Unit, candidates_of, gpu_heads, gpu_of
from stackcheck.solver.candidates import Candidate
from stackcheck.solver.cases import TRUE, Case, Literals

GRADES = tuple(Grade)
_BEST_FIRST = (Grade.SUPPORTED, Grade.TESTED, Grade.CAVEAT, Grade.DEGRADED, Grade.UNKNOWN, Grade.BROKEN)
_WORST_FIRST = (Grade.BROKEN, Grade.DEGRADED, Grade.CAVEAT, Grade.SUPPORTED, Grade.TESTED)


class Context:
    """What holds for the whole picture: perhaps a GPU that everything runs on."""

    def __init__(self, gpu: Gpu | None = None) -> None:
        """Fix a GPU, or nothing."""
        self.gpu = gpu
        self.constants: dict[str, Any] = {}
        if gpu is not None:
            for head, choice in gpu_heads(gpu).items():
                self.constants[head] = choice.value("")
            self.constants.update({f"gpu.{n}": v for n, v in gpu.attributes.items()})
            self.constants["gpu.name"] = gpu.name

    @property
    def arches(self) -> frozenset[str]:
        """The CPU architectures it leaves; empty if all."""
        known = self.gpu.attributes.get("arch") if self.gpu else None
        return known if isinstance(known, frozenset) else frozenset()


@dataclass(frozen=True, slots=True)
class Pairing:
    """The picture: two axes and the grade of each pair."""

    rows: Axis
    columns: Axis
    context: Context
    cells: tuple[bytes, ...]
    """One byte a pair, the place of its grade in `GRADES`."""

    def grade(self, row: int, column: int) -> Grade:
        """Return the grade of a pair."""
        return GRADES[self.cells[row][column]]

    def counts(self, row: int, columns: Sequence[int] | None = None) -> Mapping[Grade, int]:
        """Return how often each grade occurs in a row, in some columns or in all."""
        cells = self.cells[row] if columns is None else bytes(self.cells[row][c] for c in columns)
        return {g: cells.count(i) for i, g in enumerate(GRADES)}


def pair(catalog: Catalog, rows: Axis, columns: Axis, context: Context | None = None) -> Pairing:
    """Return the picture of two axes."""
    return _Picture(catalog, rows, columns, context or Context()).run()


def worst(grades: Sequence[Grade]) -> Grade:
    """Return what several facts about one pair come to: the worst of the bad ones, else the best of the good ones."""
    return next((g for g in _WORST_FIRST if g in grades), Grade.UNKNOWN)


def best(grades: Sequence[Grade]) -> Grade:
    """Return what several variants of one pair come to: the best, unknown before broken."""
    return next((g for g in _BEST_FIRST if g in grades), Grade.UNKNOWN)


def concerns(rule: Rule, mine: frozenset[str], theirs: frozenset[str], context: Context) -> bool:
    """Whether a rule speaks of a pair: it looks at something of both sides, or of one side on the context's GPU."""
    if not rule.solver:
        return False
    heads = {head_of(s) for s in rule.subject_names()}
    if heads & mine and heads & theirs:
        return True
    return context.gpu is not None and "gpu" in heads and bool(heads & (mine | theirs))


def heads_of(units: Sequence[Unit]) -> frozenset[str]:
    """Return every head that some unit answers for."""
    return frozenset(h for u in units for h in u.holds)


def asked_of(unit: Unit, other: Unit) -> Iterator[tuple[Candidate, Requirement, Candidate]]:
    """Yield what parts of one unit ask of parts of the other: who asks, the requirement, who must meet it."""
    targets = candidates_of(other)
    for candidate in candidates_of(unit).values():
        for row in candidate.requires or ():
            if (
                row.component in targets
                and row.component not in unit.holds
                and not row.extra
                and not row.python
            ):
                yield candidate, row, targets[row.component]


def meets(row: Requirement, target: Candidate) -> bool | None:
    """Whether a candidate meets a requirement; None if the range cannot be read."""
    assert target.version is not None  # noqa: S101
    bounds = parsed_range(row.range, target.version.scheme)
    if bounds is None:
        return None
    if target.version in bounds:
        return True
    label = row.range.rpartition("+")[2] if "+" in row.range else ""
    return bool(label) and target.text == row.range.removeprefix("==")


def row_for(gpu: Gpu, candidate: Candidate) -> GpuRow | None:
    """Return the first row of a GPU's matrix that holds a candidate's version."""
    for row in gpu.rows:
        if row.component == candidate.component and candidate.version is not None:
            bounds = parsed_range(row.range, candidate.version.scheme)
            if bounds is not None and candidate.version in bounds:
                return row
    return None


def shipping(catalog: Catalog, one: Entry, other: Entry, names: tuple[str, str]) -> tuple[Image, ...]:
    """Return the images that hold both releases."""
    return tuple(
        i
        for i in catalog.images
        if _same(i.contents.get(names[0]), one.id) and _same(i.contents.get(names[1]), other.id)
    )


def _same(held: str | None, version: str) -> bool:
    return held is not None and (held == version or held.partition("+")[0] == version)


class _Picture:
    def __init__(self, catalog: Catalog, rows: Axis, columns: Axis, context: Context) -> None:
        self.catalog = catalog
        self.rows = rows
        self.columns = columns
        self.context = context
        self.mine = [u for e in rows.entries for u in e.units]
        self.theirs = [u for e in columns.entries for u in e.units]
        self.row_heads, self.column_heads = heads_of(self.mine), heads_of(self.theirs)
        self.found: dict[Grade, list[int]] = {g: [0] * len(self.mine) for g in GRADES}
        """By grade: for each unit of a row, the mask of the columns' units with a fact of that grade."""

    def run(self) -> Pairing:
        for rule in self.catalog.rules:
            if concerns(rule, self.row_heads, self.column_heads, self.context):
                self._rule(rule)
        self._requirements()
        self._gpu_rows()
        self._architectures()
        self._shipped()
        return Pairing(self.rows, self.columns, self.context, self._cells())

    # facts to masks

    def _literals(self) -> Literals:
        domains: dict[str, list[Any]] = {}
        for units, heads in ((self.mine, self.row_heads), (self.theirs, self.column_heads - self.row_heads)):
            for head in heads:
                domains[head] = [u.holds.get(head, _UNKNOWN) for u in units]
        return Literals(domains, self.context.constants)

    def _rule(self, rule: Rule) -> None:
        literals = self.literals
        for case in literals.firing(rule):
            self._mark(rule.grade, literals, case)
        if rule.require is not None:
            for case in literals.cases(rule.when, TRUE):
                for held in literals.cases(rule.require, TRUE):
                    joined = _joined(case, held)
                    if joined is not None:
                        self._mark(Grade.SUPPORTED, literals, joined)

    @property
    def literals(self) -> Literals:
        known = self.__dict__.get("_known")
        if known is None:
            known = self.__dict__["_known"] = self._literals()
        return known

    def _mark(self, grade: Grade, literals: Literals, case: Case) -> None:
        for masks in literals.forbidden(case):
            mine, theirs = (1 << len(self.mine)) - 1, (1 << len(self.theirs)) - 1
            for head, mask in masks.items():
                if head in self.row_heads:
                    mine &= mask
                else:
                    theirs &= mask
            self._add(grade, mine, theirs)

    def _add(self, grade: Grade, mine: int, theirs: int) -> None:
        if not theirs:
            return
        table = self.found[grade]
        while mine:
            low = mine & -mine
            table[low.bit_length() - 1] |= theirs
            mine ^= low

    def _requirements(self) -> None:
        self._asking(self.mine, self.theirs, turned=False)
        self._asking(self.theirs, self.mine, turned=True)

    def _asking(self, askers: Sequence[Unit], targets: Sequence[Unit], *, turned: bool) -> None:
        by_name: dict[str, list[tuple[int, Candidate]]] = {}
        for bit, unit in enumerate(targets):
            for name, candidate in candidates_of(unit).items():
                by_name.setdefault(name, []).append((bit, candidate))
        known: dict[tuple[str, str], tuple[int, int]] = {}
        for bit, unit in enumerate(askers):
            for candidate in candidates_of(unit).values():
                for row in candidate.requires or ():
                    if row.component not in by_name or row.component in unit.holds or row.extra or row.python:
                        continue
                    key = (row.component, row.range)
                    if key not in known:
                        known[key] = _fitting(row, by_name[row.component])
                    for grade, mask in zip((Grade.SUPPORTED, Grade.BROKEN), known[key], strict=True):
                        if turned:
                            self._add(grade, mask, 1 << bit)
                        else:
                            self._add(grade, 1 << bit, mask)

    def _gpu_rows(self) -> None:
        for units, others, turned in ((self.mine, self.theirs, False), (self.theirs, self.mine, True)):
            everything = (1 << len(others)) - 1
            known: dict[tuple[str, str, Any], Grade | None] = {}
            for bit, unit in enumerate(units):
                gpu = gpu_of(self.catalog, unit)
                if gpu is not None:
                    for other_bit, other in enumerate(others):
                        for grade in _row_grades(gpu, other, known):
                            one, two = 1 << bit, 1 << other_bit
                            self._add(grade, *((two, one) if turned else (one, two)))
                elif self.context.gpu is not None:
                    for grade in _row_grades(self.context.gpu, unit, known):
                        if grade not in (Grade.SUPPORTED, Grade.TESTED):
                            one = 1 << bit
                            self._add(grade, *((everything, one) if turned else (one, everything)))

    def _architectures(self) -> None:
        for bit, unit in enumerate(self.mine):
            mask = 0
            for other_bit, other in enumerate(self.theirs):
                mask |= 0 if together(unit, other, self.context) else 1 << other_bit
            self._add(Grade.BROKEN, 1 << bit, mask)

    def _shipped(self) -> None:
        """Note as tested what some image holds together."""
        if self.rows.kind != "component" or self.columns.kind != "component":
            return
        mine, theirs = _places(self.rows), _places(self.columns)
        for image in self.catalog.images:
            one, two = image.contents.get(self.rows.name), image.contents.get(self.columns.name)
            if one and two:
                left = mine.get(one) or mine.get(one.partition("+")[0], 0)
                right = theirs.get(two) or theirs.get(two.partition("+")[0], 0)
                self._add(Grade.TESTED, left, right)

    # masks to cells

    def _cells(self) -> tuple[bytes, ...]:
        columns = _masks(self.columns)
        cells: list[bytes] = []
        place = {g: i for i, g in enumerate(GRADES)}
        for mask in _masks(self.rows):
            merged = self._merged(mask)
            line = bytearray()
            for column in columns:
                grade = next((g for g in _BEST_FIRST if merged[g] & column), Grade.UNKNOWN)
                line.append(place[grade])
            cells.append(bytes(line))
        return tuple(cells)

    def _merged(self, mask: int) -> dict[Grade, int]:
        """Return by grade the columns' units that come to it with one of the row's units."""
        merged = dict.fromkeys(GRADES, 0)
        while mask:
            low = mask & -mask
            bit = low.bit_length() - 1
            mask ^= low
            left = (1 << len(self.theirs)) - 1
            for grade in _WORST_FIRST:
                here = self.found[grade][bit] & left
                merged[grade] |= here
                left &= ~here
            merged[Grade.UNKNOWN] |= left
        return merged


class _Unknown:
    def value(self, attribute: str) -> Any:
        del attribute
        return Missing.UNKNOWN


_UNKNOWN = _Unknown()


def together(one: Unit, other: Unit, context: Context) -> bool:
    """Whether two units exist for one CPU architecture (and the context's)."""
    common = one.arches & other.arches
    return bool(common & context.arches) if context.arches else bool(common)


def _fitting(row: Requirement, targets: Sequence[tuple[int, Candidate]]) -> tuple[int, int]:
    good = bad = 0
    for bit, candidate in targets:
        held = meets(row, candidate)
        good |= 1 << bit if held is True else 0
        bad |= 1 << bit if held is False else 0
    return good, bad


def _row_grades(gpu: Gpu, unit: Unit, known: dict[tuple[str, str, Any], Grade | None]) -> Iterator[Grade]:
    for name, candidate in candidates_of(unit).items():
        key = (gpu.id, name, candidate.version.key if candidate.version else None)
        if key not in known:
            row = row_for(gpu, candidate)
            known[key] = Grade(row.grade) if row is not None else None
        grade = known[key]
        if grade is not None:
            yield grade


def _places(axis: Axis) -> dict[str, int]:
    """Return by release and by release with build the mask of units."""
    places: dict[str, int] = {}
    bit = 0
    for entry in axis.entries:
        for unit in entry.units:
            for name in {entry.id, unit.label}:
                places[name] = places.get(name, 0) | 1 << bit
            bit += 1
    return places


def _masks(axis: Axis) -> list[int]:
    masks: list[int] = []
    bit = 0
    for entry in axis.entries:
        masks.append(((1 << len(entry.units)) - 1) << bit)
        bit += len(entry.units)
    return masks


def _joined(one: Case, other: Case) -> Case | None:
    masks = dict(one.masks)
    for name, mask in other.masks.items():
        masks[name] = masks.get(name, mask) & mask
        if not masks[name]:
            return None
    return Case(masks, one.relations + other.relations)
