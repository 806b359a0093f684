"""`ibstat` and `ibv_devinfo`: ports of InfiniBand and RoCE devices, which are down, how fast they are, and their MTU.

A port that is down or slow counts only on an InfiniBand link: Ethernet ports of a node are often management ports, or not in use.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

_DEVICE = Lazy(r"\s{0,8}(?:CA '(?P<ca>[\w-]{1,40})'|hca_id:\s{1,40}(?P<hca>[\w-]{1,40}))\s*\Z")
_PORT = Lazy(r"\s{1,40}[Pp]ort:?\s{1,40}\d{1,2}:?\s*\Z")
_FIELD = Lazy(
    r"\s{1,40}(?P<key>[Ss]tate|Physical state|phys_state|Rate|Link layer|link_layer|active_mtu|max_mtu|[a-zA-Z_ ]{2,30}):\s{0,60}(?P<value>\S.{0,60})\Z"
)
_NUMBER = Lazy(r"\d{1,5}")
_FABRIC = 4
"""As many ports of one kind make a fabric of their own; fewer are management or storage."""


@dataclass
class _Port:
    line: Line
    active: bool | None = None
    layer: str = ""
    rate: int | None = None
    mtu: int | None = None
    mtu_max: int | None = None


def sniff(text: str) -> float:
    """Look for the heading of a device and the state of a port."""
    if "hca_id:" in text and "PORT_" in text:
        return 0.9
    return 0.9 if "CA '" in text and "Link layer:" in text else 0.0


def read(draft: Draft) -> None:
    """Record devices, and what their ports have in common."""
    ports: list[_Port] = []
    inside = False
    for line in draft.source.open():
        text = line.text
        if match := _DEVICE.match(text):
            inside = True
            draft.add("hcas", match["ca"] or match["hca"], line)
        elif inside and _PORT.match(text):
            ports.append(_Port(line))
            draft.source.claim(line.number)
        elif inside and (match := _FIELD.match(text)):
            draft.source.claim(line.number)
            if ports:
                _take(ports[-1], match["key"].lower(), match["value"].strip())
        elif text.strip():
            inside = False
    _tell(draft, ports)


def _take(port: _Port, key: str, value: str) -> None:
    number = _NUMBER.match(value)
    if key == "state":
        port.active = value.removeprefix("PORT_").lower().startswith("active")
    elif key == "physical state" and value.lower().startswith("disabled"):
        port.active = None  # nobody wants this port up: no cable, or switched off
    elif key in ("link layer", "link_layer"):
        port.layer = value.lower()
    elif key == "rate" and number:
        port.rate = int(number[0])
    elif key == "active_mtu" and number:
        port.mtu = int(number[0])
    elif key == "max_mtu" and number:
        port.mtu_max = int(number[0])


def _tell(draft: Draft, ports: list[_Port]) -> None:
    infiniband = [p for p in ports if p.layer == "infiniband" and p.active is not None]
    if infiniband:
        down = [p for p in infiniband if not p.active]
        draft.fact("ib_devices", len(infiniband), infiniband[0].line)
        draft.fact("ib_ports_down", len(down), (down or infiniband)[0].line)
    rates = [(p.rate, p.line) for p in infiniband if p.active and p.rate]
    if rates:
        usual, number = Counter(rate for rate, _ in rates).most_common(1)[0]
        draft.fact("ib_rate_gbps", *min(rates, key=lambda r: r[0]))
        if number >= _FABRIC:
            slow = [line for rate, line in rates if rate * 2 < usual]
            draft.fact("ib_ports_slow", len(slow), (slow or [rates[0][1]])[0])
    ethernet = [p for p in ports if p.layer == "ethernet" and p.active and p.mtu]
    if len(ethernet) >= _FABRIC and not any(p.active for p in infiniband):
        widest = max(ethernet, key=lambda p: p.mtu or 0)
        draft.fact("roce_mtu", widest.mtu, widest.line)
        draft.fact("roce_mtu_max", widest.mtu_max, widest.line)
