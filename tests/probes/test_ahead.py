"""The second process saves time and decides nothing: whatever becomes of it, the results are the same.

Each case runs in a process of its own, as a process with several threads (such as that of the tests) starts no second one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from stackcheck_probes import ahead
from tests.nodes.objects import Spec, build

PROBES = Path(__file__).resolve().parents[2] / "probes"
SITE = "v/lib/python3.12/site-packages"
NAMES = "abcdefgh"


def outcome(text: str, *arguments: str) -> Any:
    """Return what a program, given two processors whatever the machine has, prints as JSON."""
    text = (
        "import json, os, sys, threading, time\nfrom stackcheck_probes import ahead\nahead._processors = lambda: 2\n"
        + text
    )
    output = subprocess.run(
        [sys.executable, "-c", text, *arguments],
        env={**os.environ, "PYTHONPATH": str(PROBES)},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return json.loads(output.stdout)


UNITS = f"def units():\n    for key in {NAMES!r}:\n        yield key, key.upper\n"
ASKED = f"""
start = time.monotonic()
other = ahead.start(units)
time.sleep(PAUSE)
found = {{key: other.result(key) if other.holds(key) else "own" for key in {NAMES!r}}}
took = time.monotonic() - start
other.end()
time.sleep(0.2)
print(json.dumps([found, took, os.path.exists(f"/proc/{{other._pid}}"), threading.active_count()]))
"""


def test_every_piece_is_done_by_one_or_the_other_and_the_process_is_gone_afterwards() -> None:
    found, _took, there, threads = outcome("PAUSE = 0\n" + UNITS + ASKED)
    assert {key: key.upper() if value != "own" else value for key, value in found.items()} == found
    assert not there
    assert threads == 1


def test_what_it_did_is_taken_over() -> None:
    found, *_rest = outcome("PAUSE = 1\n" + UNITS + ASKED)
    assert found == {key: key.upper() for key in NAMES}


@pytest.mark.parametrize(
    "fault",
    ["os.kill(os.getpid(), 9)", "os._exit(1)", "1 / 0", "threading.Event().wait(60)", "sys.exit()"],
)
def test_it_may_fail_or_hang_in_the_middle(fault: str) -> None:
    units = f"def fail():\n    {fault}\n" + UNITS.replace("key.upper", "fail if key == 'd' else key.upper")
    found, took, there, threads = outcome("PAUSE = 1\nahead.PATIENCE = 0.5\n" + units + ASKED)
    assert found == {key: key.upper() if key < "d" else "own" for key in NAMES}
    assert took < 5
    assert not there
    assert threads == 1


@pytest.mark.parametrize(
    "reason",
    [
        "threading.Thread(target=time.sleep, args=(0.5,)).start()",
        "import _thread; _thread.start_new_thread(time.sleep, (0.5,)); time.sleep(0.1)",
        "ahead._processors = lambda: 1",
        "def fork(): raise BlockingIOError(11, 'Resource temporarily unavailable')\nos.fork = fork",
        "def fork(): raise RuntimeError('fork not supported for isolated subinterpreters')\nos.fork = fork",
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))",
        "del os.fork",
    ],
)
def test_it_is_not_started_where_it_could_not_help(reason: str) -> None:
    assert outcome(f"{reason}\nprint(json.dumps(ahead.start(lambda: []) is None))") is True


def test_whoever_reads_our_output_does_not_wait_for_it() -> None:
    text = (
        "import os, time\nfrom stackcheck_probes import ahead\nahead._processors = lambda: 2\n"
        "ahead.start(lambda: [('a', lambda: time.sleep(30))])\nos._exit(0)"
    )
    subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, "PYTHONPATH": str(PROBES)},
        capture_output=True, check=True, timeout=10,
    )  # fmt: skip


def test_with_closed_standard_files_the_results_still_come() -> None:
    """The pipe then takes their numbers."""
    text = "saved = os.dup(1)\nos.closerange(0, 3)\nPAUSE = 1\n" + UNITS
    found, *_rest = outcome(
        text
        + ASKED.replace("print(", "os.write(saved, ").replace(
            "active_count()]))", "active_count()]).encode())"
        )
    )
    assert found == {key: key.upper() for key in NAMES}


def test_what_was_done_here_is_not_waited_for_when_it_is_asked_for_again() -> None:
    text = """
other = ahead.start(lambda: [("a", lambda: time.sleep(1)), ("b", lambda: 1)])
assert not other.holds("b")
time.sleep(0.2)
start = time.monotonic()
again = other.holds("b")
print(json.dumps([again, time.monotonic() - start]))
os._exit(0 if sys.stdout.flush() is None else 1)
"""
    again, took = outcome(text)
    assert again is False
    assert took < 0.5


def test_the_end_does_not_wait_for_whoever_waits() -> None:
    text = """
ahead.PATIENCE = 20
other = ahead.start(lambda: [("a", lambda: time.sleep(20))])
time.sleep(0.2)
threading.Thread(target=other.holds, args=("a",), daemon=True).start()
time.sleep(0.2)
start = time.monotonic()
other.end()
print(json.dumps(time.monotonic() - start))
"""
    assert outcome(text) < 2


@pytest.mark.parametrize("slow", [True, False])
def test_a_program_that_ignores_the_ends_of_its_children_hears_nothing(slow: bool) -> None:
    """``SIGCHLD`` stays ignored over ``exec``: whoever starts us may have done so, and nobody can be waited for then."""
    text = (
        "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        f"other = ahead.start(lambda: [('a', lambda: time.sleep({5 if slow else 0}))])\n"
        "time.sleep(0.3)\nkilled = []\nkill = os.kill\n"
        "os.kill = lambda *call: (killed.append(call), kill(*call))\n"
        "other.end()\ntime.sleep(0.3)\nassert not os.path.exists(f'/proc/{other._pid}')\nprint(json.dumps(len(killed)))"
    )
    assert outcome(text) <= slow, "a number that is no longer its own is not to be killed"


def test_nothing_of_the_program_that_calls_is_held_on_to() -> None:
    """Neither its files and locks, nor its handlers of signals."""
    text = """
import signal
signal.signal(signal.SIGTERM, lambda *_: os.write(kept, b"handled twice"))
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
source, kept = os.pipe()
other = ahead.start(lambda: [("a", lambda: time.sleep(20))])
time.sleep(0.3)
os.close(kept)
held = os.listdir(f"/proc/{other._pid}/fd")
os.kill(other._pid, signal.SIGUSR1)
os.kill(other._pid, signal.SIGTERM)
said = os.read(source, 100)
print(json.dumps([len(held), said.decode(), other.holds("a"), other._open]))
"""
    assert outcome(text) == [2, "", False, False], "its two pipes"


@pytest.mark.parametrize("stopped", [False, True])
def test_it_ends_with_the_program_that_was_killed(stopped: bool) -> None:
    """``timeout -s KILL`` and the like leave no time for anything; the work at hand may take long."""
    text = (
        "import os, time\nfrom stackcheck_probes import ahead\nahead._processors = lambda: 2\n"
        "other = ahead.start(lambda: [('a', lambda: time.sleep(30))])\ntime.sleep(0.3)\n"
        f"os.kill(other._pid, 19 if {stopped} else 0)\nprint(other._pid, flush=True)\nos.kill(os.getpid(), 9)"
    )
    output = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, "PYTHONPATH": str(PROBES)},
        capture_output=True, text=True, check=False, timeout=10,
    )  # fmt: skip
    state = Path(f"/proc/{int(output.stdout)}/stat")
    for _ in range(40):
        try:
            if state.read_text().rpartition(")")[2].split()[0] in "ZX":
                return  # whoever inherits it may take a while to hear of it
        except OSError:
            return
        time.sleep(0.05)
    pytest.fail("it is still there")


def test_more_than_a_thousand_open_files_are_no_hindrance() -> None:
    text = (
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (2000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))\n"
        "files = [os.dup(0) for _ in range(1100)]\nPAUSE = 1\n"
    )
    found, *_rest = outcome(text + UNITS + ASKED)
    assert found == {key: key.upper() for key in NAMES}


def environment(root: Path) -> None:
    """Lay out an environment with libraries that hold code, one that is damaged, and two wheels that own the same file."""
    (root / "v").mkdir()
    (root / "v/pyvenv.cfg").write_text("version = 3.12.3\n")
    for index in range(20):
        data = build(Spec(f"lib{index}.so", code=((f"sm_{80 + index % 10}", 3),), needed=("libtorch.so",)))
        path = f"pkg{index}/lib{index}.so"
        target = root / SITE / path
        target.parent.mkdir(parents=True)
        target.write_bytes(data if index % 7 else data[: len(data) // 2])
        folder = root / SITE / f"pkg{index}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Name: pkg{index}\nVersion: 1.0\n")
        (folder / "RECORD").write_text(f"{path},sha256={index},{len(data)}\nshared.so,sha256={index},1\n")


COUNTED = """
from stackcheck_probes.inventory import collect
count = [0]
start = ahead.start
def counted(units):
    other = start(units)
    count[0] += other is not None
    return other
ahead.start = counted
if sys.argv[2] == "alone":
    ahead._processors = lambda: 1
print(json.dumps([collect(root=sys.argv[1], environ={"VIRTUAL_ENV": "/v"}), count[0]]))
"""


def test_an_inventory_is_the_same_with_it_and_without(tmp_path: Path) -> None:
    environment(tmp_path)
    alone, none = outcome(COUNTED, str(tmp_path), "alone")
    helped, one = outcome(COUNTED, str(tmp_path), "helped")
    assert (none, one) == (0, 1)
    assert helped == alone
    assert len(alone["code"]) > 10
    assert alone["facts"]["files_owned_twice"]


@pytest.mark.parametrize("which", ["alone", "helped"])
def test_open_files_do_not_limit_how_many_libraries_are_read(tmp_path: Path, which: str) -> None:
    """A thousand is the usual limit of a process, and some environments hold more libraries; the rest was left out without a word."""
    environment(tmp_path)
    whole, _count = outcome(COUNTED, str(tmp_path), which)
    limited, _count = outcome(
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (14, 14))\n" + COUNTED,
        str(tmp_path),
        which,
    )
    assert len(whole["code"]) > 14
    assert limited == whole


@pytest.mark.parametrize("which", ["alone", "helped"])
def test_what_cannot_be_read_is_a_note_and_no_missing_file(tmp_path: Path, which: str) -> None:
    environment(tmp_path)
    text = """
from stackcheck_probes import files
from stackcheck_probes.interface import RefusedError
opened = files.open_regular
def refusing(path):
    if path.endswith(("lib1.so", "lib2.so")):
        raise RefusedError(path, "permission denied")
    return opened(path)
files.open_regular = refusing
"""
    on_this_machine = COUNTED.replace(
        'root=sys.argv[1], environ={"VIRTUAL_ENV": "/v"}',
        'only=("wheels", "code"), environ={"VIRTUAL_ENV": sys.argv[1] + "/v"}',
    )
    found, _count = outcome(text + on_this_machine, str(tmp_path), which)
    notes = [note["text"] for note in found["notes"] if note["probe"] == "code"]
    assert len(notes) == 1
    assert notes[0].endswith("lib1.so and 1 more: permission denied")
    assert not [line for line in found["facts"]["files_changed"] if "lib1.so" in line or "lib2.so" in line]


def test_two_keys_in_one_slot_cost_time_and_no_result() -> None:
    claims = ahead.Claims()
    slots: dict[int, str] = {}
    for index in range(100_000):
        key = f"contents:{index}"
        slot = crc32(key.encode()) % ahead.SLOTS
        if slot in slots:
            assert claims.claim(slots[slot])
            assert not claims.claim(key)
            return
        slots[slot] = key
    pytest.fail("no two keys share a slot")
