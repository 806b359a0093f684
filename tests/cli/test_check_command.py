"""The command around a check: which exit code, which output; what is found is the business of tests/check."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from stackcheck.cli.verdict import FORMATS
from stackcheck.report.registry import FORMATS as KNOWN
from tests.cli.conftest import Call, Schema

BAD = "torch==2.4.1+cu121\n"


@pytest.fixture
def freeze(tmp_path: Path) -> str:
    path = tmp_path / "freeze.txt"
    path.write_text(BAD)
    return str(path)


def test_the_formats_are_those_of_the_registry() -> None:
    assert sorted(FORMATS) == sorted(f.name for f in KNOWN)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_written_to_stdout_or_a_file_alike(
    call: Call, freeze: str, tmp_path: Path, name: str
) -> None:
    shown = call("check", freeze, "--gpu", "b200", "--format", name)
    target = tmp_path / "report"
    written = call("check", freeze, "--gpu", "b200", "--format", name, "-o", str(target))
    assert shown.code == written.code == 1
    assert written.out == ""
    content = target.read_text(encoding="utf-8")
    if name in ("text", "json", "oneline", "markdown", "sarif"):  # the others hold a time
        assert shown.out == content


def test_the_gate_of_severities(call: Call, freeze: str) -> None:
    codes = {
        gate: call("check", freeze, "--gpu", "b200", "--fail-on", gate).code
        for gate in ("error", "warning", "info", "never")
    }
    assert codes == {"error": 1, "warning": 1, "info": 1, "never": 0}
    clean = call("check", freeze, "--gpu", "a100", "--fail-on", "error", "--format", "json")
    assert clean.json["summary"]["error"] == 0
    assert clean.code == 0


def test_json_keeps_to_its_schema(call: Call, freeze: str, schema: Schema) -> None:
    for gpu in ("b200", "h100"):
        outcome = call("check", freeze, "--gpu", gpu, "--format", "json")
        jsonschema.validate(outcome.json, schema("report"))
        jsonschema.validate(outcome.json["inventory"], schema("inventory"))


def test_several_files_are_one_node(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("torch==2.9.0\n")
    (tmp_path / "b.txt").write_text("flash-attn==2.8.3\n")
    both = call("check", str(tmp_path / "a.txt"), str(tmp_path / "b.txt"), "--format", "json").json
    assert {"torch", "flash-attn"} <= set(both["inventory"]["components"])


def test_a_lock_can_be_checked(call: Call, lock: Path) -> None:
    outcome = call("check", str(lock), "--format", "json")
    assert outcome.code == 0, "what resolve picks, check calls healthy"
    assert outcome.json["inventory"]["gpu"]["model"] == "b200"


@pytest.mark.parametrize("images", ["any", "none"])
@pytest.mark.parametrize(
    "target", ["--gpu=h100", "--gpu=b300", "--instance=p5en.48xlarge", "--instance=p6e-gb200.36xlarge"]
)
def test_what_resolve_picks_check_calls_healthy(call: Call, tmp_path: Path, target: str, images: str) -> None:
    lock = tmp_path / "lock.json"
    assert call("resolve", target, "--images", images, "-o", str(lock)).code == 0
    outcome = call("check", str(lock), "--format", "json")
    assert [f for f in outcome.json["findings"] if f["severity"] == "error"] == []


def test_the_gpu_of_the_command_line_by_any_name(call: Call, freeze: str) -> None:
    by_id = call("check", freeze, "--gpu", "b200", "--format", "json").json
    assert call("check", freeze, "--gpu", "NVIDIA B200", "--format", "json").json == by_id


def test_standard_input_once(spawn: Call) -> None:
    assert spawn("check", "-", "--gpu", "b200", stdin=BAD).code == 1
    outcome = spawn("check", "-", "-", stdin=BAD)
    assert outcome.code == 2
    assert "once" in outcome.message


def test_text_that_says_nothing_is_not_ok(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "greeting.txt"
    path.write_text("hello world\n")
    for arguments in ((), ("--gpu", "b200"), ("--instance", "p5.48xlarge")):
        result = call("check", str(path), *arguments, "--format", "oneline")
        assert result.code == 0
        assert result.out.startswith("stackcheck: UNKNOWN")


def test_probes_that_were_cut_off_are_told(call: Call) -> None:
    result = call("probe", "--timeout", "0.001", "--format", "oneline")
    assert "did not finish" in result.out
    assert "OK" not in result.out
