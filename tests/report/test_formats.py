"""What holds for every report format, whatever it writes."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stackcheck.report
from stackcheck.model.errors import UsageError
from stackcheck.model.finding import Finding, FindingEvidence, Kind, Remedy, Report, Severity
from stackcheck.model.inventory import Inventory, Note, Observation
from stackcheck.report.interface import Format, Options
from stackcheck.report.registry import FORMATS, renderer
from tests.samples import clean_report, hard_report

OPTIONS = Options(tool_version="0.1.0", data_version="2026.11.29", time_ms=1_764_374_400_000)
each = pytest.mark.parametrize("target", FORMATS, ids=lambda f: f.name)

texts = st.text(max_size=40)


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """Reports of arbitrary texts, lone surrogates and control characters included."""

    def finding() -> Finding:
        return Finding(
            id=draw(texts),
            kind=draw(st.sampled_from(Kind)),
            severity=draw(st.sampled_from(Severity)),
            subjects=tuple(draw(st.lists(texts, max_size=2))),
            title=draw(texts),
            evidence=tuple(
                FindingEvidence(*e) for e in draw(st.lists(st.tuples(texts, texts, texts, texts), max_size=2))
            ),
            why=draw(texts),
            remedy=(Remedy(draw(texts), {draw(texts): draw(texts)}, False, draw(texts)),),
            sources=tuple(draw(st.lists(texts, max_size=2))),
        )

    return Report(
        subject=draw(texts),
        inventory=Inventory(
            components={draw(texts): (Observation(version=draw(texts)),)},
            notes=(Note(draw(texts), draw(texts)),),
        ),
        findings=tuple(finding() for _ in range(draw(st.integers(0, 2)))),
        accepted=(finding()._replace(accepted=draw(texts)),),
    )


def clean(text: str) -> None:
    text.encode("utf-8")
    assert text.endswith("\n")
    odd = {c for c in text if not c.isprintable() and c != "\n"}
    assert not odd, odd


@each
def test_golden(target: Format, golden: Callable[[str, str], None]) -> None:
    golden(f"report{target.suffix}", target.render(hard_report(), OPTIONS))


@each
def test_a_healthy_node_is_short(target: Format) -> None:
    text = target.render(clean_report(), OPTIONS)
    clean(text)
    assert "SC-" not in text


@each
@pytest.mark.parametrize("verbose", [False, True])
def test_no_observed_control_character_gets_out(target: Format, verbose: bool) -> None:
    clean(target.render(hard_report(), OPTIONS._replace(verbose=verbose)))


@each
@settings(deadline=None, max_examples=50)
@given(report=reports())
def test_any_text_is_written_safely(target: Format, report: Report) -> None:
    clean(target.render(report, Options(verbose=True, ascii_only=True, width=10)))


@each
def test_every_finding_is_named(target: Format) -> None:
    text = target.render(hard_report(), OPTIONS)
    assert all(f.id in text for f in hard_report().findings[: 2 if target.name == "oneline" else 3])


def test_suffixes_and_names_are_unique() -> None:
    assert len({f.name for f in FORMATS}) == len({f.suffix for f in FORMATS}) == len(FORMATS)


def test_every_module_that_renders_a_report_is_registered() -> None:
    found = set()
    for known in pkgutil.iter_modules(stackcheck.report.__path__, "stackcheck.report."):
        render = getattr(importlib.import_module(known.name), "render", None)
        if render is not None and list(inspect.signature(render).parameters) == ["report", "options"]:
            found.add(known.name)
    assert found == {f.module for f in FORMATS}


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="markdown"):
        renderer("markdwon")


@each
def test_people_see_only_sources_they_can_follow(target: Format) -> None:
    finding = (
        hard_report()
        .findings[0]
        ._replace(
            sources=(
                "dcgm-notes",
                "urn:code-index:12345",
                "https://example.com/cuda",
                "pkg:pypi/torch@2.9.0",
            ),
        )
    )
    shown = target.render(hard_report()._replace(findings=(finding,)), OPTIONS)
    hidden = "dcgm-notes" not in shown and "code-index" not in shown
    assert hidden is (target.name != "json")
