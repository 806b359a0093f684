"""Both ways to a package index give the same metadata, asking politely and never running a build."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path

import pytest

from stackcheck.catalog import open_catalog
from stackcheck.harvest import upstreams
from stackcheck.harvest.cache import Cache
from stackcheck.harvest.client import Client, Limits
from stackcheck.harvest.door import DirectDoor, PipDoor, Read
from stackcheck.harvest.interface import Candidate, HarvestError
from stackcheck.harvest.packages import Remark, Wish, harvest, wanted
from stackcheck.harvest.requirement_rows import names_of
from stackcheck.harvest.simple_index import JSON_TYPE
from tests.harvest.upstream import Upstream, body, core, wheel

ROOT = Path(__file__).resolve().parents[2]


def published(
    upstream: Upstream, name: str, version: str, *requires: str, beside: bool = False, **row: object
) -> None:
    """Put a wheel on the index, with its METADATA beside it or not."""
    text = core(name, version, *requires)
    data = wheel(name, version, text, big=os.urandom(200_000))
    file = f"{name}-{version}-py3-none-any.whl"
    entry: dict[str, object] = {
        "filename": file,
        "url": f"{upstream.url}/files/{file}",
        "hashes": {"sha256": sha256(data).hexdigest()},
        "upload-time": "2026-11-01T00:00:00Z",
        **row,
    }
    upstream.routes[f"/files/{file}"] = body(data)
    if beside:
        entry["core-metadata"] = {"sha256": sha256(text.encode()).hexdigest()}
        upstream.routes[f"/files/{file}.metadata"] = body(text.encode())
    page = f"/simple/{name}/"
    held = PAGES.setdefault(upstream.url + page, [])
    held.append(entry)
    whole = {"meta": {"api-version": "1.1"}, "name": name, "files": held}
    upstream.routes[page] = body(json.dumps(whole).encode(), JSON_TYPE, etag=f'"{len(held)}"')


PAGES: dict[str, list[dict[str, object]]] = {}


def direct(upstream: Upstream, tmp_path: Path, **limits: int) -> tuple[Client, DirectDoor]:
    client = Client(limits=Limits(**limits), cache=Cache(tmp_path / "cache"), sleep=lambda _: None)
    return client, DirectDoor(client, f"{upstream.url}/simple")


def only(reads: list[Read]) -> Read:
    (read,) = reads
    return read


def test_metadata_beside_the_wheel_is_enough(upstream: Upstream, tmp_path: Path) -> None:
    published(upstream, "some", "1.0", "torch==2.14.0", beside=True)
    client, door = direct(upstream, tmp_path)
    with client:
        read = only(list(door.read([("some", "1.0")])))
    assert read.metadata is not None
    assert read.metadata.requires == ("torch==2.14.0",)
    assert upstream.paths() == ["/simple/some/", "/files/some-1.0-py3-none-any.whl.metadata"]


def test_without_it_parts_of_the_wheel_are_enough(upstream: Upstream, tmp_path: Path) -> None:
    published(upstream, "some", "1.0", "torch==2.14.0")
    client, door = direct(upstream, tmp_path)
    with client:
        read = only(list(door.read([("some", "1.0")])))
    assert read.metadata is not None
    assert read.metadata.requires == ("torch==2.14.0",)
    parts = [h["range"] for _, p, h in upstream.asked if "range" in h and p.endswith(".whl")]
    spans = [int(r.partition("-")[2]) - int(r[6:].partition("-")[0]) + 1 for r in parts]
    assert sum(spans) < 70_000


def test_a_second_run_asks_only_whether_the_page_changed(upstream: Upstream, tmp_path: Path) -> None:
    published(upstream, "some", "1.0", beside=True)
    for _ in range(2):
        client, door = direct(upstream, tmp_path)
        with client:
            only(list(door.read([("some", "1.0")])))
    assert upstream.paths() == ["/simple/some/", "/files/some-1.0-py3-none-any.whl.metadata", "/simple/some/"]
    assert "if-none-match" in upstream.asked[2][2]


@pytest.mark.parametrize("lie", [core("some", "9.9"), core("other", "1.0")])
def test_metadata_of_another_release_is_refused(upstream: Upstream, tmp_path: Path, lie: str) -> None:
    published(upstream, "some", "1.0", beside=True)
    PAGES[f"{upstream.url}/simple/some/"][0]["core-metadata"] = True
    whole = {"meta": {"api-version": "1.1"}, "name": "some", "files": PAGES[f"{upstream.url}/simple/some/"]}
    upstream.routes["/simple/some/"] = body(json.dumps(whole).encode(), JSON_TYPE)
    upstream.routes["/files/some-1.0-py3-none-any.whl.metadata"] = body(lie.encode())
    client, door = direct(upstream, tmp_path)
    with client:
        read = only(list(door.read([("some", "1.0")])))
    assert read.metadata is None
    assert "speaks of" in read.fault


def test_metadata_that_breaks_its_digest_is_refused(upstream: Upstream, tmp_path: Path) -> None:
    published(upstream, "some", "1.0", beside=True)
    upstream.routes["/files/some-1.0-py3-none-any.whl.metadata"] = body(core("some", "1.0", "evil").encode())
    client, door = direct(upstream, tmp_path)
    with client:
        assert "digest" in only(list(door.read([("some", "1.0")]))).fault


def test_a_source_distribution_is_never_built(upstream: Upstream, tmp_path: Path) -> None:
    row = {"filename": "some-1.0.tar.gz", "url": f"{upstream.url}/files/some-1.0.tar.gz", "hashes": {}}
    whole = {"meta": {"api-version": "1.1"}, "name": "some", "files": [row]}
    upstream.routes["/simple/some/"] = body(json.dumps(whole).encode(), JSON_TYPE)
    client, door = direct(upstream, tmp_path)
    with client:
        assert "no wheel" in only(list(door.read([("some", "1.0")]))).fault
    assert upstream.paths() == ["/simple/some/"]


def test_when_the_requests_are_used_up_the_rest_stays_for_the_next_run(
    upstream: Upstream, tmp_path: Path
) -> None:
    for n in range(6):
        published(upstream, "some", f"1.{n}", beside=True)
    pairs = [("some", f"1.{n}") for n in range(6)]
    read = 0
    for _ in range(4):
        client, door = direct(upstream, tmp_path, requests=3, at_once=1)
        with client:
            reads = list(door.read(pairs))
        read = sum(r.metadata is not None for r in reads)
        assert all(r.metadata or "used up" in r.fault for r in reads)
    assert read == 6


def test_pip_reads_the_same(upstream: Upstream, tmp_path: Path) -> None:
    published(upstream, "some", "1.0", "torch==2.14.0", 'vllm; extra == "x"', beside=True)
    published(upstream, "other_one", "2.0", "nvidia-nccl-cu13==2.30.7")
    published(upstream, "other_one", "2.1", "nvidia-nccl-cu13==2.30.9", beside=True)
    pairs = [("some", "1.0"), ("other-one", "2.0"), ("other-one", "2.1"), ("some", "9.0")]
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PIP_")} | {
        "PIP_CACHE_DIR": str(tmp_path / "pip"),
        "HOME": str(tmp_path),
    }
    # pip normalises names; the index has them so.
    upstream.routes["/simple/other-one/"] = upstream.routes["/simple/other_one/"]
    door = PipDoor(
        environ, index=f"{upstream.url}/simple", pythons=("3.12", "3.11"), cache=Cache(tmp_path / "cache")
    )
    through_pip = {(r.package, r.version): r for r in door.read(pairs)}
    client, straight = direct(upstream, tmp_path / "d")
    PAGES[f"{upstream.url}/simple/other_one/"][0]["filename"] = "other_one-2.0-py3-none-any.whl"
    with client:
        directly = {(r.package, r.version): r for r in straight.read(pairs)}
    for pair in pairs[:3]:
        assert through_pip[pair].metadata == directly[pair].metadata
        assert through_pip[pair].file == directly[pair].file
    assert through_pip[pairs[3]].metadata is None
    assert directly[pairs[3]].metadata is None
    asked = len(upstream.asked)
    assert {r.version for r in door.read(pairs[:3])} == {"1.0", "2.0", "2.1"}
    assert len(upstream.asked) == asked, "what pip read is kept"
    assert sorted(door.versions("other-one")) == ["2.0", "2.1"]


def test_a_pip_that_cannot_ask_is_one_line(tmp_path: Path) -> None:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PIP_RETRIES": "0",
        "PIP_CACHE_DIR": str(tmp_path),
    }
    door = PipDoor(environ, index="http://127.0.0.1:9/simple", pythons=("3.12",))
    with pytest.raises(HarvestError, match="pip, torch"):
        door.versions("torch")


def test_a_harvest_says_what_is_new_what_was_read_and_what_could_not_be(
    upstream: Upstream, tmp_path: Path
) -> None:
    catalog = open_catalog(environ={})
    names = names_of(catalog, upstreams.load(str(ROOT / "matrices" / "upstreams.json")))
    component = catalog.component("verl")
    assert component is not None
    newest = component.releases[-1].version.text
    published(upstream, "verl", newest, "torch==9.9.9", beside=True)
    published(upstream, "verl", "99.0.0", "torch==9.9.9", beside=True)
    published(upstream, "verl", "99.1.0rc1", beside=True)
    client, door = direct(upstream, tmp_path)
    with client:
        found = list(
            harvest([component], door, names, Wish(since="2099-01-01", newest=1, again=True), "2026-11-29")
        )
    facts = [f for f in found if isinstance(f, Candidate)]
    assert not [f for f in found if isinstance(f, Remark)]
    required = {f.release: f.value for f in facts if f.field == "requires"}
    assert set(required) == {newest, "99.0.0"}, "known newest and what is newer, no release candidates"
    (fact,) = [f for f in facts if f.field == "requires" and f.release == "99.0.0"]
    assert (fact.source, fact.date, fact.extractor) == (
        "pkg:pypi/verl@99.0.0",
        "2026-11-29",
        "core-metadata/1",
    )


def test_only_unread_releases_of_the_wanted_time_are_read() -> None:
    component = max(
        open_catalog(environ={}).components(), key=lambda c: sum(r.requires is None for r in c.releases)
    )
    unread = {r.version.text: r.date for r in component.releases if r.requires is None}
    since = sorted(unread.values())[len(unread) // 2]
    chosen = wanted(component, Wish(since=since))
    assert set(chosen) == {v for v, day in unread.items() if day >= since}
    assert wanted(component, Wish(since="2099-01-01")) == ()
