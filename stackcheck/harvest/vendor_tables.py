"""Tables of vendors' pages: the CUDA driver table, support matrices. Pure: bytes of HTML to candidates.

A table is found by the words of its header, not by its place or number, which change with every release of the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser

from stackcheck.harvest.interface import Candidate, HarvestError
from stackcheck.harvest.upstreams import VendorTable

EXTRACTOR = "vendor-tables/1"
_MOST_CELLS = 200_000
_WIDEST = 200


class _Tables(HTMLParser):
    """All tables of a page as rows of cell texts; a cell that spans rows or columns is repeated."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[list[list[str]]] = []
        self._row: list[str] = []
        self._cell: list[str] | None = None
        self._spans: dict[int, tuple[int, str]] = {}
        self._span = (1, 1)
        self._cells = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open a table, row or cell."""
        if tag == "table":
            self.tables.append([])
            self._spans = {}
        elif tag == "tr" and self.tables:
            self._finish_row()
        elif tag in ("td", "th") and self.tables:
            self._finish_cell()
            told = dict(attrs)
            self._span = (_count(told.get("rowspan")), _count(told.get("colspan")))
            self._cell = []
        elif tag in ("br", "p", "li") and self._cell is not None:
            self._cell.append(" ")

    def handle_endtag(self, tag: str) -> None:
        """Close a cell, row or table."""
        if tag in ("td", "th"):
            self._finish_cell()
        elif tag in ("tr", "table", "thead", "tbody"):
            self._finish_row()

    def handle_data(self, data: str) -> None:
        """Keep the text of the open cell."""
        if self._cell is not None:
            self._cell.append(data)

    def _carry(self) -> None:
        while len(self._row) in self._spans and len(self._row) < _WIDEST:
            left, text = self._spans.pop(len(self._row))
            if left > 1:
                self._spans[len(self._row)] = (left - 1, text)
            self._row.append(text)

    def _finish_cell(self) -> None:
        if self._cell is None:
            return
        self._carry()
        text = " ".join("".join(self._cell).split())[:500]
        self._cell = None
        rows, columns = self._span
        for _ in range(columns):
            if len(self._row) >= _WIDEST:
                break
            if rows > 1:
                self._spans[len(self._row)] = (rows - 1, text)
            self._row.append(text)
        self._cells += 1
        if self._cells > _MOST_CELLS:
            raise HarvestError(f"a page with more than {_MOST_CELLS} cells")

    def _finish_row(self) -> None:
        self._finish_cell()
        if self._row:
            self._carry()
            self.tables[-1].append(self._row)
        self._row = []


def _count(text: str | None) -> int:
    return min(int(text), 1_000) if text and text.isascii() and text.isdigit() and int(text[:6]) > 0 else 1


def tables(data: bytes) -> list[list[list[str]]]:
    """Return all tables of a page as rows of cell texts.

    Raises:
        HarvestError: it has more cells than any page of documentation.
    """
    page = _Tables()
    page.feed(data.decode("utf-8", "replace"))
    page.close()
    return page.tables


def candidates(data: bytes, wanted: VendorTable, today: str) -> Iterator[Candidate]:
    """Yield the attributes that the wanted table gives for each version in it.

    Raises:
        HarvestError: no table of the page has these columns.
    """
    for rows in tables(data):
        for number, header in enumerate(rows[:4]):
            columns = _columns(header, wanted)
            found = list(_rows(rows[number + 1 :], columns, wanted, today)) if columns else []
            if found:  # a table may look alike and speak of series instead of releases
                yield from found
                return
    raise HarvestError(
        "no table has the columns expected", where=wanted.url, fix="has the page changed its form?"
    )


def _columns(header: Sequence[str], wanted: VendorTable) -> dict[str, int] | None:
    """Return the column of the version (under an empty name) and of each attribute, or None if one is missing."""
    found: dict[str, int] = {}
    for attribute, words in {"": wanted.version_column, **wanted.columns}.items():
        at = next((i for i, cell in enumerate(header) if words.lower() in cell.lower()), None)
        if at is None:
            return None
        found[attribute] = at
    return found


def _rows(
    rows: Sequence[Sequence[str]], columns: dict[str, int], wanted: VendorTable, today: str
) -> Iterator[Candidate]:
    for row in rows:
        if max(columns.values()) >= len(row):
            continue
        version = _version(row[columns[""]], wanted)
        for attribute, at in columns.items():
            value = _value(row[at], wanted.value_pattern) if attribute and version else ""
            if value:
                yield Candidate(
                    component=wanted.component,
                    release=version,
                    field=f"attribute:{attribute}",
                    value=value,
                    source=wanted.url,
                    date=today,
                    extractor=EXTRACTOR,
                )


def _version(text: str, wanted: VendorTable) -> str:
    """Return the version that a cell means: by name where numbering is irregular, else by the pattern's groups joined with dots."""
    if text in wanted.names:
        return wanted.names[text]
    match = re.search(wanted.pattern, text)
    if match is None:
        return ""
    groups = match.groupdict()
    if "version" in groups:
        return groups["version"] or ""
    return ".".join(g or "0" for g in match.groups())


def _value(text: str, pattern: str) -> str:
    match = re.search(pattern, text) if pattern else None
    if pattern:
        return match[1] if match else ""
    return text
