"""The catalog of the checkout, opened once, and a short way to a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stackcheck.catalog import Catalog, open_catalog
from stackcheck.check import check
from stackcheck.cli.collect import read_inventory
from stackcheck.model.finding import Report
from stackcheck.model.inventory import Inventory, Observation

Judge = Callable[..., Report]
CheckTexts = Callable[[dict[str, str]], Report]


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return open_catalog()


@pytest.fixture
def judge(catalog: Catalog) -> Judge:
    """Judge a node told in short: versions by component, and anything an inventory has."""

    def call(
        versions: dict[str, str | tuple[str, ...]] | None = None, package: bool = False, **more: Any
    ) -> Report:
        components = {
            name: tuple(
                Observation(version=v, attributes={"package": name} if package else {})
                for v in ((seen,) if isinstance(seen, str) else seen)
            )
            for name, seen in (versions or {}).items()
        }
        return check(catalog, Inventory(components=components, **more))

    return call


@pytest.fixture
def check_texts(catalog: Catalog, tmp_path: Path) -> CheckTexts:
    """Judge texts as the command does: files that somebody names on the command line."""

    def call(texts: dict[str, str]) -> Report:
        for name, text in texts.items():
            (tmp_path / name).write_text(text, encoding="utf-8", errors="surrogatepass")
        return check(catalog, read_inventory([str(tmp_path / name) for name in texts], catalog))

    return call
