from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stackcheck.ingest import formats, ingest
from stackcheck.ingest.cleaning import clean, stripped
from stackcheck.ingest.interface import Context, Ingester, Line, normal
from stackcheck.ingest.registry import INGESTERS
from stackcheck.ingest.segments import command_of
from stackcheck.model.errors import InputError
from tests.ingest.reading import ALIASES, SAMPLES, read_sample, read_text, versions

ROOT = Path(__file__).parents[2]


class TestMixture:
    def test_an_issue_with_fences_quotes_colours_and_prose(self) -> None:
        found = read_sample("issue.md")
        assert versions(found, "torch") == {"2.8.0"}
        assert versions(found, "vllm") == {"0.11.0"}
        assert versions(found, "driver") == {"570.172.08"}
        assert (found.gpu_model, found.gpu_count, found.instance) == ("H100", 8, "p5.48xlarge")
        assert found.facts["cuda_error"] == (803,)
        assert "cuda" not in found.components  # "should need CUDA 12.9 or newer" is advice
        assert found.environment == {}

    def test_line_numbers_are_those_of_the_file(self) -> None:
        found = read_text(
            "> quoted\n\n```\n$ pip list | grep torch\ntorch     2.8.0\n```\n\x1b[31mGPU 0: NVIDIA B200\n"
        )
        (torch,) = found.components["torch"]
        assert torch.evidence.where == "paste.txt:5"
        assert torch.evidence.raw == "torch     2.8.0"
        assert found.evidence["gpu"].where == "paste.txt:7"

    def test_kept_text_has_the_lines_of_the_file(self) -> None:
        found = read_text("a\r\n\x1b[1mb\x1b[0m\r\nc")
        assert found.texts[0].content == "a\nb\nc"
        assert found.texts[0].name == "paste.txt"

    def test_formats_of_a_text_are_named_surest_first(self) -> None:
        assert read_sample("nvidia_smi_b200.txt").texts[0].format == "nvidia-smi"
        assert read_sample("issue.md").texts[0].format.split()[0] in ("loader-errors", "nccl-log", "pip-list")

    def test_several_files_are_one_node(self) -> None:
        found = read_sample("nccl_efa_healthy.log", "efa_installed_packages", "nvidia_smi_q.txt")
        assert versions(found, "libfabric") == {"2.1.0amzn5.0"}
        assert versions(found, "driver") == {"570.172.08"}
        assert found.subject == "nccl_efa_healthy.log"
        assert len(found.texts) == 3

    def test_hearsay_gives_way_to_a_package_list(self) -> None:
        found = read_text("torch==2.10.0+cu130\n# torch 2.9.0+cu128   2.31 ms/iter\n")
        assert versions(found, "torch") == {"2.10.0+cu130"}

    def test_hearsay_counts_where_nothing_else_is_known(self) -> None:
        found = read_text("We use torch 2.9.0+cu128, vllm 0.11.0 and driver 580.95.05.\n")
        assert {c: versions(found, c) for c in found.components} == {
            "torch": {"2.9.0+cu128"},
            "vllm": {"0.11.0"},
            "driver": {"580.95.05"},
        }
        assert {o.evidence.method for o in found.components["torch"]} == {"mention"}

    def test_two_instance_types_in_prose_are_none(self) -> None:
        assert read_text("works on p5.48xlarge, not on p4d.24xlarge\n").instance is None

    def test_a_release_candidate_is_not_its_release(self) -> None:
        assert versions(read_text("torch==2.9.0\nPyTorch version: 2.9.0rc1\n"), "torch") == {
            "2.9.0",
            "2.9.0rc1",
        }

    def test_a_post_release_is_not_its_release(self) -> None:
        assert versions(read_text("flash-attn==2.7.4\nflash_attn==2.7.4.post1\n"), "flash-attn") == {
            "2.7.4",
            "2.7.4.post1",
        }


class TestNotes:
    def test_what_was_not_understood_is_told_with_its_first_line(self) -> None:
        (note,) = read_text("torch==2.8.0\nsome words\nmore words\n").notes
        assert note.source == "paste.txt"
        assert note.text.startswith(
            "read as pip freeze; 2 of 3 lines hold nothing this program reads, the first is line 2: some words"
        )

    def test_nothing_recognised(self) -> None:
        found = read_sample("prose.txt")
        assert found.components == {}
        assert found.notes[0].text.startswith("nothing was recognised in 2 lines")

    def test_empty_text(self) -> None:
        assert read_text("").notes[0].text.startswith("empty")

    def test_all_understood_needs_no_note(self) -> None:
        assert read_text("torch==2.8.0\nvllm==0.11.0\n").notes == ()


class TestForcedFormat:
    def test_only_that_format_is_read(self) -> None:
        found = read_text("torch==2.8.0\nNCCL_DEBUG=INFO\n", forced_format="env")
        assert found.components == {}
        assert found.environment == {"NCCL_DEBUG": "INFO"}

    def test_unknown_format(self) -> None:
        with pytest.raises(InputError, match="there is no format 'nonsense'; formats: inventory-json"):
            read_text("x", forced_format="nonsense")


class TestOurOwnDocumentsBroken:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ('{"schema": "stackcheck.inventory/1", "components": 5}', "/components is not an object"),
            ('{"schema": "stackcheck.inventory/2", "components": {}}', "newer than"),
            ('{"schema": "stackcheck.inventory/1",\n "components": {},}', r"broken JSON \(line 2"),
            ('{"schema": "stackcheck.stack/1"}', "broken lock"),
        ],
    )
    def test_is_refused_with_the_file(self, text: str, message: str) -> None:
        with pytest.raises(InputError, match=message) as caught:
            read_text(text)
        assert "paste.txt" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("[rank0]: torch==2.8.0", "torch==2.8.0"),
        ("[rank 12] torch==2.8.0", "torch==2.8.0"),
        ("[1,0]<stdout>:torch==2.8.0", "torch==2.8.0"),
        ("2025-08-21T12:22:33.123456789Z torch==2.8.0", "torch==2.8.0"),
        ("2025-08-21T12:22:33.123456789Z stdout F torch==2.8.0", "torch==2.8.0"),
        ("2025-08-21 12:22:33,123 - torch==2.8.0", "torch==2.8.0"),
        ("[2026-01-12 10:02:11] torch==2.8.0", "torch==2.8.0"),
        ("[2026-01-12 10:02:11 TP0] torch==2.8.0", "torch==2.8.0"),
        ("INFO 08-21 12:22:33 [config.py:12] torch==2.8.0", "torch==2.8.0"),
        ("(VllmWorker rank=3 pid=812) torch==2.8.0", "torch==2.8.0"),
        ("(EngineCore_DP0 pid=406) ERROR [core.py:946] torch==2.8.0", "torch==2.8.0"),
        ("[  812.44] torch==2.8.0", "torch==2.8.0"),
        ("Nov 29 10:00:01 ip-10-0-0-1 kernel: torch==2.8.0", "torch==2.8.0"),
        ("I1129 12:00:00.000000       1 main.go:12] torch==2.8.0", "torch==2.8.0"),
        ("[pod/trainer-0/main] torch==2.8.0", "torch==2.8.0"),
        ("0: torch==2.8.0", "torch==2.8.0"),
        ("> > torch==2.8.0", "torch==2.8.0"),
        (">>> import torch", ">>> import torch"),
        ("[pip3] torch==2.8.0", "[pip3] torch==2.8.0"),
        ("|   0  NVIDIA B200", "|   0  NVIDIA B200"),
        ("torch 2.8.0 | B200", "torch 2.8.0 | B200"),
        ("12.8.93", "12.8.93"),
    ],
)
def test_prefixes_come_off(text: str, bare: str) -> None:
    assert stripped([Line(1, text)])[0].text == bare


def test_names_of_containers_come_off_where_they_repeat() -> None:
    lines = [Line(1, "vllm-1  | torch==2.8.0"), Line(2, "vllm-1  | vllm==0.11.0"), Line(3, "name | value")]
    assert [line.text for line in stripped(lines)] == ["torch==2.8.0", "vllm==0.11.0", "name | value"]


def test_cleaning_keeps_the_number_of_lines() -> None:
    text = "a\r\nb\x1b[31m\nc\u2028d\n\x0b\ne"
    assert clean(text).count("\n") == 4


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("$ nvidia-smi -L", "nvidia-smi -L"),
        ("root@node:~# nvidia-smi -L", "nvidia-smi -L"),
        ("[user@host dir]$ uname -r", "uname -r"),
        ("(venv) user@host:~/x$ pip list", "pip list"),
        ("bash-5.1# ls /dev", "ls /dev"),
        ("# ls /opt/amazon", "ls /opt/amazon"),
        ("# platform", ""),
        ("# nvidia-smi -L: 4 x H100", ""),
        ("costs $ 5", ""),
        ("$HOME/bin", ""),
    ],
)
def test_commands(line: str, command: str) -> None:
    assert command_of(line) == command


@pytest.mark.parametrize(
    ("name", "component"),
    [
        ("nvidia-nccl-cu13", "nccl"),
        ("libcudnn9-cuda-12", "cudnn"),
        ("nvidia-driver-580-server-open", "driver"),
        ("nvidia-fabricmanager-580", "fabric-manager"),
        ("cuda-compat-12-9", "cuda-compat"),
        ("libnccl-dev", "nccl"),
        ("Flash_Attn", "flash-attn"),
        ("nvidia-cudnn-frontend", None),
        ("cuda-python", None),
        ("torch-geometric", None),
    ],
)
def test_package_names(name: str, component: str | None) -> None:
    assert Context(ALIASES).package(name) == component


def test_names_are_normalised() -> None:
    assert normal("Flash_Attn.X  Y") == "flash-attn-x-y"


class TestRegistry:
    def test_every_module_is_registered_or_shared(self) -> None:
        folder = Path(formats.__file__).parent
        registered = {f.module for f in INGESTERS}
        for path in folder.glob("*.py"):
            names = {n.name for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef)}
            assert (path.stem in registered) == ({"sniff", "read"} <= names), path.stem

    def test_every_record_is_an_ingester(self) -> None:
        ingesters: tuple[Ingester, ...] = INGESTERS
        assert all(i.format and i.title for i in ingesters)

    def test_every_format_is_documented_in_order(self) -> None:
        table = (ROOT / "docs" / "facts.md").read_text().partition("## Formats")[2]
        assert re.findall(r"^\| `([^`]+)` \| (.+) \|$", table, re.MULTILINE) == [
            (f.format, f.title) for f in INGESTERS
        ]

    def test_ids_are_unique(self) -> None:
        ids = [f.format for f in INGESTERS]
        assert len(ids) == len(set(ids))

    def test_every_format_is_found_in_a_sample(self) -> None:
        seen: set[str] = set()
        for path in SAMPLES.iterdir():
            try:
                seen.update(read_sample(path.name).texts[0].format.split())
            except InputError:
                continue
        assert seen == {f.format for f in INGESTERS}

    def test_importing_the_package_loads_no_format(self) -> None:
        code = "import sys, stackcheck.ingest; print(sorted(m for m in sys.modules if m.startswith('stackcheck.ingest')))"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
        )
        assert done.stdout.strip() == "['stackcheck.ingest']"

    def test_a_package_list_loads_few_formats(self) -> None:
        code = (
            "import sys; from stackcheck.ingest import ingest; ingest([('x', 'torch==2.8.0\\n')], aliases={'torch': 'torch'});"
            "print(*(m for m in sys.modules if m in ('tomllib', 'xml.parsers.expat', 'stackcheck.ingest.formats.dockerfile')))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
        )
        assert done.stdout.strip() == ""


def _documented() -> set[str]:
    text = (ROOT / "docs" / "facts.md").read_text().partition("## Formats")[0]
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_every_fact_of_the_samples_is_documented() -> None:
    documented = _documented()
    prefixes = ("module:", "service:", "device:", "file:", "param:", "limit:rdma/")
    for path in SAMPLES.iterdir():
        try:
            found = read_sample(path.name)
        except InputError:
            continue
        for name in found.facts:
            assert name in documented or name.startswith(prefixes), f"{name} ({path.name})"


_SETTERS = {"fact", "first_fact", "add", "text", "number", "largest", "member", "member_number", "flag", "truth", "member_of",
            "_flag", "_number", "_text", "_count", "_verbatim", "_limit"}  # fmt: skip


def test_every_fact_named_in_the_code_is_documented() -> None:
    documented = _documented()
    for path in Path(formats.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            first = node.args[0]
            if name in _SETTERS and isinstance(first, ast.Constant) and isinstance(first.value, str):
                known = (
                    first.value in documented
                    or f"limit:{first.value}" in documented
                    or first.value.startswith("module:")
                )
                assert known, f"{first.value} ({path.name})"


def test_aliases_are_the_callers_business() -> None:
    found = ingest([("x", "torch==2.8.0\nmy-torch==9.9\n")], aliases={"my-torch": "torch"})
    assert versions(found, "torch") == {"9.9"}
