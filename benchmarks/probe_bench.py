"""How fast the probe is, as ratios to `python -m torch.utils.collect_env` and to NVIDIA's `cuobjdump`; prints a Markdown table.

    python benchmarks/probe_bench.py --venv DIR                     DIR: a virtual environment with torch
    python benchmarks/probe_bench.py --venv DIR --cuobjdump PROG    also the scan of its largest library (pkg:pypi/nvidia-cuda-cuobjdump)

The programs take turns, so that whatever else the machine does falls on all of them alike. Wall time and processor time (with
children) are both shown, the median over the rounds and the ratio of the medians; one round before does not count, so that all
files are in memory. All see the same environment: the variables of an activated virtual environment. The scan is timed inside
the process that does it, without the start of the interpreter, and once more as a whole program.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "probes"))

from stackcheck_probes import fatbin, files  # noqa: E402 - the checkout is put on the path first
from stackcheck_probes.elf import Elf  # noqa: E402

Times = tuple[float, float]
"""Seconds of wall time and of processor time."""
SCAN = "import sys; from stackcheck_probes import fatbin, files; fatbin.scan(files.map_file(sys.argv[1]))"


def timed(command: Sequence[str], environ: Mapping[str, str]) -> Times:
    """Run a program to its end, output thrown away, and return what it took."""
    start = time.perf_counter()
    child = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _pid, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        sys.exit(f"{command[0]}: exit status {child.returncode}")
    return wall, usage.ru_utime + usage.ru_stime


def scanned(path: str) -> Times:
    """Scan a library for GPU code in this process."""
    start, used = time.perf_counter(), time.process_time()
    elf = Elf(files.map_file(path))
    with files.short_reads(path) as read:
        fatbin.code_of(elf, read)
    return time.perf_counter() - start, time.process_time() - used


def in_turns(runs: Mapping[str, Callable[[], Times]], rounds: int) -> dict[str, Times]:
    """Return the median wall and processor time of each, over rounds in which each has its turn."""
    seen: dict[str, list[Times]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name, run in runs.items():
            took = run()
            if number:
                seen[name].append(took)
    return {
        name: (statistics.median(t[0] for t in times), statistics.median(t[1] for t in times))
        for name, times in seen.items()
    }


def table(title: str, results: Mapping[str, Times], yardstick: str) -> None:
    """Print the results, each with how many times faster than the yardstick it was."""
    wall, cpu = results[yardstick]
    print(
        f"\n{title}\n\n| program | wall | processor | faster, wall | faster, processor |\n| --- | --- | --- | --- | --- |"
    )
    for name, (a, b) in results.items():
        print(
            f"| {name} | {a * 1000:.1f} ms | {b * 1000:.1f} ms | {wall / a:.1f} x | {cpu / max(b, 1e-6):.1f} x |"
        )


def largest(venv: Path) -> str:
    """Return the largest shared object of an environment."""
    return str(max((p for p in venv.rglob("*.so*") if not p.is_symlink()), key=lambda p: p.stat().st_size))


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description="compare the probe with collect_env and cuobjdump")
    parser.add_argument("--venv", type=Path, required=True, help="a virtual environment with torch")
    parser.add_argument("--cuobjdump", help="NVIDIA's cuobjdump")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    venv = options.venv.resolve()
    plain = {"PATH": f"{venv}/bin:/usr/bin:/bin", "VIRTUAL_ENV": str(venv), "HOME": str(Path.home())}
    ours = {**plain, "PYTHONPATH": f"{ROOT / 'probes'}:{ROOT}"}
    me, theirs = sys.executable, str(venv / "bin/python")
    probes = in_turns(
        {
            "torch.utils.collect_env": lambda: timed(
                [theirs, "-W", "ignore", "-m", "torch.utils.collect_env"], plain
            ),
            "stackcheck-probe": lambda: timed([me, "-m", "stackcheck_probes"], ours),
            "stackcheck probe": lambda: timed([me, "-m", "stackcheck", "probe", "--fail-on", "never"], ours),
        },
        options.rounds,
    )
    table("The whole probe (`stackcheck probe`: with the verdict)", probes, "torch.utils.collect_env")
    if options.cuobjdump:
        path = largest(venv)
        scans = in_turns(
            {
                "cuobjdump --list-elf": lambda: timed([options.cuobjdump, "--list-elf", path], plain),
                "scan": lambda: scanned(path),
                "scan, as a program": lambda: timed(
                    [me, "-I", "-c", f"import sys; sys.path[:0] = [{str(ROOT / 'probes')!r}]; {SCAN}", path],
                    plain,
                ),
            },
            options.rounds,
        )
        size = Path(path).stat().st_size / 1e6
        table(f"GPU code in {Path(path).name} ({size:.0f} MB)", scans, "cuobjdump --list-elf")


if __name__ == "__main__":
    main()
