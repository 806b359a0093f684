"""A web server on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harvest.upstream import Upstream, serving


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with serving() as server:
        yield server
