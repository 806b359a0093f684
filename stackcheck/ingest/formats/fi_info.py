"""libfabric's `fi_info`: providers and their devices, the version, or the error that there are none."""

from __future__ import annotations

import re

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

_PROVIDER = Lazy(r"\s{0,8}provider: (?P<name>[\w;^-]{1,80})")
_DOMAIN = Lazy(r"\s{1,12}domain: (?P<name>[\w.:-]{1,80})")
_VERSION = Lazy(
    r"(?P<what>fi_info|libfabric|libfabric api|\S{0,120}/fi_info): {0,4}(?P<version>\d{1,3}\.\d{1,3}[\w.+-]{0,40})"
)
_ERROR = Lazy(r"fi_getinfo: ?(-?\d{1,5})")


def sniff(text: str) -> float:
    """Look for a provider entry, the version line or the error of the tool."""
    if "fi_getinfo:" in text or ("provider: " in text and "fabric: " in text):
        return 1.0
    return 0.8 if "libfabric: " in text or "fi_info: " in text else 0.0


def read(draft: Draft) -> None:
    """Record providers, EFA devices and libfabric's version."""
    provider = ""
    domains: dict[str, set[str]] = {}
    last: Line | None = None
    for line in draft.source.open():
        text = line.text
        if match := _PROVIDER.match(text):
            provider = match["name"].split(";")[0]
            draft.add("fi_providers", provider, line)
            last = line
        elif provider and (match := _DOMAIN.match(text)):
            domains.setdefault(provider, set()).add(_device(match["name"]))
            draft.source.claim(line.number)
        elif provider and re.match(r"\s{1,12}(?:fabric|version|type|protocol|src_addr|dest_addr): ", text):
            draft.source.claim(line.number)
        elif match := _VERSION.match(text.strip()):
            if match["what"] == "libfabric api":
                draft.source.claim(line.number)
            else:
                draft.component("libfabric", match["version"], line)
        elif match := _ERROR.search(text):
            draft.fact("fi_getinfo_error", int(match[1]), line)
            asked = re.search(r"-p\s+(\w+)", draft.source.command)
            if asked and int(match[1]) == -61:  # FI_ENODATA: no such provider or device
                draft.fact("efa_devices" if asked[1] == "efa" else f"{asked[1][:20]}_devices", 0, line)
    if last and domains.get("efa"):
        draft.fact("efa_devices", len(domains["efa"]), last)
        draft.first_fact("nic_count", len(domains["efa"]), last)


def _device(domain: str) -> str:
    """Return the device of a domain: `rdmap16s27-rdm` and `rdmap16s27-dgrm` are one NIC."""
    return re.sub(r"-(?:rdm|dgrm|dgram|direct)$", "", domain)
