"""Errors of GPUs and NVLink switches in the kernel's messages: Xid and SXid, PCIe and machine-check faults."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from stackcheck_probes.interface import AbsentError, RefusedError
from stackcheck_probes.look import Look

_XID = r"NVRM: Xid \(PCI:([0-9a-fA-F:.]+)[^)]*\): (\d+),? ?(.*)"
_SXID = r"nvidia-nvswitch\S*: SXid \(PCI:([0-9a-fA-F:.]+)[^)]*\): (\d+),? ?(.*)"
_LIMITED = r"(\S{1,80}): [\d.]{1,12} Gb/s available PCIe bandwidth, limited by (.*)"
_NONFATAL = r"[\w/]+ +Nonfatal\b"  # NVLink 5 (Xid 144 to 150) names unit and gravity: "RLW_RXPIPE Nonfatal XC0 i0 Link 13 ..."
_OOM = r"[Oo]ut of memory: Killed process (?:\d+ )?(?:\(([^)\n]{1,40})\))?"  # one line per kill; "oom-kill:constraint=..." before it tells the same kill
_FELL = r"has fallen off the bus"
RELEVANT = r"NVRM|nvidia|SXid|PCIe bandwidth|ut of memory: Killed|oom-kill|[Ee]lastic Fabric Adapter|\befa\b|mlx5|EFA NV"
SHOWN = 5
ROOM = 380  # characters for the events of a kind together
LEAST = 40  # and for the message of each at least


class Event(NamedTuple):
    """One line about a GPU or a switch: its number, PCI address, message (without process names and ids) and time."""

    number: int
    device: str
    message: str
    time: str


def kernel_log(look: Look) -> None:
    """Report the distinct Xid and SXid numbers since boot, each with its last message, and PCIe links limited."""
    text, where = _messages(look)
    if text is None:
        return
    for name, pattern in (("xid", _XID), ("sxid", _SXID)):
        found: dict[int, list[Event]] = {}
        mild: dict[int, list[Event]] = {}
        for event in events(text, pattern):
            nonfatal = name == "xid" and re.match(_NONFATAL, event.message)
            (mild if nonfatal else found).setdefault(event.number, []).append(event)
        for fact, told in ((name, found), (f"{name}_nonfatal", mild)):
            if told or fact == name:
                look.fact(fact, sorted(told), where, "kernel-log", _told(told))
    limited = sorted({match[0] for match in re.finditer(_LIMITED, text)})
    look.fact("pcie_bandwidth_limited", limited[:SHOWN], where, "kernel-log")
    fell = list(re.finditer(_FELL, text))
    last = _anonymous(_line(text, fell[-1]))[:160] if fell else ""
    look.fact("gpu_fell_off_bus", bool(fell), where, "kernel-log", last)
    _kills(look, text, where)


def _kills(look: Look, text: str, where: str) -> None:
    """How often the kernel killed for memory, what, and when last."""
    kills = list(re.finditer(_OOM, text))
    last = _time(text, kills[-1]) if kills else ""
    look.fact("oom_kills", len(kills), where, "kernel-log", f"last {last}" if last else "")
    names = sorted({match[1] for match in kills if match[1]})
    if names:
        look.fact("oom_killed", names[:SHOWN], where, "kernel-log")


def events(text: str, pattern: str) -> Iterator[Event]:
    """Yield each event, oldest first."""
    for match in re.finditer(pattern, text):
        yield Event(int(match[2]), f"PCI:{match[1]}", _anonymous(match[3]), _time(text, match))


def _anonymous(text: str) -> str:
    return re.sub(r"\b(?:pid|name|Process ID|Process name)='?[^,]*'?,? ?", "", text)


def _told(found: dict[int, list[Event]]) -> str:
    """Return the last message of each number with its device, how often it came, when last, and on which other devices."""
    return " | ".join(_last(number, found[number], ROOM // len(found)) for number in sorted(found))


def _last(number: int, same: list[Event], room: int) -> str:
    last = same[-1]
    others = [device for device in dict.fromkeys(event.device for event in same) if device != last.device]
    head = f"{last.device}: {number}, "
    tail = [f"last {last.time}"] if last.time else []
    tail += [f"{len(same)} times"] if len(same) > 1 else []
    tail += [f"also {' '.join(others[:SHOWN])}" + (" ..." if len(others) > SHOWN else "")] if others else []
    end = f" ({', '.join(tail)})" if tail else ""
    return head + last.message[: max(LEAST, room - len(head) - len(end))].rstrip(" .") + end


def _line(text: str, match: re.Match[str]) -> str:
    end = text.find("\n", match.end())
    return text[text.rfind("\n", 0, match.start()) + 1 : end if end >= 0 else len(text)].strip()


def _time(text: str, match: re.Match[str]) -> str:
    """Return when a message came, as its line tells it in brackets: seconds after boot, or a date."""
    told = re.match(r"\[ *([^\]]{1,40}?) *\]", _line(text, match))
    return "" if not told else f"{told[1]} s after boot" if re.fullmatch(r"[\d.]+", told[1]) else told[1]


def _messages(look: Look) -> tuple[str | None, str]:
    try:
        return look.host.kernel_log(), "/dev/kmsg"
    except AbsentError:
        reason = "no kernel log here"
    except RefusedError as error:
        reason = f"{error.subject}: {error.reason}"
    output = look.run("journalctl", 3.0)
    if output is not None and output.rc == 0 and output.out.strip():
        return output.out, "journalctl -k -b"
    look.note(f"kernel messages could not be read, Xid errors are unknown ({reason})")
    return None, ""
