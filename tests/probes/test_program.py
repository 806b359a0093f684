"""The program and its archive: exit status, streams, the same bytes twice, every Python from 3.9 on."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from stackcheck import __version__

ROOT = Path(__file__).resolve().parents[2]
NODE = str(ROOT / "tests/nodes/p5.48xlarge")


def pythons() -> list[str]:
    """Return the interpreters on this machine, one per minor version, this one first."""
    found = {f"3.{sys.version_info[1]}": sys.executable}
    for folder in (Path.home() / ".pyenv/versions", Path("/opt/python")):
        for path in sorted(folder.glob("*/bin/python3")) if folder.is_dir() else ():
            minor = ".".join(path.parts[-3].split(".")[:2])
            if minor in ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14"):
                found.setdefault(minor, str(path))
    return list(found.values())


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("zip") / "stackcheck-probe.pyz"
    _builder().build(path)
    return path


@pytest.fixture(scope="module")
def judging(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("zip") / "stackcheck-verdict.pyz"
    _builder().build(path, verdict=True)
    return path


def _builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_zipapp", ROOT / "probes/build_zipapp.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(archive: Path, *arguments: str, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    """Run the archive as a node would: bare interpreter, another folder."""
    return subprocess.run(
        [python, "-I", "-S", str(archive), *arguments],
        capture_output=True,
        text=True,
        cwd="/",
        timeout=60,
        check=False,
    )


def test_two_builds_have_the_same_bytes(archive: Path, tmp_path: Path) -> None:
    for path in (ROOT / "probes/stackcheck_probes").rglob("*.py"):
        os.utime(path)
        break
    again = tmp_path / "again.pyz"
    _builder().build(again)
    assert again.read_bytes() == archive.read_bytes()
    names = zipfile.ZipFile(archive).namelist()
    assert "__main__.py" in names
    assert not [name for name in names if "__pycache__" in name]
    assert os.access(archive, os.X_OK)


@pytest.mark.parametrize("python", pythons())
def test_the_same_inventory_under_every_python(archive: Path, python: str) -> None:
    done = run(archive, "--root", NODE, python=python)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == json.loads(run(archive, "--root", NODE).stdout)


def test_this_machine_within_seconds(archive: Path) -> None:
    done = run(archive)
    assert done.returncode == 0
    assert json.loads(done.stdout)["schema"] == "stackcheck.inventory/1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--root", "/no/such/place"), "stackcheck-probe: /no/such/place: no such directory"),
        (("--only", "gpus,nothing"), "stackcheck-probe: no probe nothing; there are: "),
        (("--env-file", "/no/file"), "stackcheck-probe: /no/file: no such file or directory"),
        (("--pid", "zero"), "argument --pid: 'zero' is no process id"),
        (("--timeout", "-1"), "argument --timeout: '-1' is no positive number of seconds"),
        (("--capture", "/proc/self/x", "--root", NODE), "stackcheck-probe: /proc/self/x: "),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(
    archive: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = run(archive, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_only_and_list(archive: Path) -> None:
    found = json.loads(run(archive, "--root", NODE, "--only", "kernel", "--only", "efa").stdout)
    assert set(found["components"]) == {"kernel", "efa-driver", "efa-installer", "efa-nv-peermem"}
    listed = run(archive, "--list").stdout
    assert "nvidia-smi -q -x" in listed
    assert "net-plugin" in listed


def test_a_closed_pipe_is_no_fault(archive: Path) -> None:
    command = f"{sys.executable} -I -S {archive} --root '{NODE}' | head -c 10"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert done.returncode == 0


def run_in_shell(archive: Path, words: str) -> tuple[int, str, str]:
    """Return status, output and errors of the program under a shell that redirects its streams."""
    done = subprocess.run(
        ["sh", "-c", f'"$0" "$1" {words}', sys.executable, str(archive)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("lost", ["2>&-", "2>/dev/full"])
def test_nobody_to_be_told_changes_no_status(archive: Path, lost: str) -> None:
    status, out, _err = run_in_shell(archive, f"--only kernel {lost}")
    assert status == 0
    assert json.loads(out)["components"]["kernel"]
    assert run_in_shell(archive, f"--only nonsense {lost}")[0] == 2
    assert run_in_shell(archive, f"--timeout no {lost}")[0] == 2


@pytest.mark.parametrize("lost", [">&-", ">/dev/full", ">&- <&-"])
@pytest.mark.parametrize("words", ["--only kernel", "--list"])
def test_an_answer_that_cannot_be_written_is_no_fault_of_ours(archive: Path, words: str, lost: str) -> None:
    status, out, err = run_in_shell(archive, f"{words} {lost}")
    assert (status, out) == (2, "")
    assert err.startswith("stackcheck-probe: standard output cannot be written: ")
    assert err.count("\n") == 1


def test_capture_through_the_program(archive: Path, tmp_path: Path) -> None:
    done = run(archive, "--root", NODE, "--capture", str(tmp_path / "node"))
    assert done.returncode == 0
    assert "files written" in done.stderr
    assert json.loads(run(archive, "--root", str(tmp_path / "node")).stdout)["instance"] == "p5.48xlarge"


BROKEN = str(ROOT / "tests/nodes/p5.48xlarge+gdrdrv-missing")
OLD = [p for p in pythons() if any(f"/{v}." in p for v in ("3.9", "3.10"))]
NEW = [p for p in pythons() if p not in OLD]


def test_two_builds_with_the_verdict_have_the_same_bytes(judging: Path, tmp_path: Path) -> None:
    _builder().build(tmp_path / "again.pyz", verdict=True)
    assert (tmp_path / "again.pyz").read_bytes() == judging.read_bytes()


def test_the_archive_tells_its_versions_and_what_a_finding_means(judging: Path) -> None:
    data = (ROOT / "matrices/VERSION").read_text().strip()
    told = run(judging, "--version")
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.split() == ["stackcheck", __version__, "(matrices", f"{data})"]
    meaning = run(judging, "explain", "xid-79")
    assert meaning.returncode == 0
    assert meaning.stdout.startswith("xid-79-fell-off-bus")
    assert run(judging, "explain", "no-such-id").returncode == 2


@pytest.mark.parametrize("python", NEW)
def test_the_archive_gives_the_verdict_of_the_installed_program(judging: Path, python: str) -> None:
    done = run(judging, "--root", BROKEN, "--format", "json", python=python)
    here = subprocess.run(
        [sys.executable, "-m", "stackcheck", "probe", "--root", BROKEN, "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (here.returncode, "")
    assert json.loads(done.stdout) == json.loads(here.stdout)
    assert [f["id"] for f in json.loads(done.stdout)["findings"]] == ["gdrcopy-without-device"]


@pytest.mark.parametrize(
    "name", ["text", "oneline", "prometheus", "junit", "sarif", "ctrf", "markdown", "html"]
)
def test_every_report_out_of_the_archive_with_the_standard_library_alone(judging: Path, name: str) -> None:
    done = run(judging, "--root", BROKEN, "--format", name, "--fail-on", "warning")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.strip()


@pytest.mark.parametrize("python", OLD)
def test_an_old_python_gives_the_inventory_and_a_word_about_it(
    judging: Path, archive: Path, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere:relative")
    done = run(judging, "--root", BROKEN, python=python)
    assert done.returncode == 0
    assert "inventory only, the verdict needs Python 3.11" in done.stderr
    assert json.loads(done.stdout) == json.loads(run(archive, "--root", BROKEN).stdout)
    refused = run(judging, "--root", BROKEN, "--format", "oneline", python=python)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("stackcheck-probe: --format needs the verdict")


@pytest.mark.parametrize("python", OLD)
def test_an_old_python_lets_a_newer_one_go_on(
    judging: Path, python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Amazon Linux 2023 and Ubuntu 22.04, where python3 is too old and another one can be installed beside it."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    (tmp_path / "a/python3.11").write_text("#!/bin/sh\nexec " + sys.executable + ' "$@"\n')
    (tmp_path / "a/python3.11").chmod(0o755)
    (tmp_path / "b/python3.12").write_text("not a program")
    monkeypatch.setenv("PATH", f"{tmp_path}/a:{tmp_path}/b")
    done = run(judging, "--root", BROKEN, "--format", "oneline", python=python)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("stackcheck: WARNING 1: gdrcopy-without-device")


@pytest.mark.parametrize("python", OLD)
def test_a_newer_name_for_an_old_python_ends_in_a_word_and_not_in_a_circle(
    judging: Path, python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "python3.13").symlink_to(python)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run(judging, "--root", BROKEN, "--format", "oneline", python=python)
    assert done.returncode == 2
    assert done.stderr.startswith("stackcheck-probe: --format needs the verdict")


def test_the_archive_takes_no_other_matrices(judging: Path, tmp_path: Path) -> None:
    done = run(judging, "--root", BROKEN, "--matrices", str(tmp_path))
    assert done.returncode == 2
    assert "holds matrices of its own" in done.stderr


@pytest.mark.parametrize("name", ["archive", "judging"])
def test_a_python_that_is_too_old_gets_a_sentence(name: str, request: pytest.FixtureRequest) -> None:
    found = [
        *Path.home().glob(".pyenv/versions/3.[678].*/bin/python3"),
        *Path.home().glob(".pyenv/versions/2.7.*/bin/python2"),
    ]
    if not found:
        pytest.skip("no such old Python here")
    for python in found:
        done = subprocess.run(
            [str(python), str(request.getfixturevalue(name))], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("stackcheck-probe: Python 3.9 or newer is needed, this is ")
        assert len(done.stderr.splitlines()) == 1
