"""The app in a real terminal: started, walked through by keys, left again with the terminal as it was."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TMUX = shutil.which("tmux")
ROOT = Path(__file__).parents[2]
DEADLINE = 120.0  # seconds

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(TMUX is None, reason="tmux is not installed"),
]


class Terminal:
    """A tmux session with a shell of its own server."""

    def __init__(self, width: int = 100, height: int = 30) -> None:
        self.socket = f"stackcheck-{uuid.uuid4().hex[:12]}"
        environment = {**os.environ, "PS1": "$ ", "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
        # readline, which pytest imports, puts a size of its own into the environment of its children
        for name in ("TMUX", "COLUMNS", "LINES"):
            environment.pop(name, None)
        self.environment = environment
        self._tmux("new-session", "-d", "-x", str(width), "-y", str(height), "-c", str(ROOT), "sh")

    def _tmux(self, *words: str) -> str:
        assert TMUX is not None
        command = [TMUX, "-L", self.socket, "-f", "/dev/null", *words]
        done = subprocess.run(
            command, capture_output=True, text=True, env=self.environment, timeout=30, check=True
        )
        return done.stdout

    def type_line(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)
        self._tmux("send-keys", "Enter")

    def send(self, text: str) -> None:
        """Send a text with its control characters at once."""
        self._tmux("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def flag(self, name: str) -> str:
        return self._tmux("display-message", "-p", f"#{{{name}}}").strip()

    def wait_for(self, text: str) -> str:
        """Return the screen once it holds a text."""
        self.wait_until(lambda: text in self.screen(), repr(text))
        return self.screen()

    def wait_until(self, holds: Callable[[], bool], what: str = "a condition") -> None:
        """Look again and again; the deadline is for a machine with much else to do."""
        end = time.monotonic() + DEADLINE
        while not holds():
            assert time.monotonic() < end, f"{what} did not come up:\n{self.screen()}"
            time.sleep(0.1)

    def resize(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def close(self) -> None:
        with contextlib.suppress(subprocess.SubprocessError):
            self._tmux("kill-server")


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.close()


def command(*more: str) -> str:
    return shlex.join([sys.executable, "-m", "stackcheck", "tui", *more])


def test_start_walk_and_leave(terminal: Terminal) -> None:
    terminal.type_line(command())
    first = terminal.wait_for("supported")
    assert "1 Matrix" in first
    assert terminal.flag("alternate_on") == "1"
    terminal.press("2")
    terminal.wait_for("NVIDIA B200")
    terminal.press("6")
    terminal.wait_for("Advisories and rules")
    terminal.press("/")
    terminal.wait_until(lambda: "Quit" not in terminal.screen(), "a field, in which q is a letter")
    terminal.press("q", "2", "n")
    terminal.wait_for("q2n")
    terminal.press("Escape")
    terminal.wait_for("q Quit")
    terminal.press("q")
    terminal.wait_until(lambda: terminal.flag("alternate_on") == "0")
    terminal.type_line("echo back=$?")
    left = terminal.wait_for("back=0")
    assert "Advisories" not in left
    assert terminal.flag("alternate_on") == "0"
    assert terminal.flag("cursor_flag") == "1"
    assert terminal.flag("mouse_any_flag") == "0"


def test_what_is_typed_in_one_go_lands_where_tab_leads(terminal: Terminal) -> None:
    terminal.type_line(command())
    terminal.wait_for("supported")
    terminal.press("3")
    terminal.wait_for("newest first")
    terminal.send("/ngc\t\t550\ttorch")
    seen = terminal.wait_for("ngc driver 550 torch")
    assert "ngc550" not in seen
    terminal.press("Escape")
    terminal.wait_for("q Quit")
    terminal.press("q")


def test_a_resize_is_survived(terminal: Terminal) -> None:
    terminal.type_line(command())
    terminal.wait_for("supported")
    terminal.resize(60, 15)
    terminal.wait_until(lambda: _fills(terminal, 60, 15), "a frame of 60 columns")
    terminal.resize(160, 45)
    terminal.wait_until(lambda: _fills(terminal, 160, 45), "a frame of 160 columns")
    assert "matrices 20" in terminal.wait_for("supported")
    terminal.press("q")
    terminal.wait_until(lambda: terminal.flag("alternate_on") == "0")


def _fills(terminal: Terminal, width: int, height: int) -> bool:
    """Whether what the app drew is as large as the terminal: frames reach its right border, the keys its last line."""
    lines = terminal.screen().splitlines()
    framed = any(len(line) == width and line[-1] in "╮╯│" for line in lines)
    return framed and len(lines) == height and bool(lines[-1].strip())


def test_our_own_fault_is_one_line_and_exit_3_on_a_restored_terminal(
    terminal: Terminal, tmp_path: Path
) -> None:
    script = tmp_path / "faulty.py"
    script.write_text(
        "import sys\n"
        "from stackcheck.cli import main\n"
        "from stackcheck_tui.screens.matrix import MatrixPage\n"
        "MatrixPage.action_swap = lambda self: 1 / 0\n"
        "sys.exit(main(['tui']))\n"
    )
    terminal.type_line(shlex.join([sys.executable, str(script)]))
    terminal.wait_for("supported")
    terminal.press("x")
    left = terminal.wait_for("internal fault")
    assert "ZeroDivisionError" in left
    assert "Traceback" not in left
    terminal.type_line("echo code=$?")
    terminal.wait_for("code=3")
    assert terminal.flag("alternate_on") == "0"


def test_files_on_the_command_line_open_the_node_screen(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "freeze.txt").write_text("torch==2.9.1\nvllm==0.5.0\n")
    terminal.type_line(command(str(tmp_path / "freeze.txt")))
    terminal.wait_for("Findings")
    terminal.press("q")


def test_a_missing_overlay_is_one_line(terminal: Terminal) -> None:
    terminal.type_line(f"{command('--matrices', '/no/such/place')}; echo code=$?")
    seen = terminal.wait_for("code=2")
    assert "/no/such/place" in seen
