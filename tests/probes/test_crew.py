"""One thread does the work of many probes, others go on where it waits, and nobody waits behind one that hangs."""

from __future__ import annotations

import threading
import time

import pytest

from stackcheck_probes import mounts
from stackcheck_probes.crew import PATIENCE, Crew
from stackcheck_probes.interface import Probe
from stackcheck_probes.look import Look


def nothing(_look: Look) -> None:
    raise AssertionError("the crew runs what it is told to run")


def probe(name: str, timeout: float = 5.0) -> Probe:
    return Probe(name, "", nothing, timeout)


class Work:
    """What happened: which probes ran, with which limit, in how many threads, and what was noted."""

    def __init__(self, hanging: frozenset[str] = frozenset()) -> None:
        self.hanging = hanging
        self.ran: dict[str, float] = {}
        self.threads: set[int] = set()
        self.notes: dict[str, str] = {}
        self.go = threading.Event()

    def run(self, one: Probe, limit: float) -> None:
        self.ran[one.name] = limit
        self.threads.add(threading.get_ident())
        if one.name in self.hanging:
            self.go.wait(30)

    def note(self, name: str, text: str) -> None:
        assert name not in self.notes, "once"
        self.notes[name] = text


def done(probes: list[Probe], timeout: float, work: Work) -> float:
    start = time.monotonic()
    Crew(probes, timeout, work.run, work.note).work()
    return time.monotonic() - start


def test_all_run_in_one_thread_while_nothing_waits() -> None:
    work = Work()
    probes = [probe(f"p{i}") for i in range(200)]
    done(probes, 10.0, work)
    assert set(work.ran) == {one.name for one in probes}
    assert len(work.threads) <= 2, "a second one only if this machine stood still meanwhile"
    assert work.notes == {}


def test_no_probes_is_no_work() -> None:
    assert done([], 10.0, Work()) < 1.0


def test_those_behind_hanging_ones_run_all_the_same() -> None:
    hanging = [probe(f"h{i}", 2.0) for i in range(12)]
    quick = [probe(f"q{i}") for i in range(20)]
    work = Work(frozenset(one.name for one in hanging))
    took = done([*hanging, *quick], 20.0, work)
    work.go.set()
    assert set(work.ran) == {one.name for one in (*hanging, *quick)}
    assert set(work.notes) == {one.name for one in hanging}
    assert all("stopped after 2 s" in text for text in work.notes.values())
    assert took < 2.0 + 12 * PATIENCE + 2.0, "they hang side by side, not one after the other"


def test_the_time_of_all_is_the_time_of_each() -> None:
    work = Work(frozenset({"h"}))
    took = done([probe("h", 30.0)], 0.3, work)
    work.go.set()
    assert took < 1.5
    assert work.ran["h"] <= 0.3
    assert work.notes == {"h": "stopped after 0.3 s; what it had seen by then is kept"}


def test_what_never_started_is_told() -> None:
    hanging = [probe(f"h{i}", 30.0) for i in range(100)]
    work = Work(frozenset(one.name for one in hanging))
    took = done(hanging, 0.3, work)
    work.go.set()
    assert took < 1.5
    assert set(work.notes) == {one.name for one in hanging}
    assert {text for name, text in work.notes.items() if name not in work.ran} == {
        "not started: all together may take 0.3 s"
    }


def test_one_that_ends_late_takes_nothing_from_the_others() -> None:
    work = Work(frozenset({"late"}))
    probes = [probe("late", 0.2), *(probe(f"q{i}") for i in range(50))]
    timer = threading.Timer(0.4, work.go.set)
    timer.start()
    done(probes, 10.0, work)
    timer.join()
    assert set(work.ran) == {one.name for one in probes}
    assert set(work.notes) == {"late"}


def test_without_a_thread_to_be_had_the_work_is_done_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the limit of processes, which a node that is to be drained may well have reached."""

    def refuse(_self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    work = Work()
    done([probe("a"), probe("b")], 10.0, work)
    assert [*work.ran] == ["a", "b"]
    assert work.notes == {}
    assert not mounts.answers("/"), "who cannot be left behind is not sent"
    assert mounts.Guard([mounts.Mount("s:/a", "/", "nfs", "rw")]).silent() == ["/"]
