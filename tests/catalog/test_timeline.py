"""The lives of releases, and what stands around a component."""

from __future__ import annotations

from stackcheck.catalog import open_catalog
from stackcheck.catalog.surroundings import surroundings
from stackcheck.catalog.timeline import State, timeline
from stackcheck.model.release import Component, Release
from stackcheck.model.version import Version


def component(*releases: Release) -> Component:
    return Component(
        id="x",
        name="X",
        scope="host",
        layer="driver",
        scheme="dotted",
        attribute_types={},
        releases=releases,
        sources={},
    )


def release(version: str, date: str = "", **more: object) -> Release:
    return Release(Version(version), {}, date=date, **more)  # type: ignore[arg-type]


def test_the_newest_of_a_series_is_current_and_ends_the_one_before() -> None:
    spans = timeline(
        component(release("1.0", "2025-01-01"), release("1.0.1", "2025-03-01"), release("2.0", "2025-02-01")),
        "2026-01-01",
    )
    by_version = {s.version: s for s in spans}
    assert [s.version for s in spans] == ["2.0", "1.0.1", "1.0"]
    assert by_version["1.0.1"].state is State.CURRENT
    assert (by_version["1.0"].state, by_version["1.0"].end, by_version["1.0"].stated) == (
        State.SUPERSEDED,
        "2025-03-01",
        False,
    )
    assert by_version["2.0"].end == ""


def test_a_stated_end_counts_from_the_day_after() -> None:
    one = component(release("1.0", "2025-01-01", eol="2025-06-30"))
    assert timeline(one, "2025-06-30")[0].state is State.CURRENT
    assert timeline(one, "2025-07-01")[0].state is State.ENDED
    assert timeline(one, "2025-07-01")[0].stated


def test_a_yanked_or_early_release_is_told_and_supersedes_nothing() -> None:
    spans = timeline(
        component(release("1.0", "2025-01-01"), release("1.0.1", "2025-02-01", prerelease=True)), "2026-01-01"
    )
    assert [s.state for s in spans] == [State.PRERELEASE, State.CURRENT]
    assert timeline(component(release("1.0", yanked=True)), "2026-01-01")[0].state is State.YANKED


def test_the_neighbours_of_torch_ask_for_it_and_it_asks_for_nccl() -> None:
    catalog = open_catalog(None)
    torch = catalog.component("torch")
    assert torch is not None
    around = surroundings(catalog, torch, "2.9.1")
    assert around.release == "2.9.1"
    assert any(a.component == "nccl" and a.range.startswith("==") for a in around.requires)
    assert "vllm" in {r.component for r in around.required_by}
    assert "torch-no-code-for-gpu" in around.rules
    for name in {a.component for a in around.requires}:
        assert catalog.component(name) is not None


def test_what_a_release_brings_is_told_on_both_sides() -> None:
    catalog = open_catalog(None)
    installer = catalog.component("efa-installer")
    fabric = catalog.component("libfabric")
    assert installer is not None
    assert fabric is not None
    assert "libfabric" in dict(surroundings(catalog, installer).bundles)
    assert "efa-installer" in {b.component for b in surroundings(catalog, fabric).brought_by}
