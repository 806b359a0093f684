"""Exit codes, streams and messages of the real command: one line on stderr, nothing half-written, never a traceback."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stackcheck.cli.verdict import FORMATS
from tests.cli.conftest import ROOT, Call, Outcome, clean_environment

FREEZE = "torch==2.4.1\nnvidia-nccl-cu12==2.20.5\n"


def refused(outcome: Outcome, *words: str) -> None:
    """It ended as wrong usage: one line that says what is wrong and, after a semicolon, what to do; nothing on stdout."""
    assert outcome.code == 2, outcome
    assert not outcome.out
    assert ";" in outcome.message, outcome.message
    assert all(c.isprintable() for c in outcome.message)
    for word in words:
        assert word in outcome.message, outcome.message


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("COMMAND", "--help")),
        (("reslove",), ("no command", "did you mean resolve?")),
        (("resolve",), ("--gpu", "b200")),
        (("resolve", "--gpu", "b20"), ("unknown GPU", "b200")),
        (("resolve", "--instance", "p5.48xlarg"), ("unknown instance type", "p5.48xlarge")),
        (("resolve", "--gpu", "b200", "--with", "pytroch==2"), ("unknown component",)),
        (("resolve", "--gpu", "b200", "--with", "torch=>2"), ("torch=>2",)),
        (("resolve", "--gpu", "b200", "--with", "torch==x.y"), ("torch==x.y",)),
        (("resolve", "--gpu", "b200", "--image", "no/such:image"), ("unknown image",)),
        (("resolve", "--gpu", "b200", "--images", "all"), ("--images", "dlc")),
        (("resolve", "--gpu", "b200", "--export", "tarball"), ("tarball", "dockerfile")),
        (("resolve", "--gpu", "b200", "--lock", "missing.json"), ("missing.json",)),
        (("why", "troch", "--gpu", "b200"), ("unknown component", "torch")),
        (("why", "torch"), ("--gpu",)),
        (("explain", "driver-below-cuda-family-flor"), ("driver-below-cuda-family-floor",)),
        (("show", "gpu", "h10"), ("unknown GPU", "h100")),
        (("show", "instance", "p5en.48"), ("unknown instance type", "p5en.48xlarge")),
        (("show", "component", "ncl"), ("unknown component", "nccl")),
        (("show", "image", "pytorh:1.2"), ("unknown image", "pytorch")),
        (("show", "image", "--holds", "vllm>=x"), ("vllm>=x",)),
        (("show", "flavour"), ("flavour",)),
        (("diff", "nothing-there", "also-not"), ("nothing-there", "neither a file nor a known image")),
        (("diff", "-", "-"), ("standard input",)),
        (("graph", "--gpu", "b200", "--component", "slurm"), ("slurm", "not in this stack")),
        (("check", "missing.txt"), ("missing.txt",)),
        (("check", "."), ("directory",)),
        (("check", "/dev/zero"), ("device",)),
        (("check", sys.executable), ("binary",)),
        (("probe", "--root", "missing"), ("missing",)),
        (("probe", "--only", "nonsense"), ("nonsense", "kernel")),
        (("probe", "--pid", "0"), ("process",)),
        (("probe", "--pid", "4194303"), ("process",)),
        (("probe", "--timeout", "-1"), ("seconds",)),
        (("probe", "--root", "/tmp", "--pid", "1"), ("--root", "--pid")),
        (("matrices", "lint", "--matrices", "missing"), ("missing",)),
        (("completion", "fish"), ("fish", "bash")),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, tuple) else "",
)
def test_wrong_usage_is_one_line_and_exit_2(
    call: Call, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    refused(call(*arguments), *words)


def test_exit_codes_of_a_process(spawn: Call) -> None:
    assert spawn("resolve", "--gpu", "b200").code == 0
    assert spawn("resolve", "--gpu", "b200", "--with", "torch==2.4.1").code == 1
    refused(spawn("resolve", "--gpu", "b20"), "b200")
    assert spawn("check", "-", "--gpu", "b200", stdin=FREEZE).code == 1
    assert spawn("check", "-", "--gpu", "b200", "--fail-on", "never", stdin=FREEZE).code == 0


def test_a_fault_of_our_own_is_3_and_one_line(tmp_path: Path) -> None:
    code = "import sys, stackcheck.cli.show as s\ns.run = lambda o: 1 / 0\nfrom stackcheck.cli import main\nsys.exit(main(['show', 'gpu']))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=clean_environment(),
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr.startswith("stackcheck: internal fault at ")
    assert len(done.stderr.splitlines()) == 1


# streams


def test_json_is_one_document_on_stdout_and_nothing_else(spawn: Call) -> None:
    for arguments in (
        ("resolve", "--gpu", "b200"),
        ("show", "gpu"),
        ("explain", "unknown-release"),
        ("why", "nccl", "--gpu", "h100"),
    ):
        outcome = spawn(*arguments, "--format", "json")
        assert isinstance(json.loads(outcome.out), dict)
        assert outcome.err == ""


def test_colour_goes_to_terminals_alone(spawn: Call) -> None:
    assert "\x1b[" not in spawn("show", "gpu", "b200").out
    assert "\x1b[" in spawn("show", "gpu", "b200", FORCE_COLOR="1").out
    assert "\x1b[" not in spawn("show", "gpu", "b200", FORCE_COLOR="1", NO_COLOR="1").out
    assert "\x1b[" not in spawn("show", "gpu", "b200", FORCE_COLOR="1", TERM="dumb").out


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("resolve", "--gpu", "b200", "-v"),
        ("show", "gpu", "b200"),
        ("why", "torch", "--gpu", "b200"),
        ("show", "image"),
    ],
    ids=lambda a: a[0],
)
def test_a_terminal_of_another_encoding_is_no_fault(
    spawn: Call, encoding: str, arguments: tuple[str, ...]
) -> None:
    outcome = spawn(*arguments, PYTHONIOENCODING=encoding)
    assert outcome.code == 0, outcome.err
    assert outcome.out.isascii()


def shell(command: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    environment = {**clean_environment(), "STACKCHECK": f"{sys.executable} -m stackcheck"}
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "command",
    [
        "show component torch --all",
        "show image",
        "show image --format json",
        "graph",
        "completion bash",
        "--help",
    ],
)
def test_a_reader_that_has_had_enough_is_no_fault(command: str, tmp_path: Path) -> None:
    done = shell(f"$STACKCHECK {command} | head -1", tmp_path)
    assert done.returncode == 0
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1


def test_a_reader_that_never_came_is_no_fault(tmp_path: Path) -> None:
    done = shell("$STACKCHECK show image | true", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("command", ["show image", "show gpu", "--help", "resolve --help"])
def test_a_full_disk_is_told(command: str, tmp_path: Path) -> None:
    done = shell(f"$STACKCHECK {command} > /dev/full", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("stackcheck: standard output cannot be written")
    assert len(done.stderr.splitlines()) == 1


def test_closed_streams_are_told(tmp_path: Path) -> None:
    done = shell("$STACKCHECK show gpu >&-", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("stackcheck: standard output is closed")
    done = shell("$STACKCHECK check - <&-", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("stackcheck: standard input is closed")
    assert shell("$STACKCHECK show gpu nonsense 2>&-", tmp_path).returncode == 2


def test_an_interrupt_is_130_without_a_traceback(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "stackcheck", "check", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(),
        cwd=tmp_path,
    )
    assert process.stdin is not None
    process.stdin.write(FREEZE.encode())
    process.stdin.flush()
    waits_for_input(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert out == b""


def waits_for_input(pid: int) -> None:
    """Return when a process sleeps in a read from a pipe, or after a while."""
    end = time.monotonic() + 15
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if "pipe" in Path(f"/proc/{pid}/wchan").read_text():
                return
        time.sleep(0.05)
        if time.monotonic() > end - 13:  # wchan is not told everywhere: two seconds are enough to start
            return


# input


def test_nothing_on_standard_input_is_told(spawn: Call) -> None:
    refused(spawn("check", "-"), "nothing in it", "standard input")
    refused(spawn("check", "-", stdin=" \n\n\t\n"), "nothing in it")


def test_an_empty_file_is_told(call: Call, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    refused(call("check", str(tmp_path / "empty.txt")), "nothing in it", "empty.txt")


def test_a_fifo_is_refused_at_once(call: Call, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    pipe = str(tmp_path / "pipe")
    for arguments in (
        ("check", pipe),
        ("resolve", "--gpu", "b200", "--lock", pipe),
        ("diff", pipe, "-"),
        ("resolve", "--host", pipe),
    ):
        refused(call(*arguments), "FIFO")


def test_a_binary_file_is_refused(call: Call, tmp_path: Path) -> None:
    (tmp_path / "core").write_bytes(bytes(range(256)) * 200)
    refused(call("check", str(tmp_path / "core")), "binary")


def test_terminal_escapes_of_arguments_and_files_are_not_echoed(call: Call, tmp_path: Path) -> None:
    nasty = "\x1b[31mred\x1b]0;title\x07\n\u202e"
    for arguments in (
        (nasty,),
        ("show", "gpu", nasty),
        ("check", nasty),
        ("resolve", "--gpu", "b200", "--with", nasty),
        ("resolve", nasty),
    ):
        outcome = call(*arguments)
        assert outcome.code == 2
        assert "\x1b" not in outcome.err
        assert "\u202e" not in outcome.err
        assert len(outcome.err.splitlines()) == 1


def test_an_acceptance_needs_a_reason(call: Call, tmp_path: Path) -> None:
    freeze = tmp_path / "freeze.txt"
    freeze.write_text(FREEZE)
    found = call("check", str(freeze), "--gpu", "b200", "--format", "json").json["findings"]
    name = found[0]["id"]
    refused(call("check", str(freeze), "--gpu", "b200", "--accept", name), "reason")
    refused(call("check", str(freeze), "--gpu", "b200", "--accept", f"{name}:  "), "reason")
    accepted = [f"--accept={f['id']}:known" for f in found]
    assert call("check", str(freeze), "--gpu", "b200", *accepted).code == 0


def test_a_dated_acceptance_ends(call: Call, tmp_path: Path) -> None:
    freeze = tmp_path / "freeze.txt"
    freeze.write_text(FREEZE)
    names = [
        f["id"] for f in call("check", str(freeze), "--gpu", "b200", "--format", "json").json["findings"]
    ]
    (tmp_path / "accepted").write_text(
        "# ours\n" + "".join(f"{n}:2999-12-31:replaced next year\n" for n in names)
    )
    assert call("check", str(freeze), "--gpu", "b200", "--accept-file", str(tmp_path / "accepted")).code == 0
    (tmp_path / "accepted").write_text("".join(f"{n}:2020-01-01:replaced long ago\n" for n in names))
    ended = call("check", str(freeze), "--gpu", "b200", "--accept-file", str(tmp_path / "accepted"))
    assert ended.code == 1
    assert all(f"--accept {n}: ended on 2020-01-01, so the finding counts again" in ended.err for n in names)


def test_a_day_counts_on_the_command_line_as_in_the_file(call: Call, tmp_path: Path) -> None:
    freeze = tmp_path / "freeze.txt"
    freeze.write_text(FREEZE)
    arguments = ("check", str(freeze), "--gpu", "b200", "--format", "json", "--accept")
    name = call(*arguments[:-1]).json["findings"][0]["id"]
    held = call(*arguments, f"{name}:2999-12-31:replaced next year")
    assert name not in {f["id"] for f in held.json["findings"]}
    assert not held.err
    ended = call(*arguments, f"{name}:2020-01-01:replaced long ago")
    assert name in {f["id"] for f in ended.json["findings"]}
    assert "ended on 2020-01-01" in ended.message


@pytest.mark.parametrize(
    "day", ["20261201", "2026-13-01", "2026-02-30", "2026-1-2", "2026/12/01", "01.12.2026", "2026-12"]
)
def test_what_looks_like_a_day_and_is_none_mutes_nothing(call: Call, tmp_path: Path, day: str) -> None:
    freeze = tmp_path / "freeze.txt"
    freeze.write_text(FREEZE)
    (tmp_path / "accepted").write_text(f"some-id:{day}:known\n")
    for arguments in (("--accept", f"some-id:{day}:known"), ("--accept-file", str(tmp_path / "accepted"))):
        refused(call("check", str(freeze), *arguments), "some-id", day, "is no date", "YYYY-MM-DD")
    refused(call("check", str(freeze), "--accept", f"some-id:{day}"), day)


def test_the_number_of_a_ticket_is_a_reason(call: Call, tmp_path: Path) -> None:
    freeze = tmp_path / "freeze.txt"
    freeze.write_text(FREEZE)
    found = call("check", str(freeze), "--gpu", "b200", "--format", "json").json["findings"]
    accepted = [f"--accept={f['id']}:4711" for f in found]
    assert call("check", str(freeze), "--gpu", "b200", *accepted).code == 0


def test_one_line_counts_what_is_accepted(call: Call, tmp_path: Path) -> None:
    freeze = tmp_path / "freeze.txt"
    freeze.write_text(FREEZE)
    found = call("check", str(freeze), "--gpu", "b200", "--format", "json").json["findings"]
    accepted = [f"--accept={f['id']}:known" for f in found]
    quiet = call("check", str(freeze), "--gpu", "b200", "--format", "oneline", *accepted)
    assert quiet.out.startswith(f"stackcheck: OK ({len(found)} accepted")
    assert len(quiet.out.splitlines()) == 1


# several files are one node


def _inventory(path: Path, **told: object) -> str:
    path.write_text(json.dumps({"schema": "stackcheck.inventory/1", **told}))
    return str(path)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"subject": "node-1"}, {"subject": "node-2"}),
        ({"gpu": {"model": "NVIDIA H100 80GB HBM3"}}, {"gpu": {"model": "gb200"}}),
        ({"instance": "p5.48xlarge"}, {"instance": "p6-b200.48xlarge"}),
        ({"arch": "x86_64"}, {"arch": "aarch64"}),
    ],
    ids=["host", "gpu", "instance", "arch"],
)
def test_inventories_of_two_nodes_are_refused_in_any_order(
    call: Call, tmp_path: Path, one: dict[str, object], other: dict[str, object]
) -> None:
    a, b = _inventory(tmp_path / "a.json", **one), _inventory(tmp_path / "b.json", **other)
    for first, second in ((a, b), (b, a)):
        refused(call("check", first, second), "two nodes", first, second, "one by one")
    both = tmp_path / "both.json"
    both.write_text(Path(a).read_text() + "\n" + Path(b).read_text())
    refused(call("check", str(both)), "two nodes")


def test_the_report_of_another_node_is_refused_too(call: Call, tmp_path: Path) -> None:
    names = ("p5.48xlarge", "p6e-gb200.36xlarge")
    for name in names:
        tree = str(ROOT / "tests/nodes" / name)
        call("probe", "--root", tree, "--format", "json", "-o", str(tmp_path / f"{name}.json"))
    files = [str(tmp_path / f"{name}.json") for name in names]
    refused(call("check", *files), "two nodes", "NVIDIA GB200")


def test_inventories_of_one_node_are_one(call: Call, tmp_path: Path) -> None:
    host = {"subject": "node-1.cluster.local", "gpu": {"model": "NVIDIA H100 80GB HBM3"}}
    same = {"subject": "node-1", "gpu": {"model": "h100"}, "instance": "p5.48xlarge"}
    inside = {"subject": "4f2a", "facts": {"container": "docker"}, "components": {"nccl": "2.27.5"}}
    files = [_inventory(tmp_path / f"{i}.json", **told) for i, told in enumerate((host, same, inside, {}))]
    assert call("check", *files).code == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '{"schema": "stackcheck.report/1", "subject": "x", "findings": [], "summary": {}}',
            "without an inventory",
        ),
        ('{"schema": "stackcheck.report/1", "inventory": "oops", "findings": []}', "without an inventory"),
        ('{\n  "schema": "stackcheck.report/1",\n  "subject": "x",\n  "inv', "broken JSON"),
    ],
    ids=["none", "text", "cut"],
)
def test_a_report_that_holds_no_inventory_is_refused(
    call: Call, tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    refused(call("check", str(path)), words)


def test_a_report_is_read_as_its_inventory(call: Call, tmp_path: Path) -> None:
    tree = str(ROOT / "tests/nodes/p5.48xlarge+gdrdrv-missing")
    report = tmp_path / "report.json"
    call("probe", "--root", tree, "--format", "json", "-o", str(report))
    made = json.loads(report.read_text())
    again = call("check", str(report), "--format", "json").json
    assert [f["id"] for f in again["findings"]] == [f["id"] for f in made["findings"]] != []
    assert again["subject"] == made["subject"]
    assert call("check", tree, "--format", "json").json["findings"] == made["findings"]


# locks and output


def test_a_lock_brings_its_target_along(call: Call, tmp_path: Path) -> None:
    for target in (("--gpu", "gh200"), ("--instance", "p5en.48xlarge")):
        path = str(tmp_path / "lock.json")
        first = call("resolve", *target, "-o", path, "--format", "json").json
        assert call("resolve", "--lock", path, "--format", "json").json["target"] == first["target"]
    other = call("resolve", "--lock", path, "--gpu", "b200", "--format", "json").json["target"]
    assert (other["gpu"], other["instance"]) == ("b200", None)


def test_an_overlay_leaves_its_name_and_not_its_path(call: Call, tmp_path: Path) -> None:
    overlay, path = tmp_path / "ours", tmp_path / "lock.json"
    overlay.mkdir()
    flags = ("--matrices", str(overlay))
    shown = call("resolve", "--gpu", "b200", *flags, "-o", str(path))
    assert " + overlay ours" in shown.out
    locked = path.read_text(encoding="utf-8")
    assert json.loads(locked)["matrices"].endswith(" + overlay ours")
    assert str(tmp_path) not in locked
    assert call("resolve", "--gpu", "b200", "--lock", str(path)).code == 0
    assert "overlay ours" in call("why", "nccl", "--gpu", "b200", *flags).out
    assert call("matrices", "status", *flags).out.splitlines()[0].endswith("overlay ours")
    status = call("matrices", "status", *flags, "--format", "json").json
    assert (status["overlay"], "+" in status["version"]) == ("ours", False)
    assert "overlay" not in call("resolve", "--gpu", "b200").out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ("JSON",)),
        ("{", ("1:2", "JSON")),
        ("[]", ("not a lock",)),
        ('{"schema": "stackcheck.stack/1"}', ("broken lock",)),
        ('{"schema": "stackcheck.stack/1", "target": {"gpu": "b200"}, "components": []}', ("broken lock",)),
        ('{"schema": "stackcheck.stack/9", "target": {"gpu": "b200"}, "components": {}}', ("not a lock",)),
        ("[" * 60_000, ("nested too deeply",)),
        ('{"schema": ' + "9" * 6000 + "}", ("JSON",)),
        ("\x00\x01\x02", ("JSON",)),
    ],
    ids=["empty", "cut", "list", "bare", "shape", "schema", "deep", "number", "binary"],
)
@pytest.mark.parametrize(
    "command",
    [("resolve", "--gpu", "b200", "--lock"), ("why", "torch", "--lock"), ("graph", "--lock")],
    ids=lambda c: c[0],
)
def test_a_lock_that_is_none_is_told(
    call: Call, tmp_path: Path, command: tuple[str, ...], content: str, words: tuple[str, ...]
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content)
    refused(call(*command, str(path)), "bad.json", *words)


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("target", "instance", 7),
        ("target", "gpu_count", "many"),
        ("request", "policy", {}),
        ("request", "instance", [1]),
        ("request", "image", 7),
    ],
)
def test_a_lock_with_a_part_of_another_type_is_told(
    call: Call, tmp_path: Path, part: str, key: str, value: object
) -> None:
    path = tmp_path / "lock.json"
    assert call("resolve", "--gpu", "b200", "-o", str(path)).code == 0
    body = json.loads(path.read_text())
    body[part][key] = value
    path.write_text(json.dumps(body))
    for command in (("check", str(path)), ("why", "torch", "--lock", str(path))):
        refused(call(*command), "lock.json", f"/{part}/{key}")


@pytest.mark.parametrize("kept", [0.01, 0.3, 0.6, 0.99])
def test_a_document_of_ours_that_is_cut_off_is_told(call: Call, tmp_path: Path, kept: float) -> None:
    lock = tmp_path / "whole.json"
    assert call("resolve", "--gpu", "b200", "-o", str(lock)).code == 0
    inventory = json.dumps(
        {
            "schema": "stackcheck.inventory/1",
            "gpu": "b200",
            "components": {"torch": "2.4.1"},
            "facts": {"a": 1},
        },
        indent=2,
    )
    for whole in (lock.read_text(), inventory, inventory.replace("\n", "")):
        path = tmp_path / "half.json"
        path.write_text(whole[: max(45, int(len(whole) * kept))])
        refused(call("check", str(path)), "half.json", "broken")


@pytest.mark.parametrize("notes", ["7", "true", '"none"'])
def test_notes_of_another_type_are_told(call: Call, tmp_path: Path, notes: str) -> None:
    path = tmp_path / "node.json"
    path.write_text(f'{{"schema": "stackcheck.inventory/1", "gpu": "b200", "notes": {notes}}}')
    refused(call("check", str(path)), "node.json", "/notes")


@pytest.mark.parametrize("form", FORMATS)
def test_what_json_cannot_hold_ends_in_every_format(call: Call, tmp_path: Path, form: str) -> None:
    path = tmp_path / "node.json"
    path.write_text(
        '{"schema": "stackcheck.inventory/1", "subject": "\\ud800", "gpu": "b200", '
        '"components": {"torch": "2.4.1"}, "facts": {"a": 1e999, "b": NaN}}'
    )
    result = call("check", str(path), "--format", form)
    assert result.code == 0, result.err
    if form in ("json", "sarif", "ctrf"):
        json.loads(result.out, parse_constant=pytest.fail)


def test_a_place_that_cannot_be_written_is_told(call: Call, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    for path in (tmp_path / "file" / "lock.json", tmp_path / "missing" / "lock.json"):
        refused(call("resolve", "--gpu", "b200", "-o", str(path)), "cannot be written", path.name)
        refused(call("resolve", "--gpu", "b200", "--export", f"dockerfile={path}"), "cannot be written")
    refused(call("resolve", "--gpu", "b200", "-o", str(tmp_path)), "cannot be written")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file"]
    assert (tmp_path / "file").read_text() == "kept"


def test_what_is_no_plain_file_is_written_into_and_stays(call: Call, tmp_path: Path) -> None:
    freeze, link, pipe = tmp_path / "freeze.txt", tmp_path / "link", tmp_path / "pipe"
    freeze.write_text(FREEZE)
    link.symlink_to("target")
    os.mkfifo(pipe)
    assert call("check", str(freeze), "-o", str(link)).code == 0
    assert link.is_symlink()
    assert (tmp_path / "target").read_text().startswith(str(freeze))
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert call("check", str(freeze), "-o", str(pipe)).code == 0
        assert os.read(reader, 1 << 16) == (tmp_path / "target").read_bytes()
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    refused(call("check", str(freeze), "-o", "/dev/full"), "/dev/full", "cannot be written")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_directory_is_told(call: Call, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    refused(call("resolve", "--gpu", "b200", "-o", str(tmp_path / "lock.json")), "cannot be written")
    assert not list(tmp_path.iterdir())


def test_a_conflict_writes_nothing(call: Call, tmp_path: Path) -> None:
    arguments = ("resolve", "--gpu", "b200", "--with", "torch==2.4.1", "-o", str(tmp_path / "lock.json"))
    assert call(*arguments, "--export", f"dockerfile={tmp_path / 'Dockerfile'}").code == 1
    assert not list(tmp_path.iterdir())


def test_an_old_file_stays_whole_when_the_new_one_fails(call: Call, tmp_path: Path) -> None:
    target = tmp_path / "lock.json"
    target.write_text("old")
    refused(call("resolve", "--gpu", "nonsense", "-o", str(target)))
    assert target.read_text() == "old"
    assert call("resolve", "--gpu", "b200", "-o", str(target)).code == 0
    assert json.loads(target.read_text())["status"] == "solved"
    assert [p.name for p in tmp_path.iterdir()] == ["lock.json"]


# overlays


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("gpus/mine.json", '{"id": "mine"', ("mine.json:1:",)),
        ("gpus/mine.json", '{"id": "mine"}', ("mine.json#/",)),
        ("components/mine.json", '{"id": 7}', ("components/mine.json#/",)),
        ("rules/mine.json", '{"sources": {}, "rules": [{"id": "Mine!"}]}', ("rules/mine.json#/rules/0",)),
        ("policy.json", "[]", ("policy.json#/",)),
    ],
    ids=["syntax", "gpu", "component", "rule", "policy"],
)
def test_a_broken_overlay_names_file_and_pointer(
    call: Call,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: str,
    words: tuple[str, ...],
) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    refused(call("show", "gpu", "--matrices", str(tmp_path)), *words)
    monkeypatch.setenv("STACKCHECK_MATRICES", str(tmp_path))
    refused(call("resolve", "--gpu", "b200"), *words)
