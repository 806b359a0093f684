"""Whole-process cost of our commands against a bare interpreter, as ratios in one run.

    python benchmarks/startup_bench.py [--runs N]

Printed are the medians of wall time and of processor time (user + system), each as a ratio to `python -c pass` in the same run, and the
peak memory. Processor time is the figure to trust on a busy machine. Bytecode is compiled first, as an installed package has it.
"""

from __future__ import annotations

import argparse
import compileall
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COLLECT_ENV = """\
PyTorch version: 2.8.0+cu128
Is debug build: False
CUDA used to build PyTorch: 12.8
OS: Ubuntu 22.04.5 LTS (x86_64)
Python version: 3.12.3 (main, Feb  4 2026, 10:00:00) [GCC 11.4.0] (64-bit runtime)
Is CUDA available: True
GPU models and configuration: GPU 0: NVIDIA H100 80GB HBM3
Nvidia driver version: 570.133.20
cuDNN version: Probably one of the following:
/usr/lib/x86_64-linux-gnu/libcudnn.so.9.10.2
Versions of relevant libraries:
[pip3] nvidia-cudnn-cu12==9.10.2.21
[pip3] nvidia-nccl-cu12==2.27.3
[pip3] torch==2.8.0
[pip3] triton==3.4.0
"""


def measured(command: list[str], runs: int) -> tuple[float, float, float]:
    """Return median wall seconds, median processor seconds and peak memory in MiB of a command."""
    walls, cpus, peak = [], [], 0.0
    for _ in range(runs):
        started = time.perf_counter()
        child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0
        walls.append(time.perf_counter() - started)
        cpus.append(usage.ru_utime + usage.ru_stime)
        peak = max(peak, usage.ru_maxrss / 1024)
    return statistics.median(walls), statistics.median(cpus), peak


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=21)
    runs = parser.parse_args().runs
    for folder in ("stackcheck", "probes", "tui"):
        compileall.compile_dir(str(ROOT / folder), quiet=2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as text:
        text.write(COLLECT_ENV)
        text.flush()
        ours = [sys.executable, "-m", "stackcheck"]
        rows = {
            "python -c pass": [sys.executable, "-c", "pass"],
            'python -c "import packaging.requirements, json"': [sys.executable, "-c", "import packaging.requirements, json"],
            "stackcheck --help": [*ours, "--help"],
            "stackcheck resolve --gpu b200": [*ours, "resolve", "--gpu", "b200"],
            "stackcheck resolve --gpu b200 --framework vllm --images none": [
                *ours, "resolve", "--gpu", "b200", "--framework", "vllm", "--images", "none",
            ],
            "stackcheck check collect_env.txt": [*ours, "check", text.name],
        }  # fmt: skip
        print("| command | wall, ratio | processor, ratio | peak MiB |\n| --- | --- | --- | --- |")
        base: tuple[float, float] | None = None
        for name, command in rows.items():
            wall, cpu, peak = measured(command, runs)
            base = base or (wall, cpu)
            print(
                f"| `{name}` | {wall * 1000:.0f} ms, {wall / base[0]:.1f} | {cpu * 1000:.0f} ms, {cpu / base[1]:.1f} | {peak:.0f} |"
            )


if __name__ == "__main__":
    main()
