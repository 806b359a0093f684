from __future__ import annotations

import pytest

from tests.ingest.reading import SAMPLES, read_sample, read_text, versions


def test_cuda_version_of_the_table_is_the_drivers_and_no_component() -> None:
    found = read_sample("nvidia_smi_b200.txt")
    assert versions(found, "driver") == {"580.95.05"}
    assert found.facts["driver_cuda"] == "13.0"
    assert "cuda" not in found.components


def test_the_table_shows_gpus_and_the_worse_state_counts() -> None:
    found = read_sample("nvidia_smi_b200.txt")
    assert (found.gpu_model, found.gpu_count) == ("NVIDIA B200", 2)
    assert found.facts["ecc"] == "enabled"
    assert found.facts["ecc_uncorrected"] == 3
    assert found.facts["mig"] == "enabled"
    assert found.facts["persistence"] == "enabled"


def test_a_table_that_is_cut_off_still_tells_the_driver() -> None:
    text = (SAMPLES / "nvidia_smi_b200.txt").read_text()
    assert versions(read_text(text[:300]), "driver") == {"580.95.05"}


def test_header_alone_in_a_sentence() -> None:
    found = read_text("# nvidia-smi: Driver Version: 535.161.08\n")
    assert versions(found, "driver") == {"535.161.08"}


def test_q_takes_the_worst_gpu() -> None:
    facts = read_sample("nvidia_smi_q.txt").facts
    assert facts["persistence"] == "disabled"
    assert facts["remapped_rows_pending"] == 1
    assert facts["remapped_rows_uncorrectable"] == 2
    assert facts["remapped_rows_failure"] == 0
    assert facts["pcie_width_current"] == 8
    assert facts["pcie_width_max"] == 16
    assert facts["clocks_event_reasons"] == ("hw_slowdown", "hw_thermal_slowdown")
    assert facts["fabric_state"] == "in progress"
    assert facts["power_limit_w"] == 500
    assert facts["power_capped"] == 1
    assert facts["ecc_sram_threshold_exceeded"] == 1
    assert facts["ecc_uncorrected_aggregate"] == 7
    assert facts["clock_sm_mhz"] == 1155


def test_q_of_healthy_gpus_alone_is_healthy() -> None:
    text = (SAMPLES / "nvidia_smi_q.txt").read_text().partition("GPU 00000000:64:00.0")[0]
    facts = read_text(text).facts
    assert facts["persistence"] == "enabled"
    assert facts["remapped_rows_pending"] == 0
    assert facts["clocks_event_reasons"] == ()
    assert facts["fabric_state"] == "completed"
    assert facts["power_capped"] == 0


def test_a_grepped_part_of_q_is_understood() -> None:
    facts = read_text(
        "    Remapped Rows\n        Correctable Error                 : 0\n        Uncorrectable Error               : 12\n"
        "        Pending                           : Yes\n        Remapping Failure Occurred        : No\n"
    ).facts
    assert (facts["remapped_rows_uncorrectable"], facts["remapped_rows_pending"]) == (12, 1)


def test_xml_says_the_same_as_text() -> None:
    found = read_sample("nvidia_smi_h200.xml")
    assert versions(found, "driver") == {"570.133.20"}
    assert (found.gpu_model, found.gpu_count) == ("NVIDIA H200", 1)
    assert found.facts["driver_cuda"] == "12.8"
    assert found.facts["remapped_rows_failure"] == 1
    assert found.facts["clocks_event_reasons"] == ("hw_power_brake_slowdown",)
    assert found.evidence["fact:driver_cuda"].where == "nvidia_smi_h200.xml:6"


def test_xml_that_breaks_off_is_read_as_far_as_it_goes() -> None:
    text = (SAMPLES / "nvidia_smi_h200.xml").read_text()
    found = read_text(text[: text.index("<ecc_mode>")])
    assert versions(found, "driver") == {"570.133.20"}
    assert any("breaks off" in n.text for n in found.notes)


def test_topology_through_colour_codes() -> None:
    facts = read_sample("nvidia_smi_topo.txt").facts
    assert facts["nvlink"] == 18
    assert facts["topology_nics"] == 2
    assert facts["gpu_nic_paths"] == ("PIX",)


def test_topology_without_nvlink() -> None:
    text = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSYS\t0-47\nGPU1\tSYS\t X \t48-95\n"
    facts = read_text(text).facts
    assert facts["nvlink"] == 0
    assert facts["gpu_gpu_paths"] == ("SYS",)


def test_query_with_header() -> None:
    found = read_sample("nvidia_smi_query.txt")
    assert versions(found, "driver") == {"550.90.07"}
    assert found.gpu_model == "NVIDIA L40S"
    assert found.facts["persistence"] == "disabled"
    assert found.facts["power_limit_w"] == 300


def test_query_without_header_takes_the_fields_of_the_command() -> None:
    found = read_text(
        "$ nvidia-smi --query-gpu=driver_version,name --format=csv,noheader\n580.150, NVIDIA A100-SXM4-40GB\n580.150, NVIDIA A100-SXM4-40GB\n"
    )
    assert versions(found, "driver") == {"580.150"}
    assert (found.gpu_model, found.gpu_count) == ("NVIDIA A100-SXM4-40GB", 2)


def test_query_counted_by_uniq() -> None:
    found = read_text(
        "$ nvidia-smi --query-gpu=name,compute_cap --format=csv,noheader | sort | uniq -c\n      8 NVIDIA H100 80GB HBM3, 9.0\n"
    )
    assert (found.gpu_model, found.gpu_count) == ("NVIDIA H100 80GB HBM3", 8)
    assert found.facts["compute_capability"] == "9.0"


def test_one_queried_gpu_is_no_count() -> None:
    found = read_text("$ nvidia-smi --query-gpu=name --format=csv,noheader -i 0\nNVIDIA L40S\n")
    assert found.gpu_count is None


def test_nvlink_status_counts_links_of_the_worst_gpu() -> None:
    facts = read_sample("nvidia_smi_nvlink.txt").facts
    assert (facts["nvlink_active"], facts["nvlink_inactive"]) == (2, 1)


@pytest.mark.parametrize(
    ("line", "model", "count"),
    [
        ("GPU 0: NVIDIA B200", "NVIDIA B200", None),
        ("GPU 0..7: NVIDIA B200", "NVIDIA B200", 8),
        ("GPU 0-3: NVIDIA A100-SXM4-80GB, capability 8.0", "NVIDIA A100-SXM4-80GB", 4),
        ("GPU 0,1: NVIDIA H200", "NVIDIA H200", 2),
        ("8x H100, all idle", "H100", 8),
        ("# nvidia-smi -L: 4 x NVIDIA H100 80GB HBM3", "H100 80GB HBM3", 4),
        ("GPU: NVIDIA H100 80GB HBM3 x8", "NVIDIA H100 80GB HBM3", 8),
        ("NVIDIA B200 x2, tensor_parallel_size=2", "NVIDIA B200", 2),
        (
            "GPU: NVIDIA RTX PRO 6000 Blackwell Server Edition",
            "NVIDIA RTX PRO 6000 Blackwell Server Edition",
            None,
        ),
    ],
)
def test_gpus_in_lists_and_prose(line: str, model: str, count: int | None) -> None:
    found = read_text(line)
    assert (found.gpu_model, found.gpu_count) == (model, count)


@pytest.mark.parametrize(
    "line",
    [
        "An NVIDIA GPU may be present on this machine",
        "NVIDIA driver not found",
        "NVIDIA Container Toolkit 1.17.8",
    ],
)
def test_prose_about_nvidia_names_no_gpu(line: str) -> None:
    assert read_text(line).gpu_model is None


def test_listing_piped_to_wc_is_a_count() -> None:
    assert read_text("$ nvidia-smi -L | wc -l\n8\n").gpu_count == 8


def test_mig_slices() -> None:
    text = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)\n  MIG 2g.20gb     Device  0: (UUID: MIG-0)\n"
    assert read_text(text).facts["mig"] == "enabled"
