"""Name of a Linux distribution as `/etc/os-release` has it (`ID`, `VERSION_ID`), from the names programs print."""

from __future__ import annotations

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.interface import Line

# Display name (first words, lower case) -> ID, where the two differ in more than case. Source: os-release(5) of each distribution.
_IDS = (("red hat", "rhel"), ("rocky", "rocky"), ("alma", "almalinux"), ("amazon", "amzn"), ("centos", "centos"), ("oracle", "ol"),
        ("suse", "sles"), ("opensuse", "opensuse-leap"), ("debian", "debian"), ("ubuntu", "ubuntu"))  # fmt: skip
_ONE_NUMBER = ("debian", "amzn")


def distribution(draft: Draft, name: str, version: str, line: Line) -> None:
    """Record the component `os` as `ID-VERSION_ID`, such as ubuntu-22.04."""
    lowered = name.strip().lower()
    identifier = next((i for prefix, i in _IDS if lowered.startswith(prefix)), "-".join(lowered.split()))
    numbers = version.strip(".").split(".")
    kept = ".".join(numbers[:1] if identifier in _ONE_NUMBER else numbers[:2])
    draft.component("os", f"{identifier}-{kept}", line, attributes={"id": identifier, "version_id": kept})
