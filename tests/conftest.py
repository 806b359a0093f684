"""Options and fixtures of the whole suite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

GOLDEN = Path(__file__).parent / "golden"

# the gate runs the same examples each time; new ones are looked for with `pytest --hypothesis-profile=search`
settings.register_profile("gate", derandomize=True)
settings.register_profile("search", derandomize=False)
settings.load_profile("gate")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write tests/golden/ anew; read the diff before you commit",
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return a function that compares a text with the golden file of that name, byte for byte."""
    update = request.config.getoption("--update-golden")

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if update:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text.encode("utf-8"))
        assert path.is_file(), f"no golden file {name}: write it with --update-golden and read it"
        assert text.encode("utf-8") == path.read_bytes(), f"{name} differs; see pytest --update-golden"

    return compare
