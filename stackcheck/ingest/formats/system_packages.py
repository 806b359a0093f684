"""Packages of the operating system: `dpkg -l`, `rpm -qa`, `apt list --installed`, and environment modules (`module list`)."""

from __future__ import annotations

import re

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.deployments import kernels_of
from stackcheck.ingest.formats.efa_packages import package_file, upstream
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

_DPKG = Lazy(
    r"\s{0,4}[iuhr][icnHFUWt][R ]?\s{1,4}(?P<name>[a-z0-9][\w.+-]{1,80})(?::\w{1,10})?\s{1,80}(?P<version>\d[\w.+~:-]{0,100})(?:\s{1,60}\S.{0,300})?\Z"
)
_APT = Lazy(
    r"(?P<name>[a-z0-9][a-z0-9.+-]{1,80})/[\w,.-]{1,80} (?P<version>\d[\w.+~:-]{0,100}) (?:amd64|arm64|all)\b"
)
_RPM_COLUMNS = Lazy(
    r"(?P<name>[A-Za-z0-9][\w.+-]{1,80})\.(?:x86_64|aarch64|noarch)\s{1,60}(?P<version>\d[\w.+~:-]{0,100})\s{1,60}@?\S{1,60}\s{0,20}\Z"
)
_MODULE = Lazy(r"(?<![\w/])\d{1,3}\) ?(?P<name>[A-Za-z][\w-]{1,40})/(?P<version>\d[\w.+-]{0,60})")


def sniff(text: str) -> float:
    """Look for a package line."""
    return (
        0.4
        if re.search(r"(?m)^\s{0,4}ii  |\.x86_64|\.aarch64|\.noarch|\[installed|\d\) ?[a-z]\w{0,40}/\d", text)
        else 0.0
    )


def read(draft: Draft) -> None:
    """Record the packages that belong to known components; a package removed but configured (`rc`) is none."""
    for line in draft.source.open():
        text = line.text
        bare = text.strip()
        if match := _DPKG.match(text):
            if not bare.startswith("rc"):
                _package(draft, match["name"], match["version"], line)
            draft.source.claim(line.number)
        elif match := _APT.match(bare) or _RPM_COLUMNS.match(bare):
            _package(draft, match["name"], match["version"], line)
        elif " " not in bare and (parsed := package_file(bare)):
            draft.package(parsed[0], parsed[1], line)
        elif ") " in text or ")" in text:
            for module in _MODULE.finditer(text):
                version = re.sub(
                    r"[_-](?:cuda|cu|gcc|gnu|intel)\S*$|-\d+(?:\+\S*)?$|\+cuda\S*$", "", module["version"]
                )
                component = draft.context.component(module["name"])
                if component:
                    draft.component(
                        component, version, line, attributes={"module": module[0].partition(")")[2].strip()}
                    )


def _package(draft: Draft, name: str, version: str, line: Line) -> None:
    """Record a package, and the kernel that the name of a package of modules ends with."""
    draft.package(name, upstream(version), line)
    if built := re.fullmatch(r"(.{2,80}?)-(\d{1,2}\.\d{1,3}\.\d{1,4}-\d[\w.+-]{0,60})", name):
        stem = re.split(r"-\d", built[1], maxsplit=1)[0]
        component = draft.context.component(f"modules/{stem}")
        if component:
            draft.add(kernels_of(component), built[2], line)
