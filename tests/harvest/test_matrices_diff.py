"""`matrices diff` says which verdicts change, not only which lines."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from stackcheck.catalog.files import FileStore, matrices_root
from stackcheck.cli import main
from stackcheck.harvest.fact_diff import Change, changes
from tests.harvest import data


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """The shipped set, with torch 2.4 said to run on B200 and every other GPU and image left out to be quick."""
    root = tmp_path / "b"
    shutil.copytree(matrices_root(), root)
    return root


def quick(root: Path) -> Path:
    for path in root.glob("gpus/*.json"):
        if path.stem != "b200":
            path.unlink()
    for path in root.glob("instances/*.json"):
        path.unlink()
    for path in root.glob("images/*/*.json"):
        if path.name != "pytorch-training.json":
            path.unlink()
    return root


def case(path: Path, *argv: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"why": "a test", "argv": list(argv), "exit": 0, "expect": {}}))


def test_facts_are_compared_by_release(tmp_path: Path) -> None:
    a = data.folder(tmp_path / "a", data.files("2999.1.1", data.component("torch", "2.13.0", "2.14.0")))
    b = data.folder(
        tmp_path / "b",
        data.files(
            "2999.1.1", data.component("torch", "2.14.0", "2.15.0", name="Torch"), data.component("vllm", "1")
        ),
    )
    assert changes(FileStore((str(a),)), FileStore((str(b),))) == (
        Change("components/torch.json", "(the rest)", "changed"),
        Change("components/torch.json", "2.13.0", "removed"),
        Change("components/torch.json", "2.15.0", "added"),
        Change("components/vllm.json", "", "added"),
    )


def test_the_same_data_gives_the_same_verdicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["matrices", "diff", "shipped", str(shutil.copytree(matrices_root(), tmp_path / "copy"))]) == 0
    )
    assert "the same facts" in capsys.readouterr().out


def test_a_changed_fact_is_told_by_the_verdicts_it_changes(
    tmp_path: Path, changed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = quick(Path(shutil.copytree(matrices_root(), tmp_path / "a")))
    quick(changed)
    gpu = changed / "gpus" / "b200.json"
    body = json.loads(gpu.read_text())
    body["attributes"]["min_driver"] = "9999.1"
    gpu.write_text(json.dumps(body))
    case(tmp_path / "cases" / "b200.json", "resolve", "--gpu", "b200")
    case(tmp_path / "cases" / "unknown.json", "resolve", "--gpu", "b20")
    diff = ["matrices", "diff", str(a), str(changed), "--cases", str(tmp_path / "cases")]
    assert main([*diff, "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    by_subject = {v["subject"]: v for v in found["verdicts"]}
    assert by_subject["case b200"]["before"] == "solved"
    assert by_subject["case b200"]["after"] == "conflict"
    assert by_subject["case b200"]["golden"] is True
    assert by_subject["resolve --gpu b200"]["after"].startswith("conflict")
    assert "case unknown" not in by_subject
    assert found["facts"] == [{"file": "gpus/b200.json", "name": "(the rest)", "change": "changed"}]
    assert main([*diff, "--accept", "b200: the driver was withdrawn"]) == 0
    assert "accepted: the driver was withdrawn" in capsys.readouterr().out


def test_a_new_rule_is_told_by_the_images_it_finds(
    tmp_path: Path, changed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = quick(Path(shutil.copytree(matrices_root(), tmp_path / "a")))
    quick(changed)
    rule = {
        "id": "test-every-torch",
        "kind": "config",
        "severity": "info",
        "subjects": ["torch"],
        "title": "torch is there",
        "when": {"torch": True},
        "why": "a test",
        "remedy": [],
        "sources": ["https://example.com"],
    }
    (changed / "rules" / "zz-test.json").write_text(json.dumps({"rules": [rule], "sources": {}}))
    (tmp_path / "none").mkdir()
    code = main(
        ["matrices", "diff", str(a), str(changed), "--cases", str(tmp_path / "none"), "--format", "json"]
    )
    found = json.loads(capsys.readouterr().out)
    assert code == 0, "no golden case flipped"
    images = [v for v in found["verdicts"] if v["subject"].startswith("image ")]
    assert images
    assert all("info test-every-torch" in v["after"] for v in images)
    assert not any("test-every-torch" in v["before"] for v in images)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["shipped", "/nonexistent"], "no whole data set"),
        (["installed", "shipped"], "no data set is installed"),
        (["shipped", "shipped", "--accept", "case"], "CASE:REASON"),
    ],
)
def test_wrong_usage_is_one_line(
    argv: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert main(["matrices", "diff", *argv]) == 2
    assert said in capsys.readouterr().err


def test_a_case_never_writes_files(tmp_path: Path, changed: Path) -> None:
    a = quick(Path(shutil.copytree(matrices_root(), tmp_path / "a")))
    quick(changed)
    (changed / "VERSION").write_text("2999.1.1\n")
    (changed / "signatures" / "zz.json").write_text('{"signatures": [], "sources": {}}')
    case(
        tmp_path / "cases" / "w.json",
        "resolve",
        "--gpu",
        "b200",
        "-o",
        str(tmp_path / "lock.json"),
        "--export",
        f"env={tmp_path / 'env.sh'}",
    )
    assert main(["matrices", "diff", str(a), str(changed), "--cases", str(tmp_path / "cases")]) == 0
    assert not (tmp_path / "lock.json").exists()
    assert not (tmp_path / "env.sh").exists()
