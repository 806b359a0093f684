"""A directory given by somebody else: whatever its links, layers and permissions, nothing outside is read and the probe ends."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from stackcheck_probes.inventory import collect
from stackcheck_probes.tree import open_tree
from tests.nodes.objects import Spec, build

ROOT = Path(__file__).resolve().parents[2]
NCCL = Spec("libnccl.so.2", strings=("NCCL version 2.29.7+cuda13.0",), code=(("sm_90", 3),))


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory beside the root with a library, a distribution and metadata that must not be seen."""
    folder = tmp_path / "outside"
    (folder / "lib").mkdir(parents=True)
    (folder / "lib/libnccl.so.2").write_bytes(build(NCCL))
    (folder / "os-release").write_text("ID=secretos\nVERSION_ID=6.66\n")
    site = folder / "site"
    (site / "torch-6.66.0.dist-info").mkdir(parents=True)
    (site / "torch-6.66.0.dist-info/METADATA").write_text("Name: torch\nVersion: 6.66.0\n")
    return folder


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """An unpacked image: a distribution, a virtual environment, an NCCL."""
    root = tmp_path / "image"
    for folder in ("etc", "usr/lib", "opt/venv/lib/python3.12/site-packages/torch-2.9.0.dist-info"):
        (root / folder).mkdir(parents=True)
    (root / "usr/lib/os-release").write_text("ID=ubuntu\nVERSION_ID=24.04\n")
    (root / "etc/os-release").symlink_to("/usr/lib/os-release")
    (root / "usr/lib/libnccl.so.2.29.7").write_bytes(build(NCCL))
    (root / "usr/lib/libnccl.so.2").symlink_to("/usr/lib/libnccl.so.2.29.7")
    (root / "opt/venv/pyvenv.cfg").write_text("version = 3.12.3\n")
    site = root / "opt/venv/lib/python3.12/site-packages"
    (site / "torch-2.9.0.dist-info/METADATA").write_text("Name: torch\nVersion: 2.9.0\n")
    return root


def seen(root: Path) -> str:
    """Return the whole inventory as one text."""
    return json.dumps(
        collect(root=str(root), environ={"VIRTUAL_ENV": "/opt/venv", "PATH": "/opt/venv/bin:/usr/bin"})
    )


def test_absolute_links_mean_the_root_of_the_image(image: Path) -> None:
    found = json.loads(seen(image))
    assert found["components"]["os"][0]["version"] == "ubuntu-24.04"
    assert [(one["version"], one["path"]) for one in found["components"]["nccl"]] == [
        ("2.29.7", "/usr/lib/libnccl.so.2.29.7")
    ]
    assert [(one["name"], one["version"]) for one in found["packages"]] == [("torch", "2.9.0")]


@pytest.mark.parametrize("climb", [False, True])
def test_links_to_what_lies_outside_lead_nowhere(image: Path, outside: Path, climb: bool) -> None:
    def target(path: str) -> str:
        return ("../" * 40 if climb else "/") + f"{outside}/{path}".lstrip("/")

    for link, path in (
        ("etc/os-release", "os-release"),
        ("usr/lib/libnccl.so.2", "lib/libnccl.so.2"),
        ("opt/amazon", "lib"),
        ("opt/venv/lib/python3.12/site-packages", "site"),
    ):
        place = image / link
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        place.symlink_to(target(path))
    (image / "usr/lib/libnccl.so.2.29.7").unlink()
    text = seen(image)
    assert "6.66" not in text
    assert "secretos" not in text
    assert json.loads(text)["components"]["nccl"] == []


def test_loops_of_links_end_soon(image: Path) -> None:
    site = image / "opt/venv/lib/python3.12/site-packages"
    for place, target in (
        (image / "usr/lib/self", "."),
        (image / "usr/lib64", "lib64"),
        (image / "lib", "usr/lib/self/self/self"),
        (image / "opt/up", "../opt/up/../opt/up"),
        (site / "loop", ".."),
        (site / "nvidia", "nvidia"),
        (image / "usr/local", "/usr/local/x/../../local"),
        (image / "etc/ld.so.conf.d", "ld.so.conf.d"),
    ):
        place.symlink_to(target)
    (image / "etc/ld.so.conf").write_text(
        "include /etc/ld.so.conf\ninclude ld.so.conf.d/*.conf\n/usr/lib/self/self\n"
    )
    start = time.monotonic()
    found = json.loads(seen(image))
    assert time.monotonic() - start < 5
    assert [one["version"] for one in found["components"]["nccl"]] == ["2.29.7"]
    assert not [note for note in found["notes"] if "failed" in note["text"]]


def test_a_lower_layer_cannot_lead_out_below_a_directory_of_an_upper_one(
    tmp_path: Path, outside: Path
) -> None:
    lower, upper = tmp_path / "lower", tmp_path / "upper"
    for layer in (lower, upper):
        layer.mkdir()
    (lower / "node.json").write_text("{}")
    (lower / "data").symlink_to(outside)
    (upper / "data").mkdir()
    (upper / "overlay.json").write_text('{"base": "../lower"}')
    files = open_tree(str(upper))
    assert files.names("/data") == []
    assert not files.exists("/data/os-release")
    assert not files.exists("/data/lib/libnccl.so.2")


@pytest.mark.parametrize("base", ["/", "../outside", "../../../../../../.."])
def test_what_is_no_tree_is_no_base(tmp_path: Path, outside: Path, base: str) -> None:
    (tmp_path / "node").mkdir()
    (tmp_path / "node/overlay.json").write_text(json.dumps({"base": base}))
    done = program(tmp_path / "node")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no tree" in done.stderr


LIBC = ctypes.CDLL(None)
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2


def obey_permissions() -> None:
    """Give up root's power to read what may not be read; nothing changes for other users."""
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def program(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `stackcheck probe` on a root, with nobody's permissions but its own."""
    return subprocess.run(
        [sys.executable, "-m", "stackcheck", "probe", "--root", str(root), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=obey_permissions,
    )


def inventory(root: Path) -> dict[str, Any]:
    """Return the inventory in the report on a root, which must go through."""
    done = program(root, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    loaded: dict[str, Any] = json.loads(done.stdout)["inventory"]
    return loaded


def test_directories_that_may_not_be_read(image: Path) -> None:
    site = image / "opt/venv/lib/python3.12/site-packages"
    assert "2.9.0" in json.dumps(inventory(image))
    site.chmod(0)
    (image / "usr/lib/libnccl.so.2.29.7").chmod(0)
    try:
        found = inventory(image)
        assert found["components"]["os"][0]["version"] == "ubuntu-24.04"
        assert "2.9.0" not in json.dumps(found)
        (nccl,) = found["components"]["nccl"]
        assert nccl["version"] == "", "it is there, and tells no version"
        assert "permission denied" in json.dumps(found["notes"])
        image.chmod(0)
        done = program(image)
        assert (done.returncode, done.stdout) == (2, "")
        assert len(done.stderr.splitlines()) == 1
    finally:
        image.chmod(0o755)
        site.chmod(0o755)


def test_a_directory_without_a_node_is_no_healthy_node(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x")
    done = program(tmp_path, "--format", "oneline")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing of a node was found there" in done.stderr


@pytest.mark.parametrize("root", ["/no/such", "/etc/passwd", "/dev/null", "/proc/self/fd/0"])
def test_what_is_no_directory_is_wrong_input(root: str) -> None:
    done = program(Path(root))
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
