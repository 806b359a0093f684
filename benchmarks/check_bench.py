"""How fast `check` is on a long log, as ratios to reading the file and to `grep -c`; prints a Markdown table.

    python benchmarks/check_bench.py [--megabytes N] [--rounds N]

The logs are made here: NCCL's lines of many ranks, and lines that all differ. Each program starts anew, takes its turn in every
round, and one round before does not count, so that all files are in memory. The table shows the median wall time and its ratio to
`python -c "open(FILE).read()"`.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
READ = "import sys; open(sys.argv[1], encoding='utf-8').read()"


def nccl_lines(dice: random.Random) -> Iterator[str]:
    """Yield what NCCL prints on many ranks: few shapes, many numbers."""
    for number in range(10**9):
        rank, peer = dice.randrange(512), dice.randrange(512)
        yield f"node{rank // 8}:{number % 40000}:{number % 39999} [{rank % 8}] NCCL INFO Channel {number % 24:02d}/0 : {rank}[{rank % 8}] -> {peer}[{peer % 8}] [send] via NET/AWS Libfabric/{rank % 16}/GDRDMA"


def words(dice: random.Random) -> Iterator[str]:
    """Yield lines of which no two are alike, so that nothing can be left out."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    while True:
        yield " ".join("".join(dice.choices(letters, k=dice.randrange(3, 11))) for _ in range(12))


def written(path: Path, lines: Iterator[str], size: int) -> Path:
    """Write lines until the file has the size, and one failure in the middle."""
    with path.open("w", encoding="utf-8") as out:
        done = 0
        told = False
        for line in lines:
            if not told and done > size // 2:
                out.write(
                    "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
                )
                told = True
            done += out.write(line + "\n")
            if done >= size:
                break
    return path


def timed(command: Sequence[str]) -> float:
    """Run a program to its end, output thrown away, and return the wall time."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    took = time.perf_counter() - start
    if done.returncode not in (0, 1) or b"Traceback" in done.stderr:
        sys.exit(f"{command}: exit status {done.returncode}\n{done.stderr.decode(errors='replace')[-500:]}")
    return took


def main() -> None:
    """Make the logs, let the programs take turns, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    size = int(options.megabytes * 2**20)
    with tempfile.TemporaryDirectory() as folder:
        print(
            f"| log of {options.megabytes:g} MiB | program | seconds | ratio to reading |\n| --- | --- | --- | --- |"
        )
        for name, lines in (("NCCL", nccl_lines), ("all lines differ", words)):
            path = written(Path(folder, "job.log"), lines(random.Random(1)), size)
            programs = {
                "read": [sys.executable, "-c", READ, str(path)],
                "check": [sys.executable, "-m", "stackcheck", "check", str(path)],
            }
            if grep := shutil.which("grep"):
                programs["grep -c"] = [grep, "-c", "no kernel image", str(path)]
            seen: dict[str, list[float]] = {p: [] for p in programs}
            for number in range(options.rounds + 1):
                for program, command in programs.items():
                    took = timed(command)
                    if number:
                        seen[program].append(took)
            middle = {p: statistics.median(times) for p, times in seen.items()}
            for program, took in middle.items():
                print(f"| {name} | {program} | {took:.3f} | {took / middle['read']:.1f} |")


if __name__ == "__main__":
    main()
