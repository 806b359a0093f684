"""It cannot hang: whatever a node holds, each thing costs at most its time, leaves a note, and the rest is right."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stackcheck_probes import files, inventory, mounts
from stackcheck_probes.host import live_host, tree_host
from stackcheck_probes.interface import AbsentError, Probe, RefusedError
from stackcheck_probes.inventory import UnknownProbeError, choose, collect, observe
from stackcheck_probes.look import Look
from stackcheck_probes.registry import PROBES
from tests.nodes.objects import Spec, build

NODES = Path(__file__).resolve().parents[1] / "nodes"


def notes(found: dict[str, Any]) -> str:
    """Return all notes as one text."""
    return "\n".join(f"{note['probe']}: {note['text']}" for note in found["notes"])


def test_a_probe_that_never_ends_costs_its_own_time_and_no_more() -> None:
    def forever(_look: Look) -> None:
        threading.Event().wait(60)

    probes = (Probe("stuck", "", forever, 0.3), *choose(("kernel",), ()))
    start = time.monotonic()
    found = observe(tree_host(str(NODES / "p5.48xlarge")), probes, 5.0)
    assert time.monotonic() - start < 1.5
    assert found["components"]["kernel"][0]["version"] == "6.8.0-1044-aws"
    assert "stuck: stopped after 0.3 s" in notes(found)


def test_what_a_late_probe_adds_afterwards_changes_nothing() -> None:
    go = threading.Event()
    done = threading.Event()

    def late(look: Look) -> None:
        look.fact("early", 1, "x")
        go.wait(10)
        look.fact("late", 2, "x")
        look.component("nccl", "9", "/x", "test")
        look.looked_for("torch")
        look.seen.append("code", {"path": "/x"})
        done.set()

    found = observe(tree_host(str(NODES / "p5.48xlarge")), (Probe("late", "", late, 0.2),), 5.0)
    before = json.dumps(found)
    go.set()
    assert done.wait(5)
    assert json.dumps(found) == before
    assert found["facts"] == {"early": 1}


def test_a_probe_that_fails_is_told_and_the_others_go_on() -> None:
    def broken(_look: Look) -> None:
        raise ZeroDivisionError("of course")

    found = observe(
        tree_host(str(NODES / "p5.48xlarge")), (Probe("broken", "", broken), *choose(("kernel",), ())), 5.0
    )
    assert "broken: failed: ZeroDivisionError: of course" in notes(found)
    assert found["components"]["kernel"]


def test_the_whole_is_bounded_too() -> None:
    def forever(_look: Look) -> None:
        threading.Event().wait(60)

    probes = tuple(Probe(f"stuck{index}", "", forever, 30.0) for index in range(5))
    start = time.monotonic()
    observe(tree_host(str(NODES / "p5.48xlarge")), probes, 0.4)
    assert time.monotonic() - start < 1.5


def test_a_hung_nvidia_smi_and_nvml(tmp_path: Path) -> None:
    (tmp_path / "overlay.json").write_text(json.dumps({
        "base": os.path.relpath(NODES / "p5.48xlarge", tmp_path),
        "files": {"/cmd/nvml": "", "/cmd/nvml.rc": "timeout", "/cmd/nvidia-smi": "", "/cmd/nvidia-smi.rc": "timeout"},
    }))  # fmt: skip
    found = collect(root=str(tmp_path))
    assert "nvml: did not answer in time" in notes(found)
    assert found["gpu"] == {"model": "NVIDIA H100 80GB HBM3", "count": 8, "pci_ids": ["2330"]}
    assert "ecc" not in found["facts"]


def test_a_fifo_in_the_search_path(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    os.mkfifo(tmp_path / "lib/libnccl.so.2")
    os.mkfifo(tmp_path / "lib/libstdc++.so.6")
    start = time.monotonic()
    found = collect(only=("native", "loader"), environ={"LD_LIBRARY_PATH": f"{tmp_path}/lib"})
    assert time.monotonic() - start < 5
    assert "not a regular file" in notes(found)
    assert all(
        str(tmp_path) not in str(copy.get("loaded") and copy["path"])
        for copy in found["components"]["libstdcxx"]
    )


def test_a_library_of_two_gigabytes(tmp_path: Path) -> None:
    lib = tmp_path / "usr/lib"
    lib.mkdir(parents=True)
    data = build(Spec("libnccl.so.2", strings=("NCCL version 2.29.7+cuda13.0",), code=(("sm_90", 3),)))
    for name, content in (("libnccl.so.2", data), ("libcudnn.so.9", b"\x7fELF\x02\x01rubbish")):
        with (lib / name).open("wb") as file:
            file.write(content)
            file.truncate(2 << 30)
    start = time.monotonic()
    found = collect(root=str(tmp_path), only=("native",))
    assert time.monotonic() - start < 3
    assert [(one["version"], one["attributes"]["targets"]) for one in found["components"]["nccl"]] == [
        ("2.29.7", ["sm_90"])
    ]
    assert "version" not in found["components"]["cudnn"][0]


def test_very_many_files_in_site_packages(tmp_path: Path) -> None:
    site = tmp_path / "v/lib/python3.12/site-packages"
    site.mkdir(parents=True)
    (tmp_path / "v/pyvenv.cfg").write_text("version = 3.12.3\n")
    count = 200_000 if os.environ.get("STACKCHECK_SLOW_TESTS") else 30_000
    for index in range(count):
        os.close(os.open(f"{site}/f{index}.txt", os.O_CREAT | os.O_WRONLY))
    (site / "torch-2.9.0.dist-info").mkdir()
    (site / "torch-2.9.0.dist-info/METADATA").write_text("Name: torch\nVersion: 2.9.0\n")
    start = time.monotonic()
    found = collect(root=str(tmp_path), environ={"VIRTUAL_ENV": "/v"})
    assert time.monotonic() - start < 8
    assert [one["version"] for one in found["packages"]] == ["2.9.0"]


def test_no_sys_and_no_proc(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text("ID=ubuntu\nVERSION_ID=24.04\n")
    found = collect(root=str(tmp_path))
    assert found["components"]["os"][0]["version"] == "ubuntu-24.04"
    assert found["facts"]["container"] == "image"
    assert "/sys/bus/pci: not visible" in notes(found)
    unknown = (
        "iommu",
        "nic_count",
        "efa_devices",
        "gpu_count_pci",
        "memlock_kb",
        "xid",
        "module:gdrdrv",
        "service:nvidia-fabricmanager",
    )
    assert [fact for fact in unknown if fact in found["facts"]] == [], (
        "what could not be looked at is not said to be absent"
    )


def test_an_unreadable_proc(tmp_path: Path) -> None:
    refused = ["/proc/self/limits", "/proc/self/status", "/proc/meminfo", "/proc/driver/nvidia/version"]
    (tmp_path / "overlay.json").write_text(
        json.dumps({"base": os.path.relpath(NODES / "p5.48xlarge", tmp_path), "unreadable": refused})
    )
    found = collect(root=str(tmp_path))
    assert all(f"{path}: permission denied" in notes(found) for path in refused)
    assert "memlock_kb" not in found["facts"]
    assert found["components"]["driver"][0]["version"] == "580.126.20", "by /sys/module then"
    assert found["components"]["driver"][0]["attributes"]["flavour"] == "open"


def test_a_process_that_may_not_be_looked_into() -> None:
    found = observe(live_host({"PATH": "/usr/bin"}, pid=1), choose(("limits", "loader"), ()), 10.0)
    assert found["schema"] == inventory.SCHEMA


PR_CAPBSET_DROP = 24
TRACING = (19, 21, 38)  # CAP_SYS_PTRACE; CAP_SYS_ADMIN and CAP_PERFMON read memory maps too, on newer kernels
INTO = """
import json, sys
sys.path.insert(0, sys.argv[1])
from stackcheck_probes.inventory import collect
print(json.dumps(collect(pid=int(sys.argv[2]), environ={"PATH": "/usr/bin"} if sys.argv[3:] else None)))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to start a process of somebody else")
@pytest.mark.parametrize("variables", [(), ("given",)])
def test_a_process_of_somebody_else_without_the_right_to_trace_it(variables: tuple[str, ...]) -> None:
    """As in a container whose seccomp profile or capabilities forbid ptrace: its maps and variables refuse, all else is told."""
    libc = ctypes.CDLL(None)
    with subprocess.Popen(["/bin/sleep", "60"], user=65534, group=65534, env={"SECRET": "x"}) as process:
        try:
            done = subprocess.run(
                [
                    sys.executable,
                    "-c",
                    INTO,
                    str(Path(inventory.__file__).parents[1]),
                    str(process.pid),
                    *variables,
                ],
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
                preexec_fn=lambda: [libc.prctl(PR_CAPBSET_DROP, one, 0, 0, 0) for one in TRACING],
            )
        finally:
            process.kill()
    found = json.loads(done.stdout)
    told = notes(found)
    assert f"/proc/{process.pid}/maps: permission denied" in told
    assert "failed" not in told
    assert found["components"]["kernel"]
    assert found["facts"]["memlock_kb"]
    if not variables:
        assert f"/proc/{process.pid}/environ" in told, "what is judged instead must be said"


def test_a_process_that_is_gone() -> None:
    process = subprocess.Popen(["/bin/true"])
    process.wait()
    found = collect(pid=process.pid, only=("limits", "shm"))
    assert "memlock_kb" not in found["facts"]


def test_what_a_process_has_mapped(tmp_path: Path) -> None:
    library = tmp_path / "libnccl.so.2"
    library.write_bytes(build(Spec("libnccl.so.2", strings=("NCCL version 2.18.1+cuda12.1",), loadable=True)))
    text = f"import mmap,time; f=open({str(library)!r},'rb'); m=mmap.mmap(f.fileno(),0,access=mmap.ACCESS_READ); print('on',flush=True); time.sleep(60)"
    with subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, env={"NCCL_PROTO": "LL", "PATH": "/usr/bin"}
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            found = collect(pid=process.pid, only=("native", "environment", "limits"))
        finally:
            process.kill()
    nccl = [one for one in found["components"]["nccl"] if one["path"] == str(library)]
    assert [(one["version"], one["loaded"]) for one in nccl] == [("2.18.1", True)]
    assert f"maps of process {process.pid}" in nccl[0]["where"]
    assert found["environment"]["NCCL_PROTO"] == "LL"
    assert found["evidence"]["env:NCCL_PROTO"]["where"] == f"/proc/{process.pid}/environ"
    assert found["evidence"]["fact:memlock_kb"]["where"] == f"/proc/{process.pid}/limits"


@contextlib.contextmanager
def dead_mount(point: Path) -> Iterator[None]:
    """Mount a file system in user space that never answers; skip where that is not allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        fd = os.open("/dev/fuse", os.O_RDWR)
    except OSError:
        pytest.skip("no /dev/fuse")
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0".encode()
    if libc.mount(b"dead", str(point).encode(), b"fuse", 0, options) != 0:
        os.close(fd)
        pytest.skip("may not mount")
    try:
        yield
    finally:
        os.close(fd)
        libc.umount2(str(point).encode(), 2)


def test_a_dead_mount_in_the_search_path(tmp_path: Path) -> None:
    with dead_mount(tmp_path):
        start = time.monotonic()
        found = collect(
            environ={"LD_LIBRARY_PATH": f"{tmp_path}/lib:{tmp_path}", "PATH": f"{tmp_path}/bin:/usr/bin"}
        )
        assert time.monotonic() - start < 6
        assert f"mount {tmp_path} (fuse) does not answer" in notes(found)
        assert str(tmp_path) in found["facts"]["mounts_silent"]
        assert found["components"]["kernel"]


def test_links_that_lead_to_a_dead_mount(tmp_path: Path) -> None:
    """As /opt/conda often is one to a shared file system."""
    (tmp_path / "dead").mkdir()
    (tmp_path / "bin").mkdir()
    (tmp_path / "link").symlink_to("x/../dead")
    (tmp_path / "x").mkdir()
    (tmp_path / "bin/python3").symlink_to("../link/bin/python3")
    with dead_mount(tmp_path / "dead"):
        start = time.monotonic()
        found = collect(environ={
            "LD_LIBRARY_PATH": f"{tmp_path}/link/lib", "PATH": f"{tmp_path}/bin:{tmp_path}/link/bin:/usr/bin",
            "VIRTUAL_ENV": f"{tmp_path}/link/v", "HOME": f"{tmp_path}/link/home",
        })  # fmt: skip
        assert time.monotonic() - start < 6
    assert "stopped after" not in notes(found)
    assert f"packages: {tmp_path}/link/v: mount {tmp_path}/dead (fuse) does not answer" in notes(found)
    assert found["environments"], "those elsewhere are found all the same"


def test_a_root_or_a_file_on_a_dead_mount_is_told(tmp_path: Path) -> None:
    (tmp_path / "dead").mkdir()
    (tmp_path / "link").symlink_to("dead")
    with dead_mount(tmp_path / "dead"):
        start = time.monotonic()
        for arguments in (
            {"root": f"{tmp_path}/dead/x"},
            {"root": f"{tmp_path}/link"},
            {"env_file": f"{tmp_path}/dead/e"},
        ):
            with pytest.raises(RefusedError, match=r"mount .*/dead \(fuse\) does not answer"):
                collect(**arguments)  # type: ignore[arg-type]
        assert time.monotonic() - start < 6


def test_a_dead_mount_within_a_root(tmp_path: Path) -> None:
    (tmp_path / "opt/conda").mkdir(parents=True)
    (tmp_path / "v").symlink_to("/opt/conda")
    (tmp_path / "usr/lib/python3.12/site-packages").mkdir(parents=True)
    with dead_mount(tmp_path / "opt/conda"):
        start = time.monotonic()
        found = collect(str(tmp_path), environ={"VIRTUAL_ENV": "/v", "PATH": "/opt/conda/bin"})
        assert time.monotonic() - start < 6
    assert "stopped after" not in notes(found)
    assert "packages: /v: mount /opt/conda (fuse) does not answer" in notes(found)
    assert [one["prefix"] for one in found["environments"]] == ["/usr"]


def test_a_dead_mount_in_the_container_of_a_process(tmp_path: Path) -> None:
    (tmp_path / "dead").mkdir()
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("may not have a mount table of its own")
    with (
        dead_mount(tmp_path / "dead"),
        subprocess.Popen(
            ["unshare", "-m", "sh", "-c", "echo; exec sleep 60"], stdout=subprocess.PIPE
        ) as process,
    ):
        try:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.2)
            start = time.monotonic()
            found = collect(pid=process.pid, environ={"VIRTUAL_ENV": f"{tmp_path}/dead"})
            assert time.monotonic() - start < 6
        finally:
            process.kill()
    assert "stopped after" not in notes(found)
    assert f"packages: {tmp_path}/dead: mount {tmp_path}/dead (fuse) does not answer" in notes(found)
    own = [path for path in found["facts"]["mounts_silent"] if path.startswith(f"{tmp_path}/")]
    assert own == [f"{tmp_path}/dead"], "other tests may have dead mounts at the same time"


NO_NAME = ("/x\0y", "/x\udfffy")  # the second is neither a letter nor an escaped byte


@pytest.mark.parametrize("path", NO_NAME)
@pytest.mark.parametrize("doubtful", [False, True])
def test_what_cannot_be_the_name_of_a_file_is_not_there(path: str, doubtful: bool) -> None:
    own = (
        mounts.GuardedFiles([mounts.Mount("s:/a", "/bad", "nfs", "rw")]) if doubtful else files.DirectFiles()
    )
    assert not own.exists(path)
    assert not own.is_dir(path)
    for ask in (own.read, own.map, own.names, own.size, own.real, own.local):
        with contextlib.suppress(AbsentError):  # where links lead may be told of what is not there
            assert ask(path) == path
    with pytest.raises(AbsentError), own.reads(path):
        pass


def test_a_record_with_such_a_name_costs_its_line_alone(tmp_path: Path) -> None:
    site = tmp_path / "v/lib/python3.12/site-packages"
    folder = site / "pkg-1.0.dist-info"
    folder.mkdir(parents=True)
    (tmp_path / "v/pyvenv.cfg").write_text(
        "version = 3.12.3\nhome = /x\0y/bin\ninclude-system-site-packages = true\n"
    )
    (folder / "METADATA").write_text("Name: pkg\nVersion: 1.0\n")
    (folder / "RECORD").write_text("bad\0name.so,sha256=x,1\ngood.so,sha256=y,1\n")
    (site / "good.so").write_bytes(build(Spec("good.so", code=(("sm_90", 3),))))
    found = collect(environ={"VIRTUAL_ENV": str(tmp_path / "v")}, only=("packages", "wheels", "code"))
    assert "failed" not in notes(found)
    assert found["facts"]["gpu_code"] == ["pkg: sm_90"]
    assert any("good.so" in line for line in found["facts"]["files_changed"])


def test_white_space_in_the_place_of_a_mount() -> None:
    table = "s:/a /a\\040b\\011c\\134d nfs rw 0 0\n"
    assert [mount.point for mount in mounts.parse_mounts(table)] == ["/a b\tc\\d"]


def test_ways_without_end_cost_nothing() -> None:
    guarded = mounts.GuardedFiles([mounts.Mount("s:/a", "/bad", "nfs", "rw")])
    start = time.monotonic()
    assert not guarded.exists("/a" * 100_000)
    assert not guarded.exists("/a/.." * 600 + "/nothing")
    assert time.monotonic() - start < 1


def test_a_mount_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(mounts, "answers", lambda point: asked.append(point) or point == "/good")  # type: ignore[func-returns-value]
    guarded = mounts.GuardedFiles(
        [mounts.Mount("s:/a", "/bad", "nfs", "rw"), mounts.Mount("s:/b", "/good", "lustre", "rw")]
    )
    for _ in range(3):
        with pytest.raises(RefusedError, match=r"mount /bad \(nfs\) does not answer"):
            guarded.read("/bad/x")
        assert not guarded.exists("/bad")
        assert not guarded.exists("/good/x")
    assert not guarded.exists("/badly-named")
    assert asked == ["/bad", "/good"]


def test_names_of_probes() -> None:
    assert [probe.name for probe in choose(("kernel", "efa"), ("efa",))] == ["identity", "kernel"]
    assert [probe.name for probe in choose(("kernel",), ("identity",))] == ["kernel"]
    with pytest.raises(UnknownProbeError, match="no probe kernl; did you mean kernel"):
        choose(("kernl",), ())


def test_skipped_probes_start_nothing() -> None:
    found = collect(
        root=str(NODES / "p5.48xlarge"), skip=[probe.name for probe in PROBES if probe.name != "identity"]
    )
    assert found["components"] == {}
    assert found["instance"] == "p5.48xlarge"


def test_an_environment_file(tmp_path: Path) -> None:
    file = tmp_path / "job.env"
    file.write_text("export NCCL_ALGO=Ring\nFI_PROVIDER='tcp'\nOTHER=1\n")
    found = collect(root=str(NODES / "p5.48xlarge"), env_file=str(file))
    assert found["environment"] == {"NCCL_ALGO": "Ring", "FI_PROVIDER": "tcp"}
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(RefusedError):
        collect(env_file=str(tmp_path / "fifo"))
