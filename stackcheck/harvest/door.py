"""Two ways to a package index: `DirectDoor` over our own client, `PipDoor` through the pip that is installed.

Directly, only the pages and the METADATA are read, with PEP 658 or byte ranges. Through pip, whatever lets pip in (keyrings, single sign-on
proxies, vendored certificates) lets us in, and the index sees its ordinary client.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from packaging.utils import canonicalize_name
from packaging.version import Version

from stackcheck.harvest import core_metadata, pip_report, simple_index, wheel_tail
from stackcheck.harvest.cache import Cache, Kept
from stackcheck.harvest.client import Client
from stackcheck.harvest.core_metadata import Metadata
from stackcheck.harvest.interface import BudgetError, HarvestError

_PIP_SECONDS = 300
_BATCH = 12
_OLDEST_GLIBC, _NEWEST_GLIBC = 5, 45  # minors of glibc 2.x, as in the tags of PEP 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The metadata of one release, or why it could not be read."""

    package: str
    version: str
    metadata: Metadata | None
    file: str = ""
    yanked: bool = False
    extractor: str = ""
    fault: str = ""


class Door(Protocol):
    """A way to ask a package index."""

    def versions(self, package: str) -> tuple[str, ...]:
        """Return the versions that can be installed, in no order."""
        ...

    def listing(self, package: str) -> simple_index.Listing | None:
        """Return the files of a package, or None if this door cannot see them."""
        ...

    def read(self, wanted: Sequence[tuple[str, str]]) -> Iterator[Read]:
        """Yield the metadata of (package, version) pairs, in any order."""
        ...


class DirectDoor:
    """Asks the index itself."""

    def __init__(self, client: Client, index: str) -> None:
        """Ask the index at the address `index`."""
        self._client, self._index = client, index
        self._listings: dict[str, simple_index.Listing] = {}

    def listing(self, package: str) -> simple_index.Listing:
        """Return the files of a package.

        Raises:
            HarvestError: the index cannot be asked, or has no such package.
        """
        name = str(canonicalize_name(package))
        if name not in self._listings:
            url = f"{self._index}/{name}/"
            answer = self._client.get(url, accept=simple_index.ACCEPT)
            self._listings[name] = simple_index.parse(
                answer.body, answer.content_type, project=name, url=answer.url
            )
        return self._listings[name]

    def versions(self, package: str) -> tuple[str, ...]:
        """Return the versions that have a file that is not yanked."""
        return tuple(dict.fromkeys(f.version for f in self.listing(package).files if not f.yanked))

    def read(self, wanted: Sequence[tuple[str, str]]) -> Iterator[Read]:
        """Yield the metadata of each release; a budget that runs out ends it."""
        with ThreadPoolExecutor(self._client.limits.at_once) as pool:
            yield from pool.map(lambda pair: self._one(*pair), wanted)

    def _one(self, package: str, version: str) -> Read:
        try:
            file = best_wheel(self.listing(package).of(str(Version(version))))
            data = self._metadata(file)
            metadata = core_metadata.parse(data, where=file.name)
            if not core_metadata.same_release(metadata, package, version):
                raise HarvestError(f"speaks of {metadata.name} {metadata.version}", where=file.name)
        except BudgetError:
            return Read(package=package, version=version, metadata=None, fault="the requests are used up")
        except HarvestError as fault:
            return Read(package=package, version=version, metadata=None, fault=str(fault))
        return Read(
            package=package,
            version=version,
            metadata=metadata,
            file=file.name,
            yanked=file.yanked,
            extractor=core_metadata.EXTRACTOR,
        )

    def _metadata(self, file: simple_index.File) -> bytes:
        if file.metadata:
            body = self._client.get(f"{file.url}.metadata", most=4_000_000, lasting=True).body
            if file.metadata_sha256 and _sha256(body) != file.metadata_sha256:
                raise HarvestError("metadata does not match the digest of the index", where=file.name)
            return body
        size = file.size if file.size is not None else self._client.length(file.url)
        return wheel_tail.metadata_of(file.name, size, lambda at, n: self._client.part(file.url, at, n))


def best_wheel(files: Iterable[simple_index.File]) -> simple_index.File:
    """Return the wheel whose metadata speaks for a release: pure Python, else Linux x86_64, else any Linux.

    Raises:
        HarvestError: there is none; running a source distribution to learn its requirements is out of the question.
    """

    def rank(file: simple_index.File) -> int:
        platforms = [p for _, _, p in file.tags]
        if "any" in platforms:
            return 0
        if any("linux" in p and p.endswith("x86_64") for p in platforms):
            return 1
        return 2 if any("linux" in p for p in platforms) else 9

    wheels = sorted((f for f in files if f.wheel and rank(f) < 9), key=lambda f: (rank(f), f.name))
    if not wheels:
        raise HarvestError("has no wheel for Linux", fix="its requirements stay unknown")
    return wheels[0]


class PipDoor:
    """Asks the index through `python -m pip`, whose configuration is taken as it is, except for constraints."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        index: str = "",
        pythons: Sequence[str] = (),
        cache: Cache | None = None,
    ) -> None:
        """Use the pip of this interpreter; `pythons` are the minors to try, the likeliest first.

        Constraints and folders of wheels are for installing and would hide releases: they are replaced by nothing. A given `index`
        replaces pip's files of configuration altogether.
        """
        self._environ = dict(environ) | {"PIP_CONSTRAINT": os.devnull, "PIP_FIND_LINKS": os.devnull}
        self._environ |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
        if index:
            self._environ |= {"PIP_INDEX_URL": index, "PIP_CONFIG_FILE": os.devnull}
        self._pythons = tuple(pythons)
        self._cache = cache

    def listing(self, package: str) -> None:
        """Say that pip does not show files."""

    def versions(self, package: str) -> tuple[str, ...]:
        """Return what `pip index versions` lists.

        Raises:
            HarvestError: pip knows no such package, or cannot ask.
        """
        done = self._pip("index", "versions", "--json", "--pre", package)
        try:
            body = json.loads(done.stdout)
            found = [str(v) for v in body["versions"]]
        except (ValueError, KeyError, TypeError) as fault:
            raise HarvestError(_last(done.stderr) or "said nothing", where=f"pip, {package}") from fault
        return tuple(found)

    def read(self, wanted: Sequence[tuple[str, str]]) -> Iterator[Read]:
        """Yield the metadata of each release; what was read before comes from the cache, several others are asked for at once."""
        left = []
        for pair in dict.fromkeys(wanted):
            kept = self._cache.get(_key(pair)) if self._cache else None
            if kept is not None:
                yield _read(pip_report.parse(kept.body)[0], pair)
            else:
                left.append(pair)
        for batch in _batches(left):
            yield from self._batch(batch)

    def _batch(self, batch: list[tuple[str, str]]) -> Iterator[Read]:
        alone = []
        while batch:
            found, complaint = self._report(batch, self._pythons[0])
            if found is not None:
                yield from found
                break
            refused = [p for p in batch if f"{p[0]}=={p[1]}" in complaint] or batch
            alone += refused
            batch = [p for p in batch if p not in refused]
        for pair in alone:
            yield self._alone(pair)

    def _alone(self, pair: tuple[str, str]) -> Read:
        for python in self._pythons:
            found, complaint = self._report([pair], python)
            if found:
                return found[0]
            if "(from versions: none)" in complaint and "different python version" not in complaint:
                break
        return Read(
            package=pair[0], version=pair[1], metadata=None, fault="pip finds no wheel of it for Linux x86_64"
        )

    def _report(self, batch: Sequence[tuple[str, str]], python: str) -> tuple[list[Read] | None, str]:
        with tempfile.TemporaryDirectory(prefix="stackcheck-") as folder:
            path = Path(folder) / "report.json"
            flags = ["--dry-run", "--no-deps", "--ignore-installed", "--quiet", "--only-binary", ":all:"]
            flags += ["--use-feature", "fast-deps", "--report", str(path), "--target", f"{folder}/none"]
            flags += ["--implementation", "cp", "--python-version", python]
            for minor in range(_NEWEST_GLIBC, _OLDEST_GLIBC - 1, -1):
                flags += ["--platform", f"manylinux_2_{minor}_x86_64"]
            flags += ["--platform", "manylinux2014_x86_64", "--platform", "linux_x86_64"]
            done = self._pip("install", *flags, *(f"{p}=={v}" for p, v in batch))
            if done.returncode != 0 or not path.is_file():
                return None, done.stderr[-20_000:]
            data = path.read_bytes()
        rows = pip_report.parse(data)
        found = []
        for pair in batch:
            at = next((i for i, r in enumerate(rows) if core_metadata.same_release(r[0], *pair)), None)
            if at is None:
                return None, f"{pair[0]}=={pair[1]}"
            if self._cache:
                self._cache.put(_key(pair), Kept(body=pip_report.only(data, at)))
            found.append(_read(rows[at], pair))
        return found, ""

    def _pip(self, *words: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [sys.executable, "-m", "pip", *words],
                env=self._environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_PIP_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as fault:
            raise HarvestError(f"cannot be run: {type(fault).__name__}", where="pip") from fault


def _key(pair: tuple[str, str]) -> str:
    return f"pip {pair[0]}=={pair[1]}"


def _read(row: tuple[Metadata, str, bool], pair: tuple[str, str]) -> Read:
    return Read(
        package=pair[0],
        version=pair[1],
        metadata=row[0],
        file=row[1],
        yanked=row[2],
        extractor=pip_report.EXTRACTOR,
    )


def _batches(wanted: Sequence[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """Yield groups in which no package occurs twice: pip takes one version of each."""
    left = list(dict.fromkeys(wanted))
    while left:
        batch: dict[str, tuple[str, str]] = {}
        for pair in left:
            if pair[0] not in batch and len(batch) < _BATCH:
                batch[pair[0]] = pair
        yield list(batch.values())
        taken = set(batch.values())
        left = [pair for pair in left if pair not in taken]


def _sha256(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("ERROR: ")[:200] if lines else ""
