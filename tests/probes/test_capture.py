"""A captured node gives the same inventory as the node itself, and names nobody."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from stackcheck_probes import capturing, env_file, redaction
from stackcheck_probes.capturing import capture
from stackcheck_probes.host import live_host
from stackcheck_probes.interface import RefusedError
from stackcheck_probes.inventory import collect
from stackcheck_probes.skeleton import WHOLE, blocks
from tests.nodes.objects import Spec, build

NODES = Path(__file__).resolve().parents[1] / "nodes"
KEYS = (
    "components",
    "facts",
    "environment",
    "packages",
    "code",
    "environments",
    "gpu",
    "instance",
    "notes",
    "arch",
)


@pytest.mark.parametrize(
    "name",
    ["p5.48xlarge", "p6e-gb200.36xlarge", "ib-h100", "ngc-pytorch-25.10", "p5.48xlarge+nccl-preloaded"],
)
def test_the_same_inventory(name: str, tmp_path: Path) -> None:
    target = tmp_path / "node"
    assert capture(str(NODES / name), str(target)) > 20
    before, after = collect(root=str(NODES / name)), collect(root=str(target))
    for key in KEYS:
        assert after[key] == before[key], key


def test_this_machine_without_its_name(tmp_path: Path) -> None:
    capture("/", str(tmp_path / "node"))
    before, after = collect(), collect(root=str(tmp_path / "node"))
    assert after["subject"] == "node"
    assert {key for key in before["facts"] if before["facts"][key] != after["facts"].get(key)} <= {
        "probe_python",
        "swap_used_kb",
        "mounts_silent",
        "hugepages_free",
        "oom_kills",
    }
    assert after["components"] == before["components"]
    name = os.uname().nodename
    if len(name) > 5:
        written = [
            path
            for path in (tmp_path / "node").rglob("*")
            if path.is_file() and path.stat().st_size < 1 << 20
        ]
        assert [path for path in written if name.encode() in path.read_bytes()] == []


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(RefusedError, match="not empty"):
        capture(str(NODES / "p5.48xlarge"), str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_large_library_becomes_a_hole_with_its_tables(tmp_path: Path) -> None:
    spec = Spec(
        "libnccl.so.2",
        strings=("NCCL version 2.29.7+cuda13.0",),
        symbols=("ncclGetVersion",),
        code=tuple((f"sm_{n}", 300) for n in (80, 90, 100)),
    )
    data = build(spec)
    assert len(data) > WHOLE
    kept = bytearray(len(data))
    for offset, size in blocks(data, "libnccl.so.2"):
        kept[offset : offset + size] = data[offset : offset + size]
    lib = tmp_path / "usr/lib"
    lib.mkdir(parents=True)
    (lib / "libnccl.so.2").write_bytes(kept)
    nccl = collect(root=str(tmp_path), only=("native",))["components"]["nccl"][0]
    assert (nccl["version"], nccl["attributes"]["targets"]) == ("2.29.7", ["sm_80", "sm_90", "sm_100"])
    assert blocks(b"text" * WHOLE, "x.so") == []


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("/proc/sys/kernel/hostname", "ip-10-1-2-3\n", "node\n"),
        ("/proc/driver/nvidia/gpus/0000:53:00.0/information", "GPU UUID: \t GPU-1a2b3c4d-1111-2222-3333-444455556666\n",
         "GPU UUID: \t GPU-00000000-0000-0000-0000-000000000000\n"),
        ("/proc/self/mounts", "fs-0123456789abcdef0.fsx.eu-west-1.amazonaws.com@tcp:/abcd /fsx lustre rw,flock 0 0\n",
         "server@tcp:/export /fsx lustre rw,flock 0 0\n"),
        ("/proc/self/mounts", "10.9.8.7:/home/alice /home/alice nfs4 rw 0 0\n", "server:/export /home/user nfs4 rw 0 0\n"),
        ("/etc/nccl.conf", "NCCL_DEBUG=INFO\nAPI_KEY=secret\n", "NCCL_DEBUG=INFO\n"),
        ("/etc/docker/daemon.json", '{"runtimes": {"nvidia": {}}, "registry-mirrors": ["https://me:pw@mirror"]}', '{"runtimes": {"nvidia": {}}}'),
        ("/etc/slurm/slurm.conf", "ClusterName=secret\nTaskPlugin=task/affinity\nSlurmctldHost=head(10.0.0.9)\n", "TaskPlugin=task/affinity\n"),
        ("/cmd/kernel-log", "[1] user alice logged in\n[2] NVRM: Xid (PCI:0000:53:00): 79\n", "[2] NVRM: Xid (PCI:0000:53:00): 79"),
        ("/x/a-1.dist-info/METADATA", "Name: a\nVersion: 1\nAuthor-email: a@b.c\n\nName: of the author\n", "Name: a\nVersion: 1\n"),
        ("/sys/class/net/x/address", "0a:1b:2c:3d:4e:5f\n", "00:00:00:00:00:00\n"),
    ],
)  # fmt: skip
def test_what_is_taken_out(name: str, text: str, expected: str) -> None:
    assert redaction.content(name, text) == expected


def test_versions_with_four_numbers_are_no_addresses() -> None:
    assert (
        redaction.content("/x/a-1.dist-info/METADATA", "Name: nvidia-cudnn-cu13\nVersion: 9.20.0.48\n")
        == "Name: nvidia-cudnn-cu13\nVersion: 9.20.0.48\n"
    )


def test_processes_and_serial_numbers_leave_nvidia_smi() -> None:
    text = "<gpu><serial>165</serial><uuid>GPU-1</uuid><processes><process_info><process_name>/home/bob/x</process_name></process_info></processes></gpu>"
    assert (
        redaction.content("/cmd/nvidia-smi", text)
        == "<gpu><serial>N/A</serial><uuid>N/A</uuid><processes></processes></gpu>"
    )


def test_the_marker_is_json(tmp_path: Path) -> None:
    capture(str(NODES / "g6e.48xlarge"), str(tmp_path / "node"))
    marker = json.loads((tmp_path / "node/node.json").read_text())
    assert marker["files"]["/sys/class/dmi/id/product_name"] == "g6e.48xlarge\n"


def test_a_capture_holds_the_environment_asked_for_and_no_secret(tmp_path: Path) -> None:
    job = tmp_path / "job.env"
    job.write_text(
        "NCCL_PROTO=LL\nNCCL_API_TOKEN=secret\nNGC_API_KEY=secret\nLD_LIBRARY_PATH=/home/bob/lib\n"
    )
    capture(str(NODES / "p5.48xlarge"), str(tmp_path / "node"), env_file=str(job))
    written = (tmp_path / "node/environ").read_text()
    assert "NCCL_PROTO=LL" in written
    assert "secret" not in written
    assert "bob" not in written
    assert collect(root=str(tmp_path / "node"))["environment"]["NCCL_PROTO"] == "LL"


def test_a_capture_holds_the_environment_of_a_process(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"], env={"NCCL_PROTO": "LL128", "PATH": os.defpath}) as process:
        end = time.monotonic() + 10
        while not Path(f"/proc/{process.pid}/environ").read_bytes() and time.monotonic() < end:
            time.sleep(0.01)  # for a moment after it was started the kernel shows none
        capture("/", str(tmp_path / "node"), only=("environment",), pid=process.pid)
        process.kill()
    assert (tmp_path / "node/environ").read_text().startswith("NCCL_PROTO=LL128\n")


def test_an_environment_that_may_not_be_read_is_not_replaced_by_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = "/proc/1/environ: permission denied"
    host = live_host()._replace(environ_refused=refused)
    monkeypatch.setattr(capturing, "open_host", lambda *_: (host, []))
    with pytest.raises(RefusedError, match="permission denied"):
        capture("/", str(tmp_path / "node"), pid=1)
    assert not (tmp_path / "node").exists()


def test_a_capture_for_some_probes_holds_their_files_alone_and_speaks_for_no_other(tmp_path: Path) -> None:
    capture(str(NODES / "p5.48xlarge"), str(tmp_path / "node"), only=("kernel",))
    marker = json.loads((tmp_path / "node/node.json").read_text())
    assert marker["probes"] == ["identity", "kernel"]
    assert "/proc/sys/kernel/osrelease" in marker["files"]
    assert not any("nvidia" in path for path in marker["files"])
    found = collect(root=str(tmp_path / "node"))
    assert set(found["components"]) == {"kernel"}, "nobody looked for a driver, so none is missing"
    assert found["notes"] == [{"probe": "probes", "text": "only some probes ran: identity, kernel"}]


def test_a_file_of_variables_is_not_expanded_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    job = tmp_path / "job.env"
    job.write_text(
        "# of the job\n\nset -a\nexport NCCL_DEBUG=INFO\nLD_LIBRARY_PATH=/opt/nope:$LD_LIBRARY_PATH:${HOME}/lib:$ORIGIN/x\n"
        "NCCL_SOCKET_IFNAME=$INTERFACE\nNCCL_ALGO='$literal'\nsource other\n"
    )
    found = collect(root=str(NODES / "p5.48xlarge"), env_file=str(job))
    assert found["environment"] == {
        "NCCL_DEBUG": "INFO",
        "LD_LIBRARY_PATH": "/opt/nope:$ORIGIN/x",
        "NCCL_ALGO": "$literal",
    } | {
        k: v
        for k, v in found["environment"].items()
        if found["evidence"][f"env:{k}"]["method"] == "nccl.conf"
    }
    assert found["facts"]["library_path_missing"] == ["/opt/nope"]
    notes = [note["text"] for note in found["notes"] if note["probe"] == "environment"]
    assert notes == [
        "lines of the environment file that set nothing, as they are no NAME=value: 3, 8",
        "nothing in the environment file is expanded: parts with a $ were left out of LD_LIBRARY_PATH, NCCL_SOCKET_IFNAME",
    ]
    entries = b"NCCL_PROTO=$LL\0NCCL_DEBUG=INFO\0"
    assert env_file.parse(entries) == ({"NCCL_PROTO": "$LL", "NCCL_DEBUG": "INFO"}, [])
