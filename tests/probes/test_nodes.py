"""Whole nodes: healthy ones are named by their answer and leave no note; broken ones differ from them by their one fault."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from stackcheck_probes.inventory import collect

NODES = Path(__file__).resolve().parents[1] / "nodes"
NAMES = sorted(
    path.name for path in NODES.iterdir() if (path / "node.json").exists() or (path / "overlay.json").exists()
)
HEALTHY = [name for name in NAMES if "+" not in name]
BROKEN = [name for name in NAMES if "+" in name]
INSTANCES = [name for name in HEALTHY if "xlarge" in name]


@cache
def inventory(name: str) -> dict[str, Any]:
    """Return what the probes see on a node."""
    return collect(root=str(NODES / name))


def versions(name: str, component: str) -> list[str]:
    """Return the versions of a component, the loaded copy first."""
    return [copy.get("version", "") for copy in inventory(name)["components"][component]]


def changed(name: str, key: str) -> dict[str, Any]:
    """Return what differs from the healthy node under a key of the inventory."""
    mine, base = inventory(name)[key], inventory(name.split("+")[0])[key]
    return {field: mine.get(field) for field in {*mine, *base} if mine.get(field) != base.get(field)}


def package(name: str, package_name: str) -> dict[str, Any]:
    """Return a package of the active environment."""
    found = [one for one in inventory(name)["packages"] if one["name"] == package_name and one["active"]]
    assert len(found) == 1
    return dict(found[0])


def test_there_are_enough_nodes() -> None:
    assert len(HEALTHY) >= 9
    assert len(BROKEN) >= 12


@pytest.mark.parametrize("name", NAMES)
def test_shape_of_the_inventory(name: str) -> None:
    found = json.loads(json.dumps(inventory(name)))
    assert found["schema"] == "stackcheck.inventory/1"
    for copies in found["components"].values():
        for copy in copies:
            assert isinstance(copy.get("version", ""), str)
            assert {"scope", "path", "method", "where"} <= set(copy)
    for fact in found["facts"]:
        assert (fact if ":" in fact else f"fact:{fact}") in found["evidence"]
    assert all(f"env:{name}" in found["evidence"] for name in found["environment"])


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_on_a_healthy_node_looks_wrong(name: str) -> None:
    facts = inventory(name)["facts"]
    assert inventory(name)["notes"] == []
    for fact in ("missing_libraries", "libraries_shadowed", "files_owned_twice", "files_changed", "libraries_not_of_their_package", "extensions_for_other_torch",
                 "xid", "sxid", "fabric_health", "efa_error_counters", "nccl_net_plugin_missing", "code_missing", "code_jit", "torch_pins_broken"):  # fmt: skip
        assert facts.get(fact, []) == [], fact
    for fact in ("remapped_rows_pending", "remapped_rows_failure", "ecc_uncorrected", "nvlink_inactive", "power_capped",
                 "gpus_failed", "gpus_without_driver", "efa_ports_down", "ib_ports_down", "local_nvme_idle"):  # fmt: skip
        assert facts.get(fact, 0) == 0, fact
    assert facts["persistence"] == "enabled"
    assert facts["ecc"] == "enabled"
    assert facts["mig"] == "disabled"
    assert facts["clocks_event_reasons"] == ["gpu_idle"]
    assert facts["iommu"] == "off"
    assert facts["memlock_kb"] == "unlimited"
    assert facts.get("fabric_state", "completed") == "completed"


@pytest.mark.parametrize("name", INSTANCES)
def test_the_name_of_the_folder_is_the_instance_type(name: str) -> None:
    assert inventory(name)["instance"] == name


@pytest.mark.parametrize(
    ("name", "model", "count", "pci", "capability", "nics"),
    [
        ("p5.48xlarge", "NVIDIA H100 80GB HBM3", 8, "2330", "9.0", 32),
        ("p5en.48xlarge", "NVIDIA H200", 8, "2335", "9.0", 16),
        ("p6-b200.48xlarge", "NVIDIA B200", 8, "2901", "10.0", 8),
        ("p6-b300.48xlarge", "NVIDIA B300 SXM6 AC", 8, "3182", "10.3", 16),
        ("p6e-gb200.36xlarge", "NVIDIA GB200", 4, "2941", "10.0", 4),
        ("g6e.48xlarge", "NVIDIA L40S", 8, "26b9", "8.9", 4),
    ],
)
def test_gpus_and_network(name: str, model: str, count: int, pci: str, capability: str, nics: int) -> None:
    found = inventory(name)
    assert found["gpu"] == {"model": model, "count": count, "pci_ids": [pci]}
    facts = found["facts"]
    assert facts["compute_capability"] == capability
    assert facts["gpu_count_pci"] == facts["gpu_count_driver"] == facts["gpu_count_nvml"] == count
    assert facts["efa_devices"] == facts["nic_count"] == nics
    assert facts["rdma_device_nodes"] == nics + facts.get("nvlink_controllers", 0)
    assert found["arch"] == ("aarch64" if "gb200" in name else "x86_64")


@pytest.mark.parametrize("name", INSTANCES)
def test_versions_on_an_instance(name: str) -> None:
    expected = {
        "driver": "580.126.20", "nccl": "2.30.7", "cudnn": "9.24.0.43", "cuda": "13.0", "nvshmem": "3.4.5", "libfabric": "2.6.0amzn1.0",
        "aws-ofi-nccl": "1.21.1", "efa-driver": "3.3.0", "efa-installer": "1.50.0", "efa-nv-peermem": "1.2.3", "rdma-core": "64.0",
        "gdrdrv": "2.5.1", "gdrcopy": "2.5.1", "dcgm": "4.5.2", "nvidia-container-toolkit": "1.18.2", "python": "3.12.3",
    }  # fmt: skip
    assert {component: versions(name, component) for component in expected} == {
        key: [value] for key, value in expected.items()
    }
    driver = inventory(name)["components"]["driver"][0]
    assert driver["attributes"]["flavour"] == "open"
    assert driver["scope"] == "host"
    assert package(name, "torch")["version"] == "2.14.1+cu130"
    assert package(name, "torch")["attributes"]["abi"] == "cxx11"


def test_the_wheels_nccl_is_taken_by_rpath() -> None:
    nccl = inventory("p5.48xlarge")["components"]["nccl"][0]
    assert nccl["loaded"] is True
    assert nccl["where"].endswith("(by RPATH of libtorch_cuda.so)")


def test_torch_is_built_for_the_body_of_its_targets_not_for_single_kernels() -> None:
    assert package("p5.48xlarge", "torch")["attributes"]["targets"] == [
        "sm_75",
        "sm_80",
        "sm_86",
        "sm_90",
        "sm_100",
        "sm_120",
    ]
    assert package("p6e-gb200.36xlarge", "torch")["attributes"]["targets"] == [
        "sm_80",
        "sm_90",
        "sm_100",
        "sm_110",
        "sm_120",
    ]


def test_which_services_a_node_needs_is_seen() -> None:
    assert inventory("p5.48xlarge")["facts"]["service:nvidia-fabricmanager"] == "active"
    assert versions("p6-b200.48xlarge", "nvlsm") == ["2025.10.14"]
    tray = inventory("p6e-gb200.36xlarge")["facts"]
    assert tray["service:nvidia-fabricmanager"] == "not-found"
    assert tray["service:nvidia-imex"] == "active"
    assert (tray["imex_channels"], tray["imex_domain_state"]) == (1, "UP")
    assert tray["coherent_gpu_memory_mode"] == "driver"


def test_an_infiniband_host_by_nvidia_smi() -> None:
    found = inventory("ib-h100")
    facts = found["facts"]
    assert found["evidence"]["gpu"]["method"] == "nvidia-smi"
    assert found["components"]["driver"][0]["attributes"]["flavour"] == "proprietary"
    assert versions("ib-h100", "mlnx-ofed") == ["24.10-2.1.8"]
    assert (facts["ib_devices"], facts["ib_rate_gbps"], facts["ib_link_layer"]) == (8, 400, "InfiniBand")
    assert facts["efa_devices"] == 0
    assert facts["module:nvidia_peermem"] is True
    assert facts["cpu_governor"] == "performance"
    assert facts["nccl_net_plugin"] == "none"


def test_an_ngc_container() -> None:
    found = inventory("ngc-pytorch-25.10")
    assert found["facts"]["container"] == "docker"
    assert found["components"]["nccl"][0]["scope"] == "container"
    assert found["components"]["driver"][0]["scope"] == "host"
    assert versions("ngc-pytorch-25.10", "cuda-toolkit") == ["13.0.2"]
    assert versions("ngc-pytorch-25.10", "cudnn") == ["9.14.0"]
    assert versions("ngc-pytorch-25.10", "aws-ofi-nccl") == ["1.14.0"]
    assert versions("ngc-pytorch-25.10", "cuda-compat") == []
    assert found["facts"]["cuda_compat_available"] == "580.95.05"
    assert package("ngc-pytorch-25.10", "torch")["version"] == "2.9.0a0+145a3a7bda.nv25.10"


def test_an_aws_container() -> None:
    found = inventory("dlc-pytorch-2.9")
    assert versions("dlc-pytorch-2.9", "libfabric") == ["2.3.1amzn1.0"]
    assert versions("dlc-pytorch-2.9", "efa-installer") == ["1.44.0"]
    assert found["environment"]["NCCL_SOCKET_IFNAME"] == "^docker0,lo"
    assert found["evidence"]["env:NCCL_SOCKET_IFNAME"]["where"] == "/etc/nccl.conf"
    assert found["components"]["fabric-manager"] == [] if "fabric-manager" in found["components"] else True


TORCH_CODE = "torch: sm_75 sm_80 sm_86 sm_90 sm_90a sm_100 sm_100a sm_120"
FAULTS: dict[str, dict[str, Any]] = {
    "p5.48xlarge+gdrdrv-missing": {"module:gdrdrv": False, "device:/dev/gdrdrv": False, "gdrdrv_installed": "2.5.1"},
    "p5.48xlarge+fabric-manager-mismatch": {
        "fabric_state": "not started", "nvlink_partitions": None, "service:nvidia-fabricmanager": "inactive"},
    "p5.48xlarge+efa-interfaces-missing": {"efa_devices": 24, "efa_pci_devices": 24, "nic_count": 24, "rdma_device_nodes": 24},
    "p5.48xlarge+memlock-low": {"memlock_kb": 64, "limit:memlock": 64},
    "dlc-pytorch-2.9+shm-small": {"limit:shm": 64 << 20, "shm_bytes": 64 << 20},
    "p5.48xlarge+nccl-conf-sockets": {"file:/etc/nccl.conf": "NCCL_NET=Socket"},
    "p5.48xlarge+row-remap-pending": {"xid": [63, 94], "remapped_rows_pending": 1, "remapped_rows_uncorrectable": 1, "ecc_uncorrected": 2},
    "p6-b200.48xlarge+nvlink-down": {"nvlink_active": 16, "nvlink_inactive": 2},
    "p5.48xlarge+power-capped": {
        "power_limit_w": 500, "power_capped": 8, "clocks_event_reasons": ["gpu_idle", "hw_slowdown", "hw_thermal_slowdown"]},
    "p6e-gb200.36xlarge+imex-channel-missing": {"imex_channels": 0, "imex_domain_state": "DOWN"},
    "ib-h100+iommu-translating": {"iommu": "translating", "acs_enabled": True},
    "p5.48xlarge+extension-other-torch": {
        "extensions_for_other_torch": ["flash_attn"], "gpu_code": ["flash_attn: sm_75 sm_80 sm_86 sm_90 sm_100 sm_120", TORCH_CODE]},
    "p6-b200.48xlarge+no-code-for-gpu": {
        "code_missing": ["my_kernels (sm_80, sm_90)"], "gpu_code": ["my_kernels: sm_80 sm_90", TORCH_CODE]},
    "p5.48xlarge+plugin-without-libfabric": {"nccl_net_plugin_missing": ["libfabric.so.1"], "libfabric_loaded": None},
    "p6-b200.48xlarge+compiled-at-first-use": {
        "code_jit": ["my_kernels (sm_80, compute_80)"], "ptx_bytes": ["my_kernels: 9000000"], "gpu_code": ["my_kernels: sm_80 compute_80", TORCH_CODE]},
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_one_fault_and_nothing_else(name: str) -> None:
    assert changed(name, "facts") == FAULTS[name]
    assert inventory(name)["notes"] == []


def test_gdrdrv_is_absent_not_unknown() -> None:
    assert inventory("p5.48xlarge+gdrdrv-missing")["components"]["gdrdrv"] == []
    assert versions("p5.48xlarge+gdrdrv-missing", "gdrcopy") == ["2.5.1"]


def test_fabric_manager_and_driver_versions_differ() -> None:
    name = "p5.48xlarge+fabric-manager-mismatch"
    assert (versions(name, "fabric-manager"), versions(name, "driver")) == (["580.95.05"], ["580.126.20"])


def test_a_preloaded_nccl_wins_over_the_wheels() -> None:
    name = "p5.48xlarge+nccl-preloaded"
    taken, other = inventory(name)["components"]["nccl"]
    assert (taken["version"], taken["loaded"], taken["attributes"]["targets"]) == (
        "2.21.5",
        True,
        ["sm_80", "sm_90", "compute_90"],
    )
    assert (other["version"], other["loaded"]) == ("2.30.7", False)
    assert "LD_PRELOAD" in changed(name, "facts")["libraries_shadowed"][0]


def test_the_library_path_wins_over_runpath() -> None:
    name = "p5.48xlarge+nccl-shadowed"
    taken, other = inventory(name)["components"]["nccl"]
    assert (taken["version"], taken["loaded"]) == ("2.21.5", True)
    assert taken["where"].endswith("(by LD_LIBRARY_PATH)")
    assert (other["version"], other["loaded"]) == ("2.30.7", False)


def test_two_wheels_own_nccl() -> None:
    name = "p5.48xlarge+nccl-two-wheels"
    assert "nvidia-nccl-cu12 and nvidia-nccl-cu13" in changed(name, "facts")["files_owned_twice"][0]
    assert versions(name, "nccl") == ["2.27.5"]


def test_a_library_that_was_replaced_is_told_with_both_versions() -> None:
    name = "p5.48xlarge+nccl-overwritten"
    told = changed(name, "facts")["libraries_not_of_their_package"]
    assert [text.rpartition("/")[2] for text in told] == ["libnccl.so.2: 2.21.5, nvidia-nccl-cu13 2.30.7"]
    assert versions(name, "nccl") == ["2.21.5"]


def test_the_plugin_of_another_fabric_is_the_one_taken() -> None:
    facts = changed("p5.48xlarge+plugin-of-another-fabric", "facts")
    assert facts["nccl_net_plugin_kind"] == "sharp"
    assert facts["nccl_net_plugin"] == "/opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so"


def test_a_driver_that_is_not_loaded() -> None:
    facts = changed("p6-b200.48xlarge+driver-not-loaded", "facts")
    assert facts["nvml_error"] == "nvmlInit_v2 returned 9"
    assert facts["gpu_count_driver"] is None
    assert inventory("p6-b200.48xlarge+driver-not-loaded")["gpu"] == {"count": 8, "pci_ids": ["2901"]}


def test_a_stale_plugin_path_means_no_plugin() -> None:
    facts = changed("p5.48xlarge+plugin-stale-path", "facts")
    assert facts["nccl_net_plugin"] == "none"
    assert facts["library_path_missing"] == ["/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu"]


def test_an_old_plugin_first_on_the_path_is_the_one_taken() -> None:
    name = "p5.48xlarge+plugin-too-old"
    taken = inventory(name)["components"]["aws-ofi-nccl"][0]
    assert (taken["version"], taken["loaded"], taken["attributes"]["net_api"]) == (
        "1.4.0",
        True,
        [2, 3, 4, 5],
    )
    assert changed(name, "facts")["nccl_net_plugin_api"] == [2, 3, 4, 5]


def test_an_extension_for_another_torch_names_the_symbols() -> None:
    attributes = package("p5.48xlarge+extension-other-torch", "flash_attn")["attributes"]
    assert attributes["torch"] == "2.5"
    assert attributes["abi"] == "pre-cxx11"
    assert attributes["torch_symbols_missing"] == ["_ZN3c105ErrorC1ENS_14SourceLocationESs"]


@pytest.mark.parametrize(
    ("name", "targets"),
    [
        ("p6-b200.48xlarge+no-code-for-gpu", ["sm_80", "sm_90"]),
        ("p6-b200.48xlarge+compiled-at-first-use", ["sm_80", "compute_80"]),
    ],
)
def test_targets_of_an_extension(name: str, targets: list[str]) -> None:
    assert package(name, "my_kernels")["attributes"]["targets"] == targets
    assert [entry["targets"] for entry in inventory(name)["code"] if entry["package"] == "my_kernels"] == [
        targets
    ]


def test_an_updated_driver_that_is_not_running_yet() -> None:
    facts = changed("p5.48xlarge+driver-reboot-pending", "facts")
    assert facts["driver_library_mismatch"] is True
    assert facts["libcuda_version"] == "580.159.03"
    assert versions("p5.48xlarge+driver-reboot-pending", "driver") == ["580.126.20"]
    assert facts["ecc"] is None, "what NVML did not say is unknown, not fine"
    assert inventory("p5.48xlarge+driver-reboot-pending")["gpu"]["count"] == 8


def test_the_proprietary_module_on_blackwell() -> None:
    found = inventory("p6-b200.48xlarge+proprietary-module")
    assert found["components"]["driver"][0]["attributes"]["flavour"] == "proprietary"
    assert found["gpu"] == {"count": 8, "pci_ids": ["2901"]}


def test_settings_of_nccl_conf_are_marked_as_such() -> None:
    found = inventory("p5.48xlarge+nccl-conf-sockets")
    assert found["environment"]["NCCL_NET"] == "Socket"
    assert found["evidence"]["env:NCCL_NET"] == {
        "method": "nccl.conf",
        "where": "/etc/nccl.conf",
        "raw": "NCCL_NET=Socket",
    }


def test_every_broken_node_has_a_test() -> None:
    text = Path(__file__).read_text()
    assert all(name in text for name in BROKEN)
