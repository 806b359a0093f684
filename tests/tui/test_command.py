"""`stackcheck tui` as a command: flags, no terminal, the web view's warnings."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest

from stackcheck.cli import main
from stackcheck_tui import app, web
from tests.tui.small import catalog


def test_without_a_terminal_it_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tui"]) == 2
    assert "no terminal to draw on" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--port", "80"], "--web"),
        (["--host", "0.0.0.0"], "--web"),
        (["--web", "--port", "0"], "no port 0"),
        (["--web", "--port", "70000"], "no port 70000"),
    ],
)
def test_flags_that_do_not_fit_are_one_line(
    flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tui", *flags]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_without_the_extra_it_says_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    assert main(["tui", "--web"]) == 2
    assert "stackcheck[web]" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_is_loopback(host: str) -> None:
    assert web.is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.com", ""])
def test_everything_else_is_not(host: str) -> None:
    assert not web.is_loopback(host)


class Recorder:
    """Stands in for textual-serve's server: remembers, and serves nobody."""

    made: tuple[str, str, int] = ("", "", 0)

    def __init__(self, command: str, *, host: str, port: int, title: str, templates_path: Path) -> None:
        assert (templates_path / "app_index.html").is_file()
        del title
        type(self).made = (command, host, port)

    def serve(self) -> None:
        return


@pytest.mark.parametrize(("host", "warned"), [(None, False), ("0.0.0.0", True)])
def test_it_binds_to_loopback_and_warns_of_anything_else(
    host: str | None,
    warned: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("textual_serve.server")
    monkeypatch.setattr("textual_serve.server.Server", Recorder)
    assert main(["tui", "--web", *(["--host", host] if host else [])]) == 0
    command, address, port = Recorder.made
    assert address == (host or "127.0.0.1")
    assert port == web.PORT
    assert command.endswith("-m stackcheck tui")
    assert ("warning" in capsys.readouterr().err) is warned


def test_the_page_loads_nothing_from_elsewhere() -> None:
    page = (Path(web.__file__).parent / "templates" / "app_index.html").read_text()
    assert "//" not in page


def test_the_app_lives_long_and_so_collects_its_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line turns collection off for commands, which are short."""
    seen: list[bool] = []
    monkeypatch.setattr(app.StackcheckApp, "run", lambda _self: seen.append(gc.isenabled()))
    gc.disable()
    try:
        app.run(catalog)
    finally:
        gc.enable()
    assert seen == [True]
