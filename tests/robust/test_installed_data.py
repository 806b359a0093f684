"""A data set in the user's home that cannot be used is passed over, and the user is told."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.robust.conftest import Call

Breaks = Callable[[Path], None]


def _long_version(home: Path) -> None:
    (home / "a" / "VERSION").write_text("9" * 6000)


def _long_format(home: Path) -> None:
    (home / "a" / "FORMAT").write_text("9" * 6000)


def _version_alone(home: Path) -> None:
    (home / "a" / "components").rmdir()


def _no_version(home: Path) -> None:
    (home / "a" / "VERSION").unlink()


def _pipe(home: Path) -> None:
    (home / "active").unlink()
    os.mkfifo(home / "active")


def _endless(home: Path) -> None:
    (home / "active").unlink()
    (home / "active").symlink_to("/dev/zero")


def _outside(home: Path) -> None:
    (home / "active").write_text("../../../etc\n")


def _nothing(home: Path) -> None:
    (home / "active").write_text("")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of installed data sets, with a whole but empty one of the far future in it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    home = tmp_path / "stackcheck" / "matrices"
    (home / "a" / "components").mkdir(parents=True)
    (home / "a" / "VERSION").write_text("2999.1.1\n")
    (home / "active").write_text("a\n")
    return home


@pytest.mark.parametrize(
    "breaks",
    [_long_version, _long_format, _version_alone, _no_version, _pipe, _endless, _outside, _nothing],
)
def test_a_broken_installed_set_is_passed_over_with_one_note(
    installed: Path, breaks: Breaks, call: Call
) -> None:
    breaks(installed)
    outcome = call("show", "gpu", "b200")
    assert outcome.code == 0
    assert "Blackwell" in outcome.out
    assert (
        "so the shipped data counts; run `stackcheck matrices update` again, or remove it" in outcome.message
    )


def test_no_word_about_it_to_those_who_name_their_own_data(
    installed: Path, call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _nothing(installed)
    (tmp_path / "overlay").mkdir()
    assert call("show", "gpu", "b200", "--matrices", str(tmp_path / "overlay")).err == ""
    monkeypatch.setenv("STACKCHECK_MATRICES", str(tmp_path / "overlay"))
    assert call("show", "gpu", "b200").err == ""
