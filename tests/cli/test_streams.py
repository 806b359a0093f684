"""The writer: files whole or not at all, and nothing that drives a terminal."""

from __future__ import annotations

import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from stackcheck.cli import main, streams
from stackcheck.model.errors import InputError


def test_a_file_is_written_with_the_permissions_of_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    streams.write_file(str(path), "text é\n")
    assert path.read_text(encoding="utf-8") == "text é\n"
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    texts = [f"{i}" * 200_000 for i in range(2)]
    streams.write_file(str(path), texts[0])
    done = threading.Event()

    def write() -> None:
        for number in range(60):
            streams.write_file(str(path), texts[number % 2])
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set():
        assert path.read_text() in texts
    writer.join()
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_what_cannot_be_encoded_is_written_as_an_escape(tmp_path: Path) -> None:
    path = tmp_path / "a"
    streams.write_file(str(path), "lone surrogate \ud800")
    assert path.read_text() == "lone surrogate \\ud800"


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        streams.write_file(str(tmp_path / "folder"), "text")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("text", ["\x1b[31m", "a\nb", "\x07", "\u202e", "\x9b2J", "\ud800"])
def test_what_is_said_is_printable(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    streams.say(text)
    err = capsys.readouterr().err
    assert err.endswith("\n")
    assert all(c.isprintable() for c in err[:-1])


def test_files_written_are_named_at_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    command = [
        "resolve",
        "--gpu",
        "b200",
        "-o",
        str(tmp_path / "lock"),
        "--export",
        f"env={tmp_path / 'env'}",
    ]
    assert main(command) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(command) == 0
    said = capsys.readouterr().err.splitlines()
    assert said == [
        f"stackcheck: wrote {tmp_path / 'lock'} (lock)",
        f"stackcheck: wrote {tmp_path / 'env'} (env)",
    ]
