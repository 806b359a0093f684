"""The rules and advisories of the matrices, parsed when somebody needs them.

There are many hundred, and a question about one stack or node concerns few: a rule that demands something nobody knows about
here cannot fire, so it is passed over by the JSON of its condition alone, without being parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from typing import Any, Protocol

from stackcheck.catalog import parse, parse_rule
from stackcheck.model.errors import MatrixError
from stackcheck.model.release import Source
from stackcheck.model.rule import Rule

_FOLDERS = ("rules", "advisories")


class RuleFiles(Protocol):
    """Where rule files come from."""

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the sorted names of the JSON files below a folder."""
        ...

    def read(self, name: str) -> Any:
        """Return the JSON value of a file."""
        ...

    def size(self, name: str) -> int:
        """Return the bytes of a file."""
        ...


class Row:
    """One rule as JSON, with what it demands; parsed once, on demand."""

    __slots__ = ("_body", "_parsed", "_table", "demands", "for_stacks", "id", "where")

    def __init__(self, body: Mapping[str, Any], table: Mapping[str, Source], where: str) -> None:
        """Note what a rule demands.

        Raises:
            KeyError, TypeError: it has no id or no condition.
        """
        self.id = str(body["id"])
        self.where = where
        self.for_stacks = body.get("solver", True) is not False
        self.demands = tuple(_demanded(body["when"]))
        self._body = body
        self._table = table
        self._parsed: Rule | None = None

    @property
    def rule(self) -> Rule:
        """The parsed rule.

        Raises:
            MatrixError: with the JSON pointer of the part that is wrong.
        """
        if self._parsed is None:
            try:
                self._parsed = parse_rule.rule(self._body, self._table, self.where)
            except (KeyError, ValueError, TypeError, AttributeError) as fault:
                raise MatrixError(
                    f"{type(fault).__name__}: {fault}", where=self.where, fix="see docs/rules.md"
                ) from fault
        return self._parsed


class Rulebook:
    """All rules of one set of matrices, sorted by id."""

    def __init__(self, files: RuleFiles, index: Mapping[str, Any] | None = None) -> None:
        """Read from `files` on demand; `index` is what `indexed` returned for the same files."""
        self._files = files
        self._index = index or {}
        self._read_before: dict[str, tuple[Row, ...]] = {}

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(f"{folder}/{name}" for folder in _FOLDERS for name in self._files.names(folder))

    @cached_property
    def _rows(self) -> tuple[Row, ...]:
        return _in_order(row for name in self._names for row in self._of(name))

    def _of(self, name: str) -> tuple[Row, ...]:
        if name not in self._read_before:
            self._read_before[name] = tuple(self._read(name))
        return self._read_before[name]

    def indexed(self) -> dict[str, Any]:
        """Return for each file its bytes, its rules' ids, and what they demand: each set of subjects once, with blanks between.

        For index.json.
        """
        return {
            name: {
                "bytes": self._files.size(name),
                "demands": sorted({" ".join(row.demands) for row in self._of(name)}),
                "ids": sorted(row.id for row in self._of(name)),
            }
            for name in self._names
        }

    def _read(self, name: str) -> Iterator[Row]:
        body = self._files.read(name)
        where = f"matrices/{name}"
        try:
            listed = body.get("sources")
            table = parse.sources(listed if isinstance(listed, dict) else body.get("source_table"))
            if "rules" in body:
                for i, row in enumerate(body["rules"]):
                    yield Row(row, table, f"{where}#/rules/{i}")
            else:
                yield Row(body, table, f"{where}#")
        except (KeyError, ValueError, TypeError, AttributeError) as fault:
            raise MatrixError(
                f"{type(fault).__name__}: {fault}", where=where, fix="see docs/rules.md"
            ) from fault

    def all(self) -> tuple[Rule, ...]:
        """Return every rule."""
        return tuple(row.rule for row in self._rows)

    def about(self, known: Callable[[str], bool], *, stacks_only: bool = False) -> tuple[Rule, ...]:
        """Return the rules whose demands are all `known`; those for the solver alone, if asked."""
        is_known = cache(known)
        wanted = (
            row
            for name in self._names
            if self._concerns(name, is_known)
            for row in self._of(name)
            if (row.for_stacks or not stacks_only) and all(map(is_known, row.demands))
        )
        return tuple(row.rule for row in _in_order(wanted))

    def _concerns(self, name: str, known: Callable[[str], bool]) -> bool:
        """Whether a file can have a rule whose demands are all known: most have none, and need not be read.

        A file of another size than the index says was edited since: it is read.
        """
        told = self._index.get(name)
        if told is None or any(all(map(known, row.split())) for row in told["demands"]):
            return True
        return self._is_edited(name, told)

    def _is_edited(self, name: str, told: Mapping[str, Any]) -> bool:
        return bool(told["bytes"] != self._files.size(name))

    def rule(self, name: str) -> Rule | None:
        """Return the rule of this id, or None."""
        if name not in self._found:
            files = (f for f in self._names if f in self._unlisted or name in self._index[f]["ids"])
            row = next((r for f in files for r in self._of(f) if r.id == name), None)
            self._found[name] = row.rule if row is not None else None
        return self._found[name]

    @cached_property
    def _found(self) -> dict[str, Rule | None]:
        return {}

    @cached_property
    def _unlisted(self) -> frozenset[str]:
        """The files whose ids the index does not tell, or no longer does."""
        return frozenset(f for f in self._names if f not in self._index or self._is_edited(f, self._index[f]))


def _in_order(rows: Iterable[Row]) -> tuple[Row, ...]:
    return tuple(sorted(rows, key=lambda r: r.id))


def _demanded(condition: Any) -> Iterator[str]:
    """Yield the subjects that must be known for a condition to be true: those outside of any and not."""
    if not isinstance(condition, dict):
        return
    if "relation" in condition:
        yield str(condition.get("left"))
        yield str(condition.get("right"))
        return
    for key, value in condition.items():
        if key == "all":
            for part in value if isinstance(value, list) else ():
                yield from _demanded(part)
        elif key not in ("any", "not"):
            yield key
