"""Newer data reaches users whole or not at all, whatever is killed when, and there is a way back."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stackcheck.catalog import open_catalog
from stackcheck.catalog.files import base_root, installed_doubt, installed_root, matrices_root
from stackcheck.cli import main
from stackcheck.harvest.data_set import DataSet, Home, from_folder, from_wheel
from stackcheck.harvest.interface import HarvestError
from stackcheck.model.errors import MatrixError
from tests.harvest import data
from tests.harvest.upstream import Upstream, body

SHIPPED = (Path(matrices_root()) / "VERSION").read_text().strip()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.delenv("STACKCHECK_MATRICES", raising=False)
    monkeypatch.delenv("STACKCHECK_UPDATE_FROM", raising=False)
    return Home(tmp_path / "share" / "stackcheck" / "matrices")


def nothing_to_prove(_root: Path) -> None:
    """Take any set: these tests are about placing it."""


def made(version: str, padding: int = 0) -> DataSet:
    return DataSet(version=version, files=data.files(version, padding=padding))


def test_a_folder_a_wheel_and_an_address_give_the_same_set(
    tmp_path: Path, home: Home, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    held = data.files("2999.1.1")
    packed = data.wheel(held)
    (tmp_path / "stackcheck-9.9-py3-none-any.whl").write_bytes(packed)
    data.folder(tmp_path / "checkout" / "matrices", held)
    upstream.routes["/stackcheck-9.9-py3-none-any.whl"] = body(packed)
    digest = hashlib.sha256(packed).hexdigest()
    for origin, words in (
        (str(tmp_path / "checkout"), "installed"),
        (str(tmp_path / "stackcheck-9.9-py3-none-any.whl"), "already"),
        (f"{upstream.url}/stackcheck-9.9-py3-none-any.whl#sha256={digest}", "already"),
    ):
        assert main(["matrices", "update", "--from", origin]) == 0
        assert words in capsys.readouterr().out
    assert open_catalog().version == "2999.1.1"
    assert home.state().active.startswith("2999.1.1-")


def test_the_order_is_flag_variable_installed_shipped_and_overlays_lie_over_the_installed(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert open_catalog().version == SHIPPED
    home.install(made("2999.1.1"), nothing_to_prove)
    assert open_catalog().version == "2999.1.1"
    overlay = data.folder(
        tmp_path / "overlay",
        {"components/extra.json": data.files("1.1.1", data.component("extra", "1"))["components/extra.json"]},
    )
    over = open_catalog(str(overlay))
    assert set(over.component_ids) == {"torch", "extra"}
    monkeypatch.setenv("STACKCHECK_MATRICES", str(data.folder(tmp_path / "whole", data.files("2998.1.1"))))
    assert open_catalog().version == "2998.1.1"
    assert open_catalog(str(data.folder(tmp_path / "flag", data.files("2997.1.1")))).version == "2997.1.1"


def test_shipped_data_that_is_newer_than_the_installed_counts(home: Home) -> None:
    home.install(made("2020.1.1"), nothing_to_prove)
    assert open_catalog().version == SHIPPED
    assert installed_root(dict(os.environ)), "it is there all the same"


def test_one_command_goes_back_and_back_again(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    for version in ("2999.1.1", "2999.2.1"):
        home.install(made(version), nothing_to_prove)
    for expected in ("2999.1.1", SHIPPED):
        assert main(["matrices", "update", "--rollback"]) == 0
        assert open_catalog().version == expected
        assert installed_doubt(dict(os.environ)) == ""
    assert main(["matrices", "update", "--rollback"]) == 2
    assert "nothing to go back to" in capsys.readouterr().err


def test_old_sets_are_forgotten_and_those_one_can_return_to_kept(home: Home) -> None:
    for month in range(1, 8):
        home.install(made(f"2999.{month}.1"), nothing_to_prove)
    folders = sorted(p.name.partition("-")[0] for p in home.path.iterdir() if p.is_dir())
    assert folders == ["2999.4.1", "2999.5.1", "2999.6.1", "2999.7.1"]


def test_a_newer_format_is_refused_in_one_clear_line(
    tmp_path: Path, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    newer = data.folder(tmp_path / "newer", data.files("2999.1.1", form="2"))
    assert main(["matrices", "update", "--from", str(newer)]) == 2
    assert "format 2, newer than this stackcheck reads (1); upgrade stackcheck" in capsys.readouterr().err
    assert home.state().active == ""
    assert not list(home.path.glob(".part-*"))
    with pytest.raises(MatrixError, match="format 2"):
        open_catalog(str(newer))


def test_an_installed_set_of_a_newer_format_is_passed_over(home: Home) -> None:
    """Somebody went back to an older stackcheck: the shipped data serves until it is upgraded."""
    home.install(made("2999.1.1"), nothing_to_prove)
    (home.path / home.state().active / "FORMAT").write_text("2\n")
    assert open_catalog().version == SHIPPED


def test_an_older_set_is_taken_only_if_asked_for(
    tmp_path: Path, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    home.install(made("2999.2.1"), nothing_to_prove)
    old = str(data.folder(tmp_path / "old", data.files("2999.1.1")))
    assert main(["matrices", "update", "--from", old]) == 2
    assert "--allow-older takes it" in capsys.readouterr().err
    assert main(["matrices", "update", "--from", old, "--allow-older"]) == 0
    assert open_catalog().version == "2999.1.1"


@pytest.mark.parametrize("flags", [(), ("--allow-older",)])
def test_a_set_older_than_the_shipped_data_would_never_count_and_is_refused(
    tmp_path: Path, home: Home, capsys: pytest.CaptureFixture[str], flags: tuple[str, ...]
) -> None:
    old = str(data.folder(tmp_path / "old", data.files("2020.1.1")))
    assert main(["matrices", "update", "--from", old, *flags]) == 2
    assert "which would stay in use; name a folder with --matrices" in capsys.readouterr().err
    assert home.state().active == ""


@pytest.mark.parametrize(
    ("breaks", "said"),
    [
        ({"components/torch.json": b"{"}, "no JSON"),
        (
            data.files("1.1.1", data.component("torch", "2.14.0", surprise=1)),
            "components/torch.json#/: Additional properties",
        ),
        (data.files("1.1.1", data.component("torch", "2.14.0", "2.14.0")), "occurs 2 times"),
        (data.files("1.1.1", data.component("torch", "not a version")), "torch"),
    ],
)
def test_a_broken_set_is_refused_and_changes_nothing(
    tmp_path: Path, home: Home, capsys: pytest.CaptureFixture[str], breaks: dict[str, bytes], said: str
) -> None:
    held = data.files("2999.1.1") | {k: v for k, v in breaks.items() if k.endswith(".json")}
    assert main(["matrices", "update", "--from", str(data.folder(tmp_path / "bad", held))]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert open_catalog().version == SHIPPED


def test_a_set_without_calendar_version_or_content_is_none(tmp_path: Path) -> None:
    for name, held in (
        ("a", {"VERSION": b"latest\n", "components/a.json": b"{}"}),
        ("b", {"VERSION": b"2999.1.1\n"}),
        ("c", {"components/a.json": b"{}"}),
        ("d", {"VERSION": b"../../x\n", "components/a.json": b"{}"}),
    ):
        with pytest.raises(HarvestError):
            from_folder(data.folder(tmp_path / name, held))


def test_hostile_wheels_are_refused() -> None:
    held = data.files("2999.1.1")
    name = "stackcheck/matrices/components/torch.json"
    for packed, said in (
        (data.wheel(held, record={name: "sha256=AAAA"}), "checksum"),
        (data.wheel(held, record={name: ""}), "checksum"),
        (b"PK no wheel", "no wheel"),
        (data.wheel(held)[:-40], "no wheel"),
        (data.wheel({}, extra={"other/file": b"x"}), "calendar version"),
        (data.wheel(held, extra={"evil.dist-info/RECORD": b""}), "RECORD"),
    ):
        with pytest.raises(HarvestError, match=said):
            from_wheel(packed, "x.whl")


def test_names_of_a_wheel_cannot_lead_out() -> None:
    evil = {
        "../../../../etc/x.json": b"{}",
        "a/../../x.json": b"{}",
        "/abs.json": b"{}",
        "schema/..json": b"{}",
        "run.py": b"x",
    }
    taken = from_wheel(data.wheel(data.files("2999.1.1") | evil), "x.whl")
    assert set(taken.files) == set(data.files("2999.1.1"))


def test_links_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    place = data.folder(tmp_path / "set", data.files("2999.1.1"))
    (tmp_path / "secret.json").write_text("{}")
    (place / "components" / "secret.json").symlink_to(tmp_path / "secret.json")
    assert "components/secret.json" not in from_folder(place).files


def test_a_wrong_checksum_or_a_plain_address_is_refused(
    tmp_path: Path, home: Home, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = data.wheel(data.files("2999.1.1"))
    upstream.routes["/w.whl"] = body(packed)
    assert main(["matrices", "update", "--from", f"{upstream.url}/w.whl#sha256={'0' * 64}"]) == 2
    assert "checksum" in capsys.readouterr().err
    assert main(["matrices", "update", "--from", "http://updates.example/w.whl"]) == 2
    assert "https alone" in capsys.readouterr().err
    assert main(["matrices", "update"]) == 2
    assert "nowhere to update from" in capsys.readouterr().err
    assert main(["matrices", "update", "--from", str(tmp_path / "none.whl")]) == 2
    assert "none.whl" in capsys.readouterr().err


def test_a_damaged_active_file_means_the_shipped_data(home: Home) -> None:
    home.path.mkdir(parents=True)
    for text in ("../../../etc\n", "/etc\n", "\0\n", "missing-set\n", "x" * 10_000, ""):
        (home.path / "active").write_text(text)
        assert base_root(dict(os.environ)) == matrices_root()
    (home.path / "active").write_bytes(b"\xff\xfe")
    assert base_root(dict(os.environ)) == matrices_root()


INSTALL = """
import sys
from pathlib import Path
from stackcheck.harvest.data_set import Home, from_folder
home, *origins = sys.argv[1:]
for origin in origins:
    Home(Path(home)).install(from_folder(Path(origin)), lambda root: None)
"""

ENDLESS = """
import itertools, sys
from pathlib import Path
from stackcheck.harvest.data_set import DataSet, Home, from_folder
home, origin, first = sys.argv[1:]
files = dict(from_folder(Path(origin)).files)
print("ready", flush=True)
for n in itertools.count(int(first)):
    version = f"2999.1.{n}"
    data = DataSet(version=version, files=files | {"VERSION": version.encode()})
    Home(Path(home)).install(data, lambda root: None)
"""


def installing(home: Home, *origins: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", INSTALL, str(home.path), *map(str, origins)])


@pytest.mark.slow
def test_killed_at_any_moment_there_is_a_whole_set(tmp_path: Path, home: Home) -> None:
    """A process that installs one new set after the other is killed thirty times, each time at another moment of its work."""
    origin = data.folder(tmp_path / "set", data.files("2999.1.1", padding=40))
    start = time.monotonic()
    home.install(from_folder(origin), nothing_to_prove)
    once = time.monotonic() - start
    dice = random.Random(11)
    while_written = installed = 0
    for turn in range(30):
        before = home.state().active
        words = [str(home.path), str(origin), str(100 * turn + 100)]
        with subprocess.Popen([sys.executable, "-c", ENDLESS, *words], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(dice.uniform(0.0, 4 * once))
            process.send_signal(signal.SIGKILL)
            assert process.wait(10) == -signal.SIGKILL, "it was at work"
        while_written += bool(list(home.path.glob(".part-*")))
        state = home.state()
        installed += state.active != before
        assert home.complete(state.active), "what is in use is whole"
        assert all(home.complete(name) for name in state.before if name), "and what one can go back to"
        assert open_catalog().version == state.active.partition("-")[0]
        assert open_catalog().component("pad39") is not None
    assert while_written >= 3, "kills came while a set was being written"
    assert installed >= 3, "and after some were in place"
    home.install(made("2999.3.1"), nothing_to_prove)
    assert not list(home.path.glob(".part-*")), "the next update tidies up"


def test_updates_at_once_take_turns_and_both_are_whole(tmp_path: Path, home: Home) -> None:
    versions = [f"2999.{n}.1" for n in range(1, 5)]
    sets = [data.folder(tmp_path / v, data.files(v, padding=20)) for v in versions]
    processes = [installing(home, one) for one in sets]
    for process in processes:
        with process:
            assert process.wait(90) == 0
    state = home.state()
    names = {state.active, *state.before} - {""}
    assert {n.partition("-")[0] for n in names} <= set(versions)
    assert all(home.complete(n) for n in names)


def test_an_air_gap_is_crossed_by_copying_the_wheel_or_the_folder(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.install(made("2999.1.1"), nothing_to_prove)
    (tmp_path / "other").mkdir()
    (tmp_path / "share").rename(tmp_path / "other" / "share")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "other" / "share"))
    assert open_catalog().version == "2999.1.1"


def test_the_shipped_set_can_be_installed_from_its_own_folder(home: Home, tmp_path: Path) -> None:
    held = dict(from_folder(Path(matrices_root())).files) | {"VERSION": b"2999.1.1\n"}
    assert "upstreams.json" in held
    assert main(["matrices", "update", "--from", str(data.folder(tmp_path / "set", held))]) == 0
    assert open_catalog().component("torch") is not None
    assert json.loads((home.path / home.state().active / "policy.json").read_text())["decide"]
