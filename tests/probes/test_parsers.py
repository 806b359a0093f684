"""Texts of kernels, drivers and installers, as they are printed."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from stackcheck_probes import collect, pci
from stackcheck_probes.host import parse_environ
from stackcheck_probes.mounts import Mount, parse_mounts
from stackcheck_probes.probes import cpu, driver, efa, environment, kernellog, netplugin, system, topology
from stackcheck_probes.sysdb import parse_status, release


@pytest.mark.parametrize(
    ("line", "version", "flavour"),
    [
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder@U22)  Tue",
            "580.95.05",
            "open",
        ),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.105.08  Release Build",
            "580.105.08",
            "open",
        ),
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023",
            "535.54.03",
            "proprietary",
        ),
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.211.01  Release Build",
            "570.211.01",
            "proprietary",
        ),
        ("NVRM version: something new 999.10 here", "999.10", "proprietary"),
        ("GCC version:  gcc version 11.4.0", None, None),
    ],
)
def test_driver_version(line: str, version: str | None, flavour: str | None) -> None:
    assert driver.parse_version(line + "\nGCC version: 12.3.0\n")[:2] == (version, flavour)


def test_module_information() -> None:
    data = b"junk\0version=580.95.05\0license=Dual MIT/GPL\0srcversion=ABC\0vermagic=6.8\0"
    assert driver.parse_modinfo(data) == {"version": "580.95.05", "license": "Dual MIT/GPL"}


def test_efa_packages_in_both_spellings() -> None:
    debian = "libfabric1-aws_2.4.0amzn1.0_amd64 efa_2.5.0-1.amzn1_amd64 efa-config_1.15_all"
    assert efa.parse_packages(debian) == {
        "libfabric1-aws": "2.4.0amzn1.0",
        "efa": "2.5.0-1.amzn1",
        "efa-config": "1.15",
    }
    rpm = "libfabric-aws-2.4.0amzn1.0-1.amzn2023.x86_64 efa-3.0.0-1.amzn2023.noarch libnccl-ofi-1.18.0-1.aarch64"
    assert efa.parse_packages(rpm) == {
        "libfabric-aws": "2.4.0amzn1.0",
        "efa": "3.0.0",
        "libnccl-ofi": "1.18.0",
    }


@pytest.mark.parametrize(
    ("raw", "version"), [("2.17.3g", "2.17.3"), ("3.1.0g", "3.1.0"), ("2.17.3", "2.17.3")]
)
def test_efa_driver_version(raw: str, version: str) -> None:
    assert efa.driver_version(raw) == version


def test_xid_events_lose_process_names() -> None:
    text = (
        "[ 4410.2] NVRM: Xid (PCI:0001:00:00): 119, pid=4711, name=nvidia-smi, Timeout waiting for RPC from GSP!\n"
        "[ 4416.2] NVRM: Xid (PCI:0001:00:00): 120, GSP error\n[ 1.0] NVRM: Xid (PCI:0000:53:00): 79, GPU has fallen off the bus.\n"
    )
    found = list(kernellog.events(text, kernellog._XID))
    assert [event.number for event in found] == [119, 120, 79]
    assert found[0] == (119, "PCI:0001:00:00", "Timeout waiting for RPC from GSP!", "4410.2 s after boot")


def kernel_facts(tmp_path: Path, text: str) -> dict[str, tuple[Any, str]]:
    """Return value and raw text of each fact that a kernel log tells."""
    (tmp_path / "cmd").mkdir()
    (tmp_path / "cmd" / "kernel-log").write_text(text)
    found = collect(str(tmp_path), only=["kernel-log"])
    return {
        name: (value, found["evidence"][f"fact:{name}"].get("raw", ""))
        for name, value in found["facts"].items()
    }


def test_an_xid_says_on_which_gpus_it_was_how_often_and_when_last(tmp_path: Path) -> None:
    text = "".join(
        f"[{at}] NVRM: Xid (PCI:0000:{bus}:00): {number}, pid=1, name=python3, {words}\n"
        for at, bus, number, words in [
            (10.5, "53", 94, "Contained: SM (0x1)"), (11.5, "86", 94, "Contained: CE (0x9)"), (12.5, "86", 63, "Row Remapper: marked"),
        ]
    )  # fmt: skip
    numbers, raw = kernel_facts(tmp_path, text)["xid"]
    assert numbers == [63, 94]
    assert raw.split(" | ") == [
        "PCI:0000:86:00: 63, Row Remapper: marked (last 12.5 s after boot)",
        "PCI:0000:86:00: 94, Contained: CE (0x9) (last 11.5 s after boot, 2 times, also PCI:0000:53:00)",
    ]


def test_many_xids_leave_room_for_the_address_of_each(tmp_path: Path) -> None:
    numbers = [13, 31, 43, 63, 94]
    text = "".join(
        f"[Sat Nov 29 10:00:0{at} 2026] NVRM: Xid (PCI:0000:{at}0:00): {number}, {'x' * 300}\n"
        for at, number in enumerate(numbers)
    )
    _value, raw = kernel_facts(tmp_path, text)["xid"]
    assert len(raw) <= 400
    assert all(f"PCI:0000:{at}0:00: {number}, " in raw for at, number in enumerate(numbers))


def test_kills_for_memory_name_the_processes_and_the_time_of_the_last(tmp_path: Path) -> None:
    text = (
        "[ 10.2] Memory cgroup out of memory: Killed process 7 (python3) total-vm:1kB, anon-rss:1kB\n"
        "[ 11.2] Out of memory: Killed process 8 (gpu_burn) total-vm:1kB, anon-rss:1kB\n"
    )
    facts = kernel_facts(tmp_path, text)
    assert facts["oom_kills"] == (2, "last 11.2 s after boot")
    assert facts["oom_killed"][0] == ["gpu_burn", "python3"]


XIDS = """
[171167.620236] NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)
[171167.621162] NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)
[171170.1] NVRM: Xid (PCI:0018:01:00): 145, pid=876767, name=python3, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008 0x00000001)
[171170.2] NVRM: Xid (PCI:0018:01:00): 149, NETIR_BER_EVENT Nonfatal XC0 i0 Link 03 (0x00086226 0x00000001 0x00000000)
[171170.3] NVRM: Xid (PCI:0018:01:00): 144, SAW_MVB Nonfatal XC0 i0 Link 00 (0x00000001 0x00000008 0x00000000 0x00000000)
[171170.4] NVRM: Xid (PCI:0000:dc:00): 45, pid=1818990, name=python3, Ch 00000001 caused by previous Xid 149
[171170.5] NVRM: Xid (PCI:0000:01:00 GPU-I:05 GPU-CI:00): 94, pid=7194, name=python3, Contained: CE User Channel (0x9). RST: No, D-RST: No
"""


def test_events_of_nvlink_5_that_are_not_fatal_stand_apart(tmp_path: Path) -> None:
    (tmp_path / "cmd").mkdir()
    (tmp_path / "cmd" / "kernel-log").write_text(XIDS)
    facts = collect(str(tmp_path), only=["kernel-log"])["facts"]
    assert facts["xid"] == [45, 94, 149, 154]
    assert facts["xid_nonfatal"] == [144, 145, 149]


def test_a_kill_for_memory_is_one_kill(tmp_path: Path) -> None:
    """The kernel writes two lines for it, one that names the group and one that names the process."""
    (tmp_path / "cmd").mkdir()
    (tmp_path / "cmd" / "kernel-log").write_text(
        "[ 10.1] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,mems_allowed=0-1,oom_memcg=/a,task_memcg=/a,task=python3,pid=7,uid=0\n"
        "[ 10.2] Memory cgroup out of memory: Killed process 7 (python3) total-vm:1kB, anon-rss:1kB\n"
        "[ 11.1] oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/b,task=python3,pid=8,uid=0\n"
        "[ 11.2] Out of memory: Killed process 8 (python3) total-vm:1kB, anon-rss:1kB\n"
        "[ 12.1] NVRM: The NVIDIA GPU 0000:c6:00.0\n[ 12.2] NVRM: installed in this system has fallen off the bus and is not\n"
    )
    facts = collect(str(tmp_path), only=["kernel-log"])["facts"]
    assert (facts["oom_kills"], facts["gpu_fell_off_bus"]) == (2, True)


def tree(folder: Path, **files: str) -> Path:
    """Write small files into a node tree."""
    (folder / "node.json").write_text(json.dumps({"files": files}))
    return folder


def test_an_enroot_container_is_no_host(tmp_path: Path) -> None:
    start = "# enroot-provenance: docker://example/image\nmkdir -p /workspace\n"
    here = tree(tmp_path, **{"/.lock": "", "/etc/rc": start, "/etc/rc.local": "", "/proc/version": "Linux"})
    assert collect(str(here), only=["identity"])["facts"]["container"] == "enroot"


def test_ubuntus_signed_modules_are_found(tmp_path: Path) -> None:
    module = "\0version=580.126.20\0license=Dual MIT/GPL\0"
    release = "/lib/modules/6.8.0-1044-aws"
    files = {"/proc/sys/kernel/osrelease": "6.8.0-1044-aws\n", f"{release}/kernel/nvidia-580srv-open/nvidia.ko": module,
             f"{release}/kernel/nvidia-570srv/bits/nvidia.ko.sig": "x"}  # fmt: skip
    facts = collect(str(tree(tmp_path, **files)), only=["driver"])["facts"]
    assert (facts["driver_installed"], facts["driver_installed_flavour"]) == ("580.126.20", "open")
    files[f"{release}/kernel/nvidia-570srv/nvidia.ko"] = module.replace("580.126.20", "570.195.03")
    assert "driver_installed" not in collect(str(tree(tmp_path, **files)), only=["driver"])["facts"], (
        "depmod decides"
    )


def test_the_flavour_gdrdrv_was_built_for(tmp_path: Path) -> None:
    text = "Version: 2.5\nBuilt for NVIDIA driver flavor: opensource\nUse persistent mapping: yes\ndbg_enabled: 0\ninfo_enabled: 0\n"
    found = collect(str(tree(tmp_path, **{"/proc/driver/gdrdrv/params": text})), only=["gdrcopy"])
    assert found["components"]["gdrdrv"][0]["attributes"] == {"flavour": "open"}


def test_services_in_another_slice(tmp_path: Path) -> None:
    """The EKS AMI runs kubelet and containerd in runtime.slice."""
    units, groups = "/usr/lib/systemd/system", "/sys/fs/cgroup"
    files = {"/run/systemd/system/x": "", f"{groups}/system.slice/nvidia-persistenced.service/cgroup.procs": "7\n",
             f"{groups}/runtime.slice/kubelet.service/cgroup.procs": "8\n", f"{units}/nvidia-imex.service": ""}  # fmt: skip
    facts = collect(str(tree(tmp_path, **files)), only=["services"])["facts"]
    states = {
        name: facts[f"service:{name}"] for name in ("nvidia-persistenced", "kubelet", "nvidia-imex", "slurmd")
    }
    assert list(states.values()) == ["active", "active", "inactive", "not-found"]


def cards(folder: Path, *ports: tuple[str, str, str, str]) -> Path:
    """Write RDMA devices: name, driver, state and link layer of the one port."""
    files = {"/sys/bus/pci/x": ""}
    for index, (name, bound, state, layer) in enumerate(ports):
        here = f"/sys/class/infiniband/{name}"
        vendor = "1D0F:EFA2" if bound == "efa" else "15B3:1021"
        uevent = f"DRIVER={bound}\nPCI_CLASS=20700\nPCI_ID={vendor}\n"
        files[f"{here}/device/uevent"] = files[f"/sys/bus/pci/devices/0000:{index + 16:02x}:00.0/uevent"] = (
            uevent
        )
        files.update({f"{here}/ports/1/state": state, f"{here}/ports/1/link_layer": layer})
    return tree(folder, **files)


def test_the_toolkit_registers_itself_in_a_file_of_its_own(tmp_path: Path) -> None:
    own = "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia.options]\nBinaryName = '/usr/bin/nvidia-container-runtime'\n"
    files = {
        "/etc/containerd/config.toml": "version = 3\nimports = ['/etc/containerd/conf.d/*.toml']\n",
        "/etc/containerd/conf.d/99-nvidia.toml": own,
    }
    found = collect(str(tree(tmp_path, **files)), only=["containers"])
    assert found["facts"]["containerd_nvidia_runtime"] is True
    assert (
        found["evidence"]["fact:containerd_nvidia_runtime"]["where"]
        == "/etc/containerd/conf.d/99-nvidia.toml"
    )


UP, DOWN = "4: ACTIVE\n", "1: DOWN\n"


@pytest.mark.parametrize(
    ("ports", "expected"),
    [
        # a DGX: compute over InfiniBand, a storage card with a free port, the management interface of a card with planes
        ([("mlx5_0", "mlx5_core", UP, "InfiniBand"), ("mlx5_1", "mlx5_core", DOWN, "Ethernet"), ("smi1", "mlx5_core", DOWN, "InfiniBand")],
         {"nic_count": 2, "ib_devices": 2, "ib_ports_down": 0}),
        ([("mlx5_0", "mlx5_core", UP, "Ethernet"), ("mlx5_1", "mlx5_core", DOWN, "Ethernet")], {"nic_count": 2, "ib_ports_down": 1}),
        ([("mlx5_0", "mlx5_core", UP, "InfiniBand"), ("mlx5_1", "mlx5_core", DOWN, "InfiniBand")], {"ib_ports_down": 1}),
        # p6-b200: the mlx5 ports manage NVSwitches
        ([("rdmap79s0", "efa", UP, "Unspecified"), ("ibp115s0f0", "mlx5_core", UP, "InfiniBand"), ("ibp116s0f0", "mlx5_core", DOWN, "InfiniBand")],
         {"nic_count": 1, "efa_devices": 1, "nvlink_controllers": 2, "ib_devices": None, "ib_ports_down": None}),
    ],
)  # fmt: skip
def test_which_rdma_devices_are_network_cards(
    tmp_path: Path, ports: list[tuple[str, str, str, str]], expected: dict[str, int | None]
) -> None:
    facts = collect(str(cards(tmp_path, *ports)), only=["rdma", "efa"])["facts"]
    assert {name: facts.get(name) for name in expected} == expected


def test_switch_errors() -> None:
    line = "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 MC TS crumbstore MCTO"
    assert [event.number for event in kernellog.events(line, kernellog._SXID)] == [28006]


def test_nccl_conf() -> None:
    text = "# comment\nNCCL_DEBUG=WARN\n NCCL_SOCKET_IFNAME = ^docker0,lo # why\nnonsense\n=x\n"
    assert environment.parse_nccl_conf(text) == {"NCCL_DEBUG": "WARN", "NCCL_SOCKET_IFNAME": "^docker0,lo"}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("NCCL_PROTO", True), ("FI_PROVIDER", True), ("LD_PRELOAD", True), ("SLURM_CPU_BIND", True), ("SLURM_JOB_NODELIST", False),
        ("SLURM_JOB_USER", False), ("PATH", False), ("HF_TOKEN", False), ("VLLM_API_KEY", False), ("AWS_SECRET_ACCESS_KEY", False),
        ("NVIDIA_TF32_OVERRIDE", True), ("WANDB_API_KEY", False),
    ],
)  # fmt: skip
def test_variables_that_say_something(name: str, wanted: bool) -> None:
    assert environment.wanted(name) is wanted


@pytest.mark.parametrize(
    ("value", "kind", "names"),
    [
        (None, "net", ["libnccl-net.so"]),
        ("ofi", "net", ["ofi", "libnccl-net-ofi.so"]),
        ("none", "net", []),
        (
            "/opt/x/libnccl-net-ofi.so",
            "net",
            ["/opt/x/libnccl-net-ofi.so", "libnccl-net-/opt/x/libnccl-net-ofi.so.so"],
        ),
        ("spcx,ofi", "net", ["spcx", "libnccl-net-spcx.so", "ofi", "libnccl-net-ofi.so"]),
        (None, "tuner", ["libnccl-tuner.so"]),
    ],
)
def test_names_nccl_tries_to_open(value: str | None, kind: str, names: list[str]) -> None:
    assert netplugin.candidates(value, kind) == names


def test_environment_blocks() -> None:
    assert parse_environ(b"A=1\0B=x=y\0NOTHING\0C=\0") == {"A": "1", "B": "x=y", "C": ""}
    assert parse_environ(b'export A=1\n# no\nB="two words"\n1X=3\nC-D=4\n') == {"A": "1", "B": "two words"}
    assert parse_environ(b"") == {}


def test_mounts_with_blanks_in_their_names() -> None:
    line = "10.0.0.5@tcp:/fsx /mnt/my\\040data lustre rw,flock 0 0\nshort line\n"
    assert list(parse_mounts(line)) == [Mount("10.0.0.5@tcp:/fsx", "/mnt/my data", "lustre", "rw,flock")]


def test_memory_numbers() -> None:
    assert cpu.parse_meminfo("MemTotal:  2048 kB\nHugePages_Total:     4\nbad\n") == {
        "MemTotal": 2048,
        "HugePages_Total": 4,
    }


def test_os_release() -> None:
    assert system.parse_os_release('ID="amzn"\nVERSION_ID="2023"\n#x=y\nrubbish\n') == {
        "ID": "amzn",
        "VERSION_ID": "2023",
    }


def test_boot_parameters_keep_what_bears_on_gpus() -> None:
    line = "BOOT_IMAGE=/vmlinuz root=UUID=1234 ro iommu=pt intel_idle.max_cstate=1 ip=10.0.0.1 password=x pci=realloc"
    assert system.redact_cmdline(line) == "iommu=pt intel_idle.max_cstate=1 pci=realloc"


def test_uevent() -> None:
    assert pci.parse_uevent("DRIVER=efa\nPCI_ID=1D0F:EFA2\n\n") == {"DRIVER": "efa", "PCI_ID": "1D0F:EFA2"}


def test_access_control_register() -> None:
    config = bytearray(4096)
    struct.pack_into("<I", config, 0x100, 0x0001 | 1 << 16 | 0x148 << 20)
    struct.pack_into("<IHH", config, 0x148, 0x000D | 1 << 16, 0x5F, 0x1D)
    assert topology.acs_control(bytes(config)) == 0x1D
    assert topology.acs_control(bytes(config[:256])) is None
    assert topology.acs_control(bytes(4096)) is None
    struct.pack_into("<I", config, 0x100, 0x0001 | 0x100 << 20)
    assert topology.acs_control(bytes(config)) is None, "a ring of capabilities ends"


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("580.95.05-0ubuntu0.22.04.1", "580.95.05"), ("1:580.126.20-1", "580.126.20"), ("1:4.5.2-1", "4.5.2"), ("3.7.0", "3.7.0"),
        ("2.15.6-1fsx22", "2.15.6"), ("2025.10.14-1", "2025.10.14"), ("1.17.8-1", "1.17.8"),
    ],
)  # fmt: skip
def test_upstream_part_of_a_package_version(version: str, expected: str) -> None:
    assert release(version) == expected


def test_only_installed_packages_of_dpkg_count() -> None:
    text = (
        "Package: a\nStatus: install ok installed\nVersion: 1\n\nPackage: b\nStatus: deinstall ok config-files\nVersion: 2\n\n"
        "Package: c\nVersion: 3\n"
    )
    assert dict(parse_status(text)) == {"a": "1"}


def test_lists_of_processors() -> None:
    assert topology.parse_cpulist("0-2,96-97,7") == {0, 1, 2, 7, 96, 97}
    assert topology.parse_cpulist("") == set()
    assert len(topology.parse_cpulist("0-99999999999")) == 65536, "a hostile list costs no memory"
