"""Comments of files are no output; `#` lines of logs are."""

from __future__ import annotations

import pytest

from stackcheck.ingest.comments import without_comments, without_tables

MESSAGE = "torch 2.15.0 requires cuda ==13.2.*, driver 620.70.06"


@pytest.mark.parametrize(
    "text",
    [
        f"# {MESSAGE}\nARG BASE\nFROM ${{BASE}}\n# {MESSAGE}\nRUN pip install \\\n      # {MESSAGE}\n      torch==2.9.1\n",
        f"# {MESSAGE}\n\ntorch==2.9.1\n-c other.txt\n  # {MESSAGE}\nnumpy\n",
        f"#!/bin/bash\n# {MESSAGE}\nsrun ./run\n",
        f"apiVersion: v1\nkind: Pod\n# {MESSAGE}\nspec:\n  containers: []\n",
        f"# {MESSAGE}\nScheduling:\n  Scheduler: slurm\n  SlurmQueues:\n    - Name: gpu\n",
        f"# {MESSAGE}\nexport NCCL_DEBUG=INFO\n",
    ],
)
def test_comments_of_files_are_taken_out_and_lines_keep_their_numbers(text: str) -> None:
    left = without_comments(text)
    assert MESSAGE not in left
    assert [line for line in text.split("\n") if line and "# t" not in line] == [
        line for line in left.split("\n") if line
    ]
    assert left.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        "# nThread 1 nGpus 8\n#  Rank  0 Group  0 Pid 1 on n device 0 NVIDIA H100\n# Out of bounds values : 0 OK\n 8 2 float\n",
        "# nvidia-smi -L\nGPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n",
        "# env\nNCCL_DEBUG=INFO\n",
        "It fails:\n# undefined symbol: foo\ntorch==2.9.1\n",
    ],
)
def test_lines_of_logs_and_prompts_stay(text: str) -> None:
    assert without_comments(text) == text


@pytest.mark.parametrize("text", ["torch==2.9.1\nnumpy\n", "export NCCL_DEBUG=INFO\n"])
def test_what_people_saw_stands_under_a_list(text: str) -> None:
    assert without_comments(f"{text}# {MESSAGE}\n") == f"{text}# {MESSAGE}\n"


def test_directives_of_a_scheduler_are_no_comments() -> None:
    text = "#!/bin/bash\n#SBATCH --gpus-per-node=8\n# remark\nsrun true\n"
    assert without_comments(text) == text.replace("# remark", "")


def test_what_follows_a_dockerfile_is_no_part_of_it() -> None:
    text = "FROM a:1\n# remark\nRUN true\n\nIt prints\n# nThread 1\n"
    assert without_comments(text) == text.replace("# remark", "")


def test_rows_of_a_markdown_table_are_no_log_lines_but_tables_of_programs_are() -> None:
    assert MESSAGE not in without_tables(f"| a | b |\n| --- | --- |\n| x | {MESSAGE} |\n")
    smi = "+---+---+\n| N/A  ERR! | b |\n|=====+=====|\n| 0  H100 | x |\n+---------+\n"
    assert without_tables(smi) == smi
