"""What docs/probe.md puts into the hands of Slurm, NHC and Prometheus does what it says, by the programs themselves where they are installed."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Call

ROOT = Path(__file__).parents[2]
NODES = ROOT / "tests/nodes"
HEALTHY, RED, YELLOW = (
    "p5.48xlarge",
    "p5.48xlarge+fabric-manager-mismatch",
    "p5.48xlarge+gdrdrv-missing",
)
UNKNOWN = "a machine on which no GPU is seen"
TOOLS = ("slurmctld", "slurmd", "scontrol", "munged")


def documented(path: str) -> str:
    """Return the script that the page shows for this path."""
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs/probe.md").read_text(), re.MULTILINE | re.DOTALL)
    return str(next(block for block in blocks if f"# {path}:" in block))


def program(folder: Path, node: str) -> Path:
    """Return a program that probes this node tree, whatever else it is asked."""
    path = folder / "probe"
    path.write_text(
        f'#!/bin/sh\ncd "{ROOT}"\nexec "{sys.executable}" -m stackcheck probe --root "{NODES}/{node}" "$@"\n'
    )
    path.chmod(0o755)
    return path


def script(folder: Path, path: str) -> Path:
    """Write a documented script as a file that can be run."""
    place = folder / Path(path).name
    place.write_text(documented(path))
    place.chmod(0o755)
    return place


@pytest.mark.parametrize("path", ["/etc/slurm/stackcheck-health.sh", "/etc/slurm/stackcheck-prolog.sh"])
def test_the_shell_can_read_it(path: str, tmp_path: Path) -> None:
    subprocess.run(["sh", "-n", str(script(tmp_path, path))], check=True)


@pytest.fixture
def scontrol(tmp_path: Path) -> Path:
    """A stand-in for scontrol that writes down what it is asked and shows a node with the reason in the file ``reason``."""
    folder = tmp_path / "bin"
    folder.mkdir()
    path = folder / "scontrol"
    path.write_text(
        f'#!/bin/sh\nprintf "%s|" "$@" >> "{tmp_path}/asked"\n[ "$1" != show ] || sed "s/^/   Reason=/" "{tmp_path}/reason"\n'
    )
    path.chmod(0o755)
    return folder


def prepared(place: Path, scontrol: Path) -> None:
    """Let a script find the stand-in before everything else."""
    place.write_text(place.read_text().replace("PATH=", f"PATH={scontrol}:", 1))


@pytest.mark.parametrize(
    ("node", "code", "asked"),
    [
        (HEALTHY, 0, ""),
        (YELLOW, 0, ""),
        (
            RED,
            1,
            "update|nodename=n7|state=drain|reason=stackcheck: ERROR 2: fabric-manager-differs-from-driver ",
        ),
    ],
)
def test_the_prolog_refuses_a_job_on_errors_alone(
    node: str, code: int, asked: str, scontrol: Path, tmp_path: Path
) -> None:
    place = script(tmp_path, "/etc/slurm/stackcheck-prolog.sh")
    prepared(place, scontrol)
    environ = {"STACKCHECK": str(program(tmp_path, node)), "SLURMD_NODENAME": "n7"}
    assert subprocess.run([str(place)], env=environ, check=False).returncode == code
    log = tmp_path / "asked"
    assert (log.read_text() if log.exists() else "").startswith(asked)
    assert log.exists() is bool(asked)


@pytest.mark.parametrize(
    ("node", "reason", "asked"),
    [
        (HEALTHY, "stackcheck: ERROR 1 [root@now]", "update|nodename=n7|state=resume|"),
        (HEALTHY, "", ""),
        (HEALTHY, "RMA-1234 GPU3 swap, do not resume [alice@now]", ""),
        (RED, "", "update|nodename=n7|state=drain|reason=stackcheck: ERROR 2: "),
        (
            RED,
            "stackcheck: WARNING 1: x [root@now]",
            "update|nodename=n7|state=drain|reason=stackcheck: ERROR 2: ",
        ),
        (RED, "RMA-1234 GPU3 swap, do not resume [alice@now]", ""),
        (UNKNOWN, "stackcheck: ERROR 1 [root@now]", ""),
    ],
)
def test_the_health_check_drains_and_gives_back_and_leaves_alone_what_others_drained(
    node: str, reason: str, asked: str, scontrol: Path, tmp_path: Path
) -> None:
    (tmp_path / "reason").write_text(f"{reason}\n" if reason else "")
    place = script(tmp_path, "/etc/slurm/stackcheck-health.sh")
    prepared(place, scontrol)
    if node is UNKNOWN:
        (tmp_path / "probe").write_text("#!/bin/sh\necho 'stackcheck: UNKNOWN: no NVIDIA GPU was seen'\n")
        (tmp_path / "probe").chmod(0o755)
    else:
        program(tmp_path, node)
    environ = {"STACKCHECK": str(tmp_path / "probe"), "SLURMD_NODENAME": "n7"}
    assert subprocess.run([str(place)], env=environ, check=False).returncode == 0
    told = (tmp_path / "asked").read_text().removeprefix("show|node|n7|")
    assert told.startswith(asked)
    assert bool(told) is bool(asked)


@pytest.mark.parametrize("path", ["/etc/slurm/stackcheck-health.sh", "/etc/slurm/stackcheck-prolog.sh"])
def test_a_probe_that_cannot_run_drains_nothing(path: str, scontrol: Path, tmp_path: Path) -> None:
    place = script(tmp_path, path)
    prepared(place, scontrol)
    environ = {"STACKCHECK": str(tmp_path / "none"), "SLURMD_NODENAME": "n7"}
    assert subprocess.run([str(place)], env=environ, check=False).returncode == 0
    assert not (tmp_path / "asked").exists()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def slurm(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """A cluster of one node, n7, with the documented scripts; returns a function that runs a client of it."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"needs root and Debian's slurm-wlm and munge ({', '.join(missing) or 'not root'})")
    probe = program(tmp_path, HEALTHY)
    for path in ("/etc/slurm/stackcheck-health.sh", "/etc/slurm/stackcheck-prolog.sh"):
        place = script(tmp_path, path)
        place.write_text(
            place.read_text().replace(
                "PATH=", f"STACKCHECK={probe}\nexport SLURM_CONF={tmp_path}/slurm.conf\nPATH=", 1
            )
        )
    (tmp_path / "state").mkdir()
    munge = tmp_path / "m"
    munge.mkdir()
    munge.chmod(0o755)
    key = munge / "key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    host = socket.gethostname().split(".")[0]
    (tmp_path / "slurm.conf").write_text(f"""ClusterName=t
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={munge}/sock
CryptoType=crypto/munge
StateSaveLocation={tmp_path}/state
SlurmdSpoolDir={tmp_path}/spool
SlurmctldPidFile={tmp_path}/ctld.pid
SlurmdPidFile={tmp_path}/slurmd.pid
SlurmctldLogFile={tmp_path}/ctld.log
SlurmdLogFile={tmp_path}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
HealthCheckProgram={tmp_path}/stackcheck-health.sh
HealthCheckInterval=2
HealthCheckNodeState=ANY
Prolog={tmp_path}/stackcheck-prolog.sh
NodeName=n7 NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs=1 RealMemory=500
PartitionName=gpu Nodes=n7 Default=YES MaxTime=INFINITE State=UP
""")
    environ = {**os.environ, "SLURM_CONF": str(tmp_path / "slurm.conf")}
    subprocess.run(
        ["munged", f"--key-file={key}", f"--socket={munge}/sock", f"--pid-file={munge}/pid", f"--log-file={munge}/log",
         f"--seed-file={munge}/seed", "--force"],
        check=True, capture_output=True,
    )  # fmt: skip
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environ}
    daemons = [
        subprocess.Popen(["slurmctld", "-D", "-f", environ["SLURM_CONF"]], **quiet),  # type: ignore[call-overload]
        subprocess.Popen(["slurmd", "-D", "-N", "n7", "-f", environ["SLURM_CONF"]], **quiet),  # type: ignore[call-overload]
    ]

    def client(*command: str) -> str:
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
        return done.stdout + done.stderr

    try:
        yield client
    finally:
        for daemon in daemons:
            daemon.terminate()
        for daemon in daemons:
            daemon.wait(20)
        os.kill(int((munge / "pid").read_text()), 15)


def until(client: Callable[..., str], wanted: str, seconds: float = 60.0) -> str:
    """Return what the node is, as soon as it is what is wanted."""
    end = time.monotonic() + seconds
    shown = ""
    while time.monotonic() < end:
        shown = client("sinfo", "-h", "-N", "-o", "%N %T %E")
        if wanted in shown:
            return shown
        time.sleep(0.5)
    pytest.fail(f"{wanted!r} never came: {shown}")


@pytest.mark.slow
def test_a_real_slurm_drains_a_node_and_takes_it_back(slurm: Callable[..., str], tmp_path: Path) -> None:
    until(slurm, "n7 idle")
    assert "it ran" in slurm("srun", "-I30", "-N1", "echo", "it ran"), (
        "the prolog lets jobs pass on a healthy node"
    )
    program(tmp_path, RED)
    assert "stackcheck: ERROR 2: fabric-manager-differs-from-driver" in until(slurm, "drained")
    program(tmp_path, HEALTHY)
    until(slurm, "n7 idle")


def test_nhc_gets_the_worst_finding_as_its_reason(tmp_path: Path) -> None:
    checked = tmp_path / "check.sh"
    checked.write_text(
        'function die() { printf "%s" "$2"; exit "$1"; }\n'
        + documented("/etc/nhc/scripts/stackcheck.nhc")
        + 'check_stackcheck "$@"\n'
    )
    for node, arguments, code, said in (
        (HEALTHY, (), 0, ""),
        (YELLOW, (), 0, ""),
        (
            YELLOW,
            ("--fail-on", "warning"),
            1,
            "check_stackcheck:  stackcheck: WARNING 1: gdrcopy-without-device",
        ),
        (RED, (), 1, "check_stackcheck:  stackcheck: ERROR 2: fabric-manager-differs-from-driver"),
    ):
        environ = {"STACKCHECK": str(program(tmp_path, node)), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            ["bash", str(checked), *arguments], env=environ, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (code, "")
        assert done.stdout.startswith(said)
        assert bool(done.stdout) is bool(said)


@pytest.mark.parametrize("node", sorted(p.name for p in NODES.iterdir() if (p / "expected.json").is_file()))
def test_promtool_accepts_the_metrics_of_every_node(call: Call, node: str) -> None:
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (Debian package prometheus)")
    outcome = call("probe", "--root", str(NODES / node), "--format", "prometheus", "--fail-on", "never")
    assert outcome.code == 0
    judged = subprocess.run(
        ["promtool", "check", "metrics"], input=outcome.out, capture_output=True, text=True, check=False
    )
    assert (judged.returncode, judged.stdout, judged.stderr) == (0, "", "")


@pytest.mark.parametrize("node", sorted(p.name for p in NODES.iterdir() if (p / "expected.json").is_file()))
def test_one_line_that_no_shell_and_no_reason_trips_over(call: Call, node: str) -> None:
    out = call("probe", "--root", str(NODES / node), "--format", "oneline", "--fail-on", "never").out
    assert out.count("\n") == 1
    assert len(out) <= 241
    assert out.startswith("stackcheck: ")
    assert out[:-1].isascii()
    assert out[:-1].isprintable()
    assert not set(out) & set("\"'`$\\")
