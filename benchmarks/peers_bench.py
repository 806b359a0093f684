"""Our check of a pasted text beside the checks of env-doctor and cuda-doctor, whole processes in one run.

    python benchmarks/peers_bench.py --env-doctor PATH --cuda-doctor PATH [--runs N]

Both peers (pkg:pypi/env-doctor, pkg:pypi/cuda-doctor) diagnose the machine they run on and read no pasted texts, so each is asked for its own check
of this machine: the times compare what a person waits for, not the same work. Install them into an environment of their own. Medians of
processor time (user + system) and of wall time, as ratios to `python -c pass`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

from startup_bench import COLLECT_ENV, ROOT


def measured(command: list[str], runs: int) -> tuple[float, float]:
    """Return median processor and wall seconds of a command."""
    cpus, walls = [], []
    for _ in range(runs):
        started = time.perf_counter()
        child = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0
        walls.append(time.perf_counter() - started)
        cpus.append(usage.ru_utime + usage.ru_stime)
    return statistics.median(cpus), statistics.median(walls)


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--env-doctor", required=True)
    parser.add_argument("--cuda-doctor", required=True)
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as text:
        text.write(COLLECT_ENV)
        text.flush()
        rows = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "stackcheck check collect_env.txt": [sys.executable, "-m", "stackcheck", "check", text.name],
            "env-doctor check": [options.env_doctor, "check"],
            "cuda-doctor diagnose": [options.cuda_doctor, "diagnose"],
        }
        print("| command | processor, ratio | wall, ratio |\n| --- | --- | --- |")
        base: tuple[float, float] | None = None
        for name, command in rows.items():
            cpu, wall = measured(command, options.runs)
            base = base or (cpu, wall)
            print(
                f"| `{name}` | {cpu * 1000:.0f} ms, {cpu / base[0]:.1f} | {wall * 1000:.0f} ms, {wall / base[1]:.1f} |"
            )


if __name__ == "__main__":
    main()
