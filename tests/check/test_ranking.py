"""The root cause first, and what it causes under it."""

from __future__ import annotations

import itertools

from stackcheck.catalog import Catalog
from stackcheck.check.ranking import folded
from stackcheck.model.finding import Finding, FindingEvidence, Kind, Severity
from tests.check.conftest import CheckTexts, Judge


def finding(
    name: str, severity: Severity = Severity.ERROR, subject: str = "nccl", seen: str = "nccl"
) -> Finding:
    return Finding(
        id=name,
        kind=Kind.FABRIC,
        severity=severity,
        subjects=(subject,),
        title=name,
        evidence=(FindingEvidence(seen, "x"),),
    )


def test_errors_come_before_warnings_and_these_before_the_rest(catalog: Catalog) -> None:
    mixed = [finding(s, s) for s in (Severity.INFO, Severity.ERROR, Severity.WARNING)]
    assert [f.severity for f in folded(mixed, catalog)] == [Severity.ERROR, Severity.WARNING, Severity.INFO]


def test_what_a_line_shows_comes_before_what_versions_say(catalog: Catalog) -> None:
    logged, told = finding("z", seen="log:x"), finding("a")
    assert [f.id for f in folded([told, logged], catalog)] == ["z", "a"]


def test_order_of_finding_is_nothing_to_the_ranking(catalog: Catalog) -> None:
    several = [
        finding(n, s)
        for n, s in zip("abcd", itertools.cycle((Severity.ERROR, Severity.WARNING)), strict=False)
    ]
    assert {tuple(f.id for f in folded(p, catalog)) for p in itertools.permutations(several)} == {
        ("a", "c", "b", "d")
    }


def test_a_rule_takes_what_it_causes_and_is_as_grave(catalog: Catalog) -> None:
    cause = next(
        r for r in catalog.rules if "log-nccl-symbol-missing" in r.cause_of and r.severity is Severity.WARNING
    )
    (root,) = folded([finding("log-nccl-symbol-missing"), finding(cause.id, Severity.WARNING)], catalog)
    assert (root.id, root.severity) == (cause.id, Severity.ERROR)
    assert [c.id for c in root.consequences] == ["log-nccl-symbol-missing"]


def test_rules_that_cause_each_other_lose_nothing(catalog: Catalog) -> None:
    every = [finding(r.id, r.severity, subject=r.subjects[0]) for r in catalog.rules]
    ranked = folded(every, catalog)
    kept = [f.id for f in ranked] + [c.id for f in ranked for c in f.consequences]
    assert sorted(kept) == sorted(f.id for f in every)


def test_a_guess_goes_under_what_explains_more_and_makes_it_no_graver(catalog: Catalog) -> None:
    guess = finding("unexplained-x", Severity.ERROR, subject="torch", seen="log:unexplained-x")
    told = finding("a", Severity.ERROR, seen="log:a")
    (root,) = folded([guess, told], catalog)
    assert (root.id, [c.id for c in root.consequences]) == ("a", ["unexplained-x"])
    slower = finding("b", Severity.WARNING, seen="log:b")
    assert [(f.id, f.severity) for f in folded([guess, slower], catalog)] == [
        ("unexplained-x", Severity.ERROR),
        ("b", Severity.WARNING),
    ]


def test_a_guess_comes_after_what_is_known(catalog: Catalog) -> None:
    guess = finding("unexplained-a", subject="torch", seen="log:unexplained-a")
    assert [f.id for f in folded([guess, finding("z")], catalog)] == ["z", "unexplained-a"]


def test_a_row_of_the_gpu_says_no_more_than_the_rule(judge: Judge) -> None:
    report = judge({"torch": "2.4.1+cu121"}, gpu_model="NVIDIA B200")
    (error,) = [f for f in report.findings if f.severity is Severity.ERROR]
    assert not error.id.startswith("gpu-")
    assert any(c.id.startswith("gpu-") for c in error.consequences)


def test_an_old_driver_is_one_finding(check_texts: CheckTexts) -> None:
    report = check_texts(
        {
            "freeze.txt": "torch==2.9.1+cu130\n",
            "job.log": "Driver Version: 550.54.15\nNVIDIA H100 80GB HBM3\n"
            "RuntimeError: The NVIDIA driver on your system is too old (found version 12040).\n"
            "CUDA error: CUDA driver version is insufficient for CUDA runtime version\n",
        }
    )
    errors = [f for f in report.findings if f.severity is Severity.ERROR]
    assert [str(f.kind) for f in errors] == ["driver-too-old"]


def test_accepted_findings_stand_apart(catalog: Catalog, judge: Judge) -> None:
    from stackcheck.check import check

    report = judge({"torch": "2.4.1+cu121"}, gpu_model="NVIDIA B200")
    first = report.findings[0].id
    again = check(catalog, report.inventory, accept={first: "until spring"})
    assert [(f.id, f.accepted) for f in again.accepted] == [(first, "until spring")]
    assert first not in {f.id for f in again.findings}
