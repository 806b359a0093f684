"""How fast the TUI comes up and moves, as ratios to an empty Textual app and as time per key.

Run: python benchmarks/tui_bench.py [--runs N]

First paint: each app runs under a pseudo-terminal of its own; the clock stops when the text that marks its first screen is
written. The two take turns, so that whatever else the machine does falls on both. Keys: arrows in a picture of at least 5,000
cells, from the key to the moment the screen is drawn, in a headless run. Memory: the largest resident size of that run.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import pty
import resource
import select
import statistics
import subprocess
import sys
import time
from pathlib import Path

EMPTY = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("first-paint-mark")
Empty().run()
"""
OURS = "import sys; from stackcheck.cli import main; sys.exit(main(['tui']))"
MARKS = {"empty": (EMPTY, b"first-paint-mark"), "stackcheck": (OURS, b"Matrix")}
DATA = b"newest first"
LARGE = ("image", "gpu")  # rows and columns of a picture that is large enough


def first_paint(code: str, mark: bytes, later: bytes = b"") -> tuple[float, float, float]:
    """Return seconds from start to the text `mark` on the screen, to `later` (0 if not asked), and of processor time to `mark`."""
    control, terminal = pty.openpty()
    os.set_blocking(control, False)
    import fcntl
    import struct
    import termios

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 48, 160, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environment,
        close_fds=True,
    )
    os.close(terminal)
    seen, painted, filled, worked = b"", 0.0, 0.0, 0.0
    try:
        while time.perf_counter() - start < 60:
            ready, _, _ = select.select([control], [], [], 1)
            if ready:
                try:
                    seen += os.read(control, 1 << 16)
                except OSError:
                    break
            now = time.perf_counter() - start
            if not painted and mark in seen:
                painted, worked = now, processor_seconds(process.pid)
            if painted and later and not filled and later in seen:
                filled = now
            if painted and (filled or not later):
                break
    finally:
        process.kill()
        process.wait()
        os.close(control)
    return painted, filled, worked


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used: other work on the machine does not count into it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def keys(count: int) -> tuple[int, list[float]]:
    """Return the number of cells and the milliseconds of each key."""
    from stackcheck.catalog import open_catalog
    from stackcheck_tui.app import StackcheckApp
    from stackcheck_tui.widgets.grid import GradeGrid

    app = StackcheckApp(open_catalog)
    times: list[float] = []
    async with app.run_test(size=(160, 48)) as pilot:
        page = app.page
        assert page is not None
        page.visit(LARGE)
        grid = app.screen.query_one(GradeGrid)
        while len(grid.row_labels) * len(grid.column_labels) < 5000:
            await pilot.pause(0.05)
        await pilot.pause(0.5)
        moves = ["down"] * 30 + ["right"] * 5 + ["pagedown"] * 5 + ["up"] * 10
        for number in range(count):
            key = moves[number % len(moves)]
            before = (grid.row, grid.column)
            start = time.perf_counter()
            app.simulate_key(key)
            while (grid.row, grid.column) == before and time.perf_counter() - start < 0.5:
                await asyncio.sleep(0)
            drawn = asyncio.Event()
            app.screen.call_after_refresh(drawn.set)
            await drawn.wait()
            times.append((time.perf_counter() - start) * 1000)
        cells = len(grid.row_labels) * len(grid.column_labels)
    return cells, times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--keys", type=int, default=150)
    options = parser.parse_args()
    times: dict[str, list[float]] = {name: [] for name in MARKS}
    effort: dict[str, list[float]] = {name: [] for name in MARKS}
    filled: list[float] = []
    for _ in range(options.runs):
        for name, (code, mark) in MARKS.items():
            painted, data, worked = first_paint(code, mark, DATA if name == "stackcheck" else b"")
            times[name].append(painted)
            effort[name].append(worked)
            if data:
                filled.append(data)
    empty, ours = (statistics.median(times[n]) for n in MARKS)
    print(
        f"first paint, median of {options.runs}: empty Textual app {empty * 1000:.0f} ms, stackcheck {ours * 1000:.0f} ms"
    )
    used = [statistics.mean(effort[n]) for n in MARKS]
    print(
        f"  processor time to it, mean: {used[0] * 1000:.0f} ms and {used[1] * 1000:.0f} ms, ratio {used[1] / used[0]:.2f}"
    )
    quiet = [min(times[n]) for n in MARKS]
    print(
        f"  the quietest run of each: {quiet[0] * 1000:.0f} ms and {quiet[1] * 1000:.0f} ms, ratio {quiet[1] / quiet[0]:.2f}"
    )
    print(
        f"  ratio {ours / empty:.2f} (asked for: at most 1.5), after Textual itself {(ours - empty) * 1000:.0f} ms (at most 1000)"
    )
    print(f"  first picture with grades {statistics.median(filled) * 1000:.0f} ms")
    cells, spent = asyncio.run(keys(options.keys))
    spent.sort()
    print(
        f"keys in {cells} cells, {len(spent)} of them: median {statistics.median(spent):.1f} ms (at most 50), "
        f"95 % below {spent[int(len(spent) * 0.95)]:.1f} ms"
    )
    print(
        f"memory, largest resident size: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB"
    )


if __name__ == "__main__":
    main()
