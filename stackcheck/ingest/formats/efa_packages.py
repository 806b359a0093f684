"""`/opt/amazon/efa_installed_packages`: the EFA installer's version and what it installed.

Package names come in the style of deb (`libfabric1-aws_2.4.0amzn1.0_amd64`) or rpm (`libfabric-aws-2.4.0amzn1.0-1.amzn2.x86_64`).
"""

from __future__ import annotations

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

_INSTALLER = Lazy(r"EFA installer version:? *v?(\d{1,5}(?:\.\d{1,5}){1,3})")
_DEB = Lazy(r"([a-z][\w.+-]{1,80}?)_(\d[\w.+~:-]{0,80})_(?:amd64|arm64|all|x86_64|aarch64)\Z")
_RPM = Lazy(
    r"([a-z][\w.+]{0,60}(?:-[A-Za-z][\w.+]{0,40}){0,8})-(\d[\w.+~]{0,60})-([\w.+~]{1,60})\.(?:x86_64|aarch64|noarch)\Z"
)


def sniff(text: str) -> float:
    """Look for the installer's version line."""
    return 1.0 if _INSTALLER.search(text) else 0.0


def read(draft: Draft) -> None:
    """Record the installer's version and its packages."""
    inside = False
    for line in draft.source.open():
        if match := _INSTALLER.search(line.text):
            draft.component("efa-installer", match[1], line)
            inside = True
        elif inside and line.text.lstrip().startswith("#") and "ackages" in line.text:
            draft.source.claim(line.number)
        elif inside or "efa_installed_packages" in draft.source.command:
            _packages(draft, line)


def _packages(draft: Draft, line: Line) -> None:
    for word in line.text.split()[:400]:
        parsed = package_file(word)
        if parsed:
            draft.package(parsed[0], parsed[1], line)


def package_file(word: str) -> tuple[str, str] | None:
    """Return name and upstream version of a deb or rpm file name or `rpm -qa` entry, or None.

    A Debian epoch and the distribution's revision (`-1ubuntu2`, `-3.amzn2`) are no part of the upstream version.
    """
    word = word.removesuffix(".rpm").removesuffix(".deb")
    if len(word) > 240:
        return None
    if match := _DEB.match(word):
        return match[1], upstream(match[2])
    if match := _RPM.match(word):
        return match[1], match[2]
    return None


def upstream(version: str) -> str:
    """Return a distribution package's version without epoch and revision: `1:580.95.05-0ubuntu1` is 580.95.05."""
    bare = version.partition(":")[2] or version
    head, dash, _ = bare.rpartition("-")
    return head if dash and head[:1].isdigit() else bare
