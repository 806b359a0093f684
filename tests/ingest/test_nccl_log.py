from __future__ import annotations

import pytest

from tests.ingest.reading import attributes, read_sample, read_text, versions

_PREFIX = "node-a:410:471 [0] NCCL INFO "


def test_healthy_efa_log() -> None:
    found = read_sample("nccl_efa_healthy.log")
    assert versions(found, "nccl") == {"2.27.7"}
    assert attributes(found, "nccl")["cuda"] == "12.8"
    assert found.components["nccl"][0].loaded is True
    assert versions(found, "aws-ofi-nccl") == {"1.16.3"}
    assert versions(found, "libfabric") == {"2.1"}
    assert found.environment == {"NCCL_SOCKET_IFNAME": "^docker,lo,veth"}
    expected = {
        "driver_cuda": "12.8",
        "nccl_provider": "efa",
        "nccl_fabric": "efa-direct",
        "nic_count": 32,
        "nccl_network": "Libfabric",
        "nccl_net_plugin_loaded": True,
        "nccl_net_plugin_name": "Libfabric",
        "nccl_net_api": 10,
        "nccl_tuner": "nccl_ofi_tuner",
        "nccl_tuner_api": 4,
        "ofi_protocol": "RDMA",
        "gdr": True,
        "nvls": True,
        "mnnvl": False,
        "dmabuf": False,
        "nccl_ranks": 16,
        "nccl_nodes": 2,
        "nccl_transports": ("NET/Libfabric/GDRDMA", "P2P/CUMEM"),
        "bootstrap_interface": "enp71s0",
        "busbw_gbs": 471.25,
    }
    assert expected.items() <= found.facts.items()


def test_fallback_to_sockets_behind_collector_prefixes() -> None:
    found = read_sample("nccl_socket_fallback.log")
    assert found.environment == {"NCCL_NET_PLUGIN": "ofi"}
    assert found.facts["nccl_net_plugin_loaded"] is False
    assert found.facts["nccl_network"] == "Socket"
    assert found.facts["socket_interfaces"] == ("eth0", "eth1")
    assert found.facts["nvls"] is False
    assert found.facts["gdr"] is False
    assert versions(found, "nccl") == {"2.27.3", "2.21.5"}  # two ranks, two versions


def test_ib_log_of_nccl_2_18() -> None:
    found = read_sample("nccl_218_ib.log")
    assert versions(found, "nccl") == {"2.18.3"}
    assert found.facts["nccl_network"] == "IB"
    assert found.facts["ib_devices"] == 3
    assert found.facts["gdr"] is True
    assert found.facts["nccl_net_plugin_loaded"] is False


def test_one_channel_without_gpu_direct_is_enough() -> None:
    text = "\n".join(
        _PREFIX + f"Channel 0{i}/0 : 0[0] -> 8[0] [send] via NET/Libfabric/{i}{end}"
        for i, end in enumerate(("/GDRDMA", ""))
    )
    assert read_text(text).facts["gdr"] is False


def test_tcp_provider_counts_no_rdma_devices() -> None:
    found = read_text(_PREFIX + "NET/OFI Selected Provider is tcp (found 1 nics)\n")
    assert found.facts["nccl_provider"] == "tcp"
    assert "nic_count" not in found.facts


def test_plugin_that_opens_and_then_fails_is_not_loaded() -> None:
    found = read_text(
        _PREFIX
        + "NET/OFI Initializing aws-ofi-nccl 1.14.0\n"
        + _PREFIX
        + "NET/OFI aws-ofi-nccl initialization failed\n"
    )
    assert found.facts["nccl_net_plugin_loaded"] is False
    assert versions(found, "aws-ofi-nccl") == {"1.14.0"}


def test_version_read_out_of_a_file_is_not_loaded() -> None:
    found = read_text(
        "$ strings libnccl-net.so | grep Initializing\nNET/OFI Initializing aws-ofi-nccl 1.11.0-aws\n"
    )
    (seen,) = found.components["aws-ofi-nccl"]
    assert (seen.version, seen.loaded) == ("1.11.0-aws", None)
    assert "nccl_net_plugin_loaded" not in found.facts


@pytest.mark.parametrize(
    ("body", "name", "value"),
    [
        ("NCCL_GIN_TYPE set by environment to 2.", "NCCL_GIN_TYPE", "2"),
        ("NCCL_NET_PLUGIN set by environment to ofi", "NCCL_NET_PLUGIN", "ofi"),
        ("NCCL_IB_HCA set by environment to mlx5_0:1,mlx5_1:1", "NCCL_IB_HCA", "mlx5_0:1,mlx5_1:1"),
    ],
)
def test_environment_echo(body: str, name: str, value: str) -> None:
    assert read_text(_PREFIX + body).environment == {name: value}


def test_variables_the_plugin_sets_are_not_the_users() -> None:
    found = read_text(_PREFIX + "NET/OFI Adding NCCL_PROTO=simple to environment\n")
    assert found.environment == {}
    assert found.facts["plugin_env"] == ("NCCL_PROTO=simple",)


def test_instance_and_topology_from_the_plugin() -> None:
    found = read_text(
        _PREFIX
        + "NET/OFI Running on p4d.24xlarge platform, Setting NCCL_TOPO_FILE environment variable to /opt/x/p4d-24xl-topo.xml\n"
    )
    assert found.instance == "p4d.24xlarge"
    assert found.facts["nccl_topo_file"] == "/opt/x/p4d-24xl-topo.xml"


def test_version_in_an_error_of_torch() -> None:
    text = "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:317, unhandled system error, NCCL version 2.20.5\n"
    assert versions(read_text(text), "nccl") == {"2.20.5"}


def test_mention_keeps_the_rest_of_its_line_open() -> None:
    found = read_text("torch 2.8.0+cu129, NCCL version 2.27.3+cuda12.9, driver 570.133.20\n")
    assert versions(found, "torch") == {"2.8.0+cu129"}
    assert versions(found, "driver") == {"570.133.20"}
    assert versions(found, "nccl") == {"2.27.3"}


def test_cuda_errors_are_collected() -> None:
    text = "n:1:2 [0] transport/nvls.cc:254 NCCL WARN Cuda failure 1 'invalid argument'\nn:1:2 [0] NCCL WARN x : CUDA error 401 'y'\n"
    assert read_text(text).facts["cuda_error"] == (1, 401)


def test_fi_info_counts_each_nic_once() -> None:
    facts = read_sample("fi_info_efa.txt").facts
    assert (facts["efa_devices"], facts["fi_providers"]) == (2, ("efa",))


def test_fi_info_without_efa() -> None:
    facts = read_text("$ fi_info -p efa -t FI_EP_RDM\nfi_getinfo: -61 (No data available)\n").facts
    assert (facts["efa_devices"], facts["fi_getinfo_error"]) == (0, -61)


def test_fi_info_version() -> None:
    assert versions(read_text("fi_info: 2.1.0amzn5.0\nlibfabric: 2.1.0amzn5.0\n"), "libfabric") == {
        "2.1.0amzn5.0"
    }


def test_short_and_long_versions_of_one_library_are_one() -> None:
    found = read_text("fi_info: 2.1.0amzn5.0\n" + _PREFIX + "NET/OFI Using Libfabric version 2.1\n")
    assert versions(found, "libfabric") == {"2.1.0amzn5.0"}
    assert any(o.loaded for o in found.components["libfabric"])


def test_a_variable_that_nccl_repeats_is_part_of_the_environment() -> None:
    found = read_text(
        "n1:1:2 [0] NCCL INFO NCCL_IB_HCA set to mlx5_0,mlx5_1\n"
        "n1:1:2 [0] NCCL INFO NET/OFI Running on p5.48xlarge platform, NCCL_TOPO_FILE environment variable is already set to /opt/x.xml\n"
    )
    assert dict(found.environment) == {"NCCL_IB_HCA": "mlx5_0,mlx5_1"}
