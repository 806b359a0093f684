from __future__ import annotations

from tests.ingest.reading import read_sample, read_text


def test_ibstat_counts_ports_that_should_be_up_and_slow_ones() -> None:
    facts = read_sample("ibstat.txt").facts
    assert facts["hcas"] == tuple(f"mlx5_{i}" for i in range(9))
    assert facts["ib_devices"] == 8, "a port that is disabled belongs to no fabric"
    assert facts["ib_ports_down"] == 1
    assert facts["ib_rate_gbps"] == 100
    assert facts["ib_ports_slow"] == 1
    assert "roce_mtu" not in facts


def test_ethernet_ports_that_are_the_only_fabric_have_an_mtu() -> None:
    facts = read_sample("ibv_devinfo.txt").facts
    assert (facts["roce_mtu"], facts["roce_mtu_max"]) == (1024, 4096)
    assert "ib_ports_down" not in facts, "an Ethernet port may well be unused"


def test_a_management_port_beside_a_fabric_tells_nothing() -> None:
    port = "\tport:\t1\n\t\tstate:\tPORT_{}\n\t\tmax_mtu:\t4096 (5)\n\t\tactive_mtu:\t{}\n\t\tlink_layer:\t{}\n\n"
    text = "".join(
        f"hca_id:\tmlx5_{i}\n" + port.format("ACTIVE (4)", "4096 (5)", "InfiniBand") for i in range(4)
    )
    facts = read_text(text + "hca_id:\tmlx5_4\n" + port.format("ACTIVE (4)", "1024 (3)", "Ethernet")).facts
    assert facts["ib_ports_down"] == 0
    assert "roce_mtu" not in facts
