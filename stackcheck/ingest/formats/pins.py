"""The grammar of Python requirement lines, shared by the formats that list them (PEP 508, pip's requirements file format)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from stackcheck.ingest.patterns import Lazy

NAME = r"[A-Za-z0-9](?:[\w.-]{0,80}[A-Za-z0-9])?"
VERSION = r"\d[\w.!+-]{0,100}"
_LINE = Lazy(
    rf"(?P<name>{NAME})(?P<extras> {{0,4}}\[[\w,. -]{{0,120}}\])? {{0,60}}(?P<spec>(?:===?|[<>!~]=?|@)[^#]{{0,600}})?(?:#.*)?\Z"
)
_PIN = Lazy(rf"===? {{0,4}}v?({VERSION})\Z")
_WHEEL = Lazy(
    r"(?P<name>[A-Za-z0-9][\w.]{0,80})-(?P<version>\d[\w.!+]{0,100})(?:-\d[\w.]{0,20})?"
    r"-(?P<python>[a-z]{2}\d[\w.]{0,40})-(?P<abi>\w{1,40})-(?P<platform>[\w.]{1,120})\.whl"
)
_GLIBC = Lazy(r"manylinux_(\d{1,2})_(\d{1,3})_")


class Pin(NamedTuple):
    """One requirement: an exact version, or a range in `wanted`, or neither."""

    name: str
    version: str = ""
    wanted: str = ""
    attributes: Mapping[str, object] = MappingProxyType({})


def parse_pin(text: str) -> Pin | None:
    """Return the requirement of a line such as `torch==2.8.0 ; python_version > "3.9"`, or None if it is none."""
    bare = text.strip()
    if len(bare) > 1200:
        return None
    bare = bare.partition(" --hash")[0].rstrip("\\ ").rstrip(",")
    if bare.startswith(("-e ", "--editable")):
        return None
    body, semicolon, _ = bare.partition(";")
    if semicolon and "@" in body and not bare.partition(" ;")[1]:
        body = bare  # a URL may hold a semicolon; a marker after a URL needs a blank before it
    match = _LINE.match(body.strip())
    if match is None:
        return None
    spec = (match["spec"] or "").strip()
    if spec.startswith("@"):
        wheel = parse_wheel(spec)
        return wheel or Pin(match["name"])
    if not spec:
        return Pin(match["name"])
    pin = _PIN.match(spec)
    if pin and not pin[1].endswith(".*"):
        return Pin(match["name"], pin[1])
    return Pin(match["name"], wanted=spec)


def parse_wheel(text: str) -> Pin | None:
    """Return what the first wheel file name in `text` says: name, version, and its tags as attributes."""
    if ".whl" not in text:
        return None
    match = _WHEEL.search(text[:2000].replace("%2B", "+").replace("%2b", "+"))
    if match is None:
        return None
    attributes: dict[str, object] = {"wheel_python": f"{match['python']}-{match['abi']}"}
    if glibc := _GLIBC.search(match["platform"]):
        attributes["glibc"] = f"{glibc[1]}.{glibc[2]}"
    if match["platform"].endswith(("x86_64", "aarch64")):
        attributes["arch"] = ["x86_64" if match["platform"].endswith("x86_64") else "aarch64"]
    if match["abi"] == match["python"] and (minor := re.fullmatch(r"cp3(\d{1,2})", match["python"])):
        attributes["python"] = [
            f"3.{minor[1]}"
        ]  # an extension without the stable ABI runs on this Python only
    return Pin(match["name"], match["version"], attributes=attributes)
