"""What releases ask for, held against what is there; how grave a breach is depends on what breaks."""

from __future__ import annotations

from stackcheck.catalog import Catalog
from stackcheck.check import check
from stackcheck.model.finding import Finding, Report, Severity
from stackcheck.model.inventory import Evidence, Inventory, Observation
from tests.check.conftest import Judge


def asked(report: Report, name: str) -> Finding | None:
    every = [*report.findings, *(c for f in report.findings for c in f.consequences)]
    return next((f for f in every if f.id == f"requires-{name}"), None)


def severity(report: Report, name: str) -> Severity | None:
    found = asked(report, name)
    return found.severity if found else None


def test_what_fits_is_not_mentioned(judge: Judge) -> None:
    assert asked(judge({"torch": "2.8.0+cu128", "nccl": "2.27.3", "triton": "3.4.0"}), "torch") is None


def test_compiled_code_beside_another_minor_is_broken(judge: Judge) -> None:
    found = asked(judge({"vllm": "0.9.2", "torch": "2.8.0+cu128"}, package=True), "vllm")
    assert found is not None
    assert (found.severity, str(found.kind)) == (Severity.ERROR, "abi-mismatch")
    assert found.remedy[0].proved


def test_compiled_code_beside_another_patch_is_at_risk(judge: Judge) -> None:
    assert (
        severity(judge({"vllm": "0.9.2", "torch": "2.7.1+cu128"}, package=True), "vllm") is Severity.WARNING
    )


def test_a_newer_nccl_of_the_same_major_is_fine(judge: Judge) -> None:
    assert severity(judge({"torch": "2.8.0+cu128", "nccl": "2.28.9"}), "torch") is Severity.INFO
    assert severity(judge({"torch": "2.8.0+cu128", "nccl": "2.21.5"}), "torch") is Severity.WARNING


def test_a_version_told_in_short_breaks_no_exact_pin(judge: Judge) -> None:
    assert asked(judge({"torch": "2.5.1+cu124", "cudnn": "9.1.0"}), "torch") is None
    assert asked(judge({"torch": "2.5.1+cu124", "cudnn": "90100"}), "torch") is None


def test_builds_of_a_vendor_are_not_held_to_the_index(judge: Judge) -> None:
    own = {"torch": "2.8.0a0+34c6371d24.nv25.08", "nccl": "2.27.7", "cudnn": "9.12.0.46"}
    assert asked(judge(own), "torch") is None
    assert severity(judge({"vllm": "0.9.2", "torch": own["torch"]}, package=True), "vllm") in (
        None,
        Severity.INFO,
    )


def test_two_copies_meet_a_requirement_if_one_does(catalog: Catalog) -> None:
    seen = {
        "torch": (Observation(version="2.8.0+cu128"),),
        "nccl": (
            Observation(version="2.21.5", scope="host"),
            Observation(version="2.27.3", scope="container"),
        ),
    }
    assert asked(check(catalog, Inventory(components=seen)), "torch") is None


def test_what_was_inferred_is_held_against_nobody(catalog: Catalog) -> None:
    seen = {
        "torch": (Observation(version="2.8.0+cu128"),),
        "nccl": (Observation(version="2.21.5", evidence=Evidence("derived")),),
    }
    assert asked(check(catalog, Inventory(components=seen)), "torch") is None


def test_a_command_names_packages_and_only_where_they_are_known(catalog: Catalog) -> None:
    def told(attributes: dict[str, str], torch: str = "2.8.0+cu128") -> str:
        seen = {
            "torch": (Observation(version=torch, attributes={"package": "torch"}),),
            "nccl": (Observation(version="2.21.5", attributes=attributes),),
        }
        found = asked(check(catalog, Inventory(components=seen)), "torch")
        assert found is not None
        return found.remedy[0].run

    assert told({"package": "nvidia-nccl-cu12"}) == "pip install 'nvidia-nccl-cu12==2.27.3'"
    assert told({"package": "nvidia-nccl-cu12"}, "2.9.0+cu130") == "pip install 'nvidia-nccl-cu13==2.27.7'"
    assert told({}) == ""


def test_extras_that_people_usually_install_are_asked(catalog: Catalog) -> None:
    """SGLang of 2025 asks for torch and its kernels under `srt` only; `blackwell` is content with any kernels."""
    assert "requires-sglang" in _ids(catalog, {"sglang": "0.4.8", "torch": "2.6.0"})
    assert "requires-sglang" not in _ids(
        catalog, {"sglang": "0.4.8", "torch": "2.7.1", "sgl-kernel": "0.1.9"}
    )
    assert "requires-sglang" not in _ids(
        catalog, {"sglang": "0.4.8", "torch": "2.7.1", "sgl-kernel": "0.2.0"}
    )


def test_what_is_asked_for_up_to_some_python_counts_where_nobody_says_which(catalog: Catalog) -> None:
    assert "requires-torch" in _ids(catalog, {"torch": "2.5.1", "triton": "3.2.0"})
    assert "requires-torch" not in _ids(catalog, {"torch": "2.5.1", "triton": "3.1.0"})
    assert "requires-torch" not in _ids(catalog, {"torch": "2.5.1", "triton": "3.2.0", "python": "3.13"})


def _ids(catalog: Catalog, versions: dict[str, str]) -> set[str]:
    told = {c: (Observation(version=v, attributes={"package": c}),) for c, v in versions.items()}
    return {f.id for f in check(catalog, Inventory(components=told)).findings}


def test_a_library_of_the_system_that_nobody_loads_is_no_package(catalog: Catalog) -> None:
    """collect_env lists the cuDNN in /usr/lib as a guess; torch brings its own."""
    for seen, expected in (
        (Observation(version="8.9.0", path="/usr/lib/x86_64-linux-gnu"), False),
        (Observation(version="8.9.0", path="/usr/lib/x86_64-linux-gnu", loaded=True), True),
        (Observation(version="8.9.0", attributes={"package": "nvidia-cudnn-cu12"}), True),
    ):
        torch = Observation(version="2.5.1+cu121", attributes={"package": "torch"})
        told = {"torch": (torch,), "cudnn": (seen,)}
        found = check(catalog, Inventory(components=told)).findings
        assert ("requires-torch" in {f.id for f in found}) is expected


def test_a_command_takes_the_package_of_the_older_line_where_names_lost_their_label(catalog: Catalog) -> None:
    seen = {
        "torch": (Observation(version="2.9.0+cu128", attributes={"package": "torch"}),),
        "cublas": (Observation(version="13.0.0.19", attributes={"package": "nvidia-cublas"}),),
    }
    found = asked(check(catalog, Inventory(components=seen)), "torch")
    assert found is not None
    assert found.remedy[0].run == "pip install 'nvidia-cublas-cu12==12.8.4.1'"
