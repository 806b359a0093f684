"""The healthy nodes: name, why it is there, and how it is composed. Nothing on them deserves a complaint."""

from __future__ import annotations

from collections.abc import Callable

from tests.nodes import tree as parts
from tests.nodes.objects import Spec
from tests.nodes.tree import Tree

DRIVER = "580.126.20"
KERNEL = "6.8.0-1044-aws"
VENV = "/opt/pytorch"


def job_environment(tree: Tree, **more: str) -> None:
    """The environment of a training job in the virtual environment of the image."""
    parts.environment(tree, PATH=f"{VENV}/bin:/opt/amazon/openmpi/bin:/usr/bin:/bin", VIRTUAL_ENV=VENV, HOME="/home/user",
                      **more)  # fmt: skip


def aws_host(
    gpu: parts.Gpu, count: int, instance: str, efa: int, efa_device: str, drives: int, nvlsm: bool = False
) -> Tree:
    """An EC2 GPU instance with an NVSwitch board: Fabric Manager, EFA, GDRCopy, torch in a virtual environment."""
    tree = Tree()
    parts.linux(tree, "ip-10-0-0-1", KERNEL, 2048, instance)
    parts.ubuntu(tree, "22.04", "2.35", "0ubuntu3.11")
    parts.gpus(tree, gpu, count, DRIVER)
    parts.efa(tree, efa, efa_device)
    parts.efa_software(tree)
    extra = {"nvlsm": "2025.10.14-1"} if nvlsm else {}
    parts.host_packages(tree, DRIVER, nvidia_fabricmanager_580=f"{DRIVER}-1", **extra)
    parts.services(tree, "nvidia-fabricmanager", "nvidia-persistenced", "slurmd", "containerd")
    parts.torch_wheels(tree, parts.venv(tree, VENV))
    parts.drives(tree, drives)
    job_environment(tree, **({"CUDA_DEVICE_MAX_CONNECTIONS": "1"} if gpu.capability == (9, 0) else {}))
    return tree


def p5() -> Tree:
    """H100, second EFA generation, 32 cards."""
    return aws_host(parts.H100, 8, "p5.48xlarge", 32, "efa2", 8)


def p5en() -> Tree:
    """H200, third EFA generation, 16 cards."""
    return aws_host(parts.H200, 8, "p5en.48xlarge", 16, "efa3", 8)


def p6_b200() -> Tree:
    """B200, fourth EFA generation, 8 cards, NVLSM beside Fabric Manager."""
    tree = aws_host(parts.B200, 8, "p6-b200.48xlarge", 8, "efa3", 8, nvlsm=True)
    parts.nvlink_controllers(tree, 8)
    return tree


def p6_b300() -> Tree:
    """B300: no library holds sm_103 code, the sm_100 code runs."""
    return aws_host(parts.B300, 8, "p6-b300.48xlarge", 16, "efa3", 8, nvlsm=True)


def p6e_gb200() -> Tree:
    """A GB200 compute tray: arm64, IMEX instead of Fabric Manager, GPU memory kept out of the system's NUMA nodes."""
    tree = Tree(machine="aarch64")
    parts.linux(tree, "ip-10-0-0-2", "6.14.0-1017-aws", 960, "p6e-gb200.36xlarge")
    parts.ubuntu(tree, "24.04", "2.39", "0ubuntu8.6", "3.4.33")
    parts.gpus(tree, parts.GB200, 4, DRIVER)
    tree.text(
        "/proc/driver/nvidia/params",
        'EnableGpuFirmware: 18\nRegistryDwords: ""\nCoherentGPUMemoryMode: "driver"\n',
    )
    parts.efa(tree, 4, "efa3")
    parts.efa_software(tree)
    parts.host_packages(tree, DRIVER, nvidia_imex_580=f"{DRIVER}-1")
    parts.services(tree, "nvidia-imex", "nvidia-persistenced", "slurmd", "containerd")
    tree.small["/dev/nvidia-caps-imex-channels/channel0"] = ""
    tree.text("/cmd/nvidia-imex-ctl", "Connectivity Table Legend:\nC = Connected\n\nDomain State: UP\n")
    parts.torch_wheels(tree, parts.venv(tree, VENV))
    parts.drives(tree, 3)
    job_environment(tree)
    return tree


def g6e() -> Tree:
    """L40S: no NVLink, proprietary-free, runs sm_86 code."""
    tree = Tree()
    parts.linux(tree, "ip-10-0-0-3", KERNEL, 1536, "g6e.48xlarge")
    parts.ubuntu(tree, "22.04", "2.35", "0ubuntu3.11")
    parts.gpus(tree, parts.L40S, 8, DRIVER)
    parts.efa(tree, 4, "efa2")
    parts.efa_software(tree)
    parts.host_packages(tree, DRIVER)
    parts.torch_wheels(tree, parts.venv(tree, VENV))
    parts.drives(tree, 4)
    job_environment(tree)
    return tree


def ib_h100() -> Tree:
    """A bare-metal HGX H100 with eight ConnectX-7, proprietary driver with nvidia-peermem, NVML unavailable to the probe."""
    tree = Tree()
    parts.linux(tree, "gpu-001", "5.15.0-136-generic", 2048, "HGX-H100", vendor="Example Systems")
    parts.ubuntu(tree, "22.04", "2.35", "0ubuntu3.11")
    parts.gpus(tree, parts.H100, 8, "580.126.20", flavour="proprietary")
    del tree.binary["/cmd/nvml"]
    tree.text("/cmd/nvidia-smi", smi_xml("580.126.20", "13.0", 8))
    parts.host_packages(
        tree,
        "580.126.20",
        nvidia_fabricmanager_580="580.126.20-1",
        mlnx_ofed_kernel_dkms="24.10.OFED.24.10.2.1.8.1-1",
    )
    params = "/proc/driver/gdrdrv/params"
    tree.small[params] = tree.small[params].replace("opensource", "proprietary")
    parts.services(tree, "nvidia-fabricmanager", "nvidia-persistenced", "slurmd")
    parts.modules(tree, mlx5_core="24.10-2.1.8", mlx5_ib="24.10-2.1.8", ib_core="24.10-2.1.8", ib_uverbs="")
    for index in range(8):
        address, name = f"0000:{0x18 + index * 0x10:02x}:00.0", f"mlx5_{index}"
        parts.pci(tree, address, "15b3", "1021", "20700", "mlx5_core", index // 4, current_link_speed="32.0 GT/s PCIe",
                  max_link_speed="32.0 GT/s PCIe", current_link_width=16, max_link_width=16)  # fmt: skip
        link = f"/sys/class/infiniband/{name}"
        tree.links[f"{link}/device"] = f"../../../bus/pci/devices/{address}"
        tree.sys(link, fw_ver="28.43.2566")
        tree.sys(f"{link}/ports/1", state="4: ACTIVE", rate="400 Gb/sec (4X NDR)", link_layer="InfiniBand")
        tree.small[f"/dev/infiniband/uverbs{index}"] = ""
    for cpu in (0, 1):
        tree.sys(
            f"/sys/devices/system/cpu/cpu{cpu}/cpufreq",
            scaling_governor="performance",
            scaling_driver="intel_pstate",
        )
    tree.library(f"{tree.multiarch}/libibverbs.so.1.14.50.0", Spec("libibverbs.so.1"))
    parts.torch_wheels(tree, parts.venv(tree, VENV), parts.Torch(
        "2.6.0+cu124", "12.4", "9.1.0.70", "2.21.5", "3.1.7", "3.2.0", "12.4.127"))  # fmt: skip
    job_environment(tree, NCCL_IB_HCA="mlx5")
    return tree


def smi_xml(driver: str, cuda: str, count: int) -> str:
    """Return ``nvidia-smi -q -x`` of healthy H100s."""
    gpu = """<gpu id="00000000:{bus}:00.0">
<product_name>NVIDIA H100 80GB HBM3</product_name><persistence_mode>Enabled</persistence_mode>
<mig_mode><current_mig>Disabled</current_mig><pending_mig>Disabled</pending_mig></mig_mode>
<gpu_virtualization_mode><virtualization_mode>None</virtualization_mode><host_vgpu_mode>N/A</host_vgpu_mode></gpu_virtualization_mode>
<gsp_firmware_version>{driver}</gsp_firmware_version><gpu_recovery_action>None</gpu_recovery_action>
<pci><pci_device_id>233010DE</pci_device_id><pci_gpu_link_info><pcie_gen><max_link_gen>5</max_link_gen>
<current_link_gen>5</current_link_gen></pcie_gen><link_widths><max_link_width>16x</max_link_width>
<current_link_width>16x</current_link_width></link_widths></pci_gpu_link_info><replay_counter>0</replay_counter></pci>
<clocks_event_reasons><clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
<clocks_event_reason_hw_slowdown>Not Active</clocks_event_reason_hw_slowdown></clocks_event_reasons>
<fb_memory_usage><total>81559 MiB</total></fb_memory_usage><compute_mode>Default</compute_mode>
<ecc_mode><current_ecc>Enabled</current_ecc><pending_ecc>Enabled</pending_ecc></ecc_mode>
<ecc_errors><volatile><sram_uncorrectable_parity>0</sram_uncorrectable_parity><dram_uncorrectable>0</dram_uncorrectable></volatile></ecc_errors>
<remapped_rows><remapped_row_corr>0</remapped_row_corr><remapped_row_unc>0</remapped_row_unc>
<remapped_row_pending>No</remapped_row_pending><remapped_row_failure>No</remapped_row_failure></remapped_rows>
<gpu_power_readings><current_power_limit>700.00 W</current_power_limit><default_power_limit>700.00 W</default_power_limit></gpu_power_readings>
<applications_clocks><graphics_clock>1980 MHz</graphics_clock></applications_clocks><max_clocks><graphics_clock>1980 MHz</graphics_clock></max_clocks>
<fabric><state>Completed</state><status>Success</status><cliqueId>0</cliqueId><clusterUuid>00000000-0000-0000-0000-000000000000</clusterUuid></fabric>
</gpu>
"""
    body = "".join(gpu.format(bus=parts.gpu_address(i).split(":")[1], driver=driver) for i in range(count))
    return (f'<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n'
            f"<timestamp>Sun Nov 29 10:00:00 2026</timestamp>\n<driver_version>{driver}</driver_version>\n"
            f"<cuda_version>{cuda}</cuda_version>\n<attached_gpus>{count}</attached_gpus>\n{body}</nvidia_smi_log>\n")  # fmt: skip


def container(tree: Tree, shm: str) -> None:
    """Mounts, marks and limits of a Docker container started for GPU work on a p5.48xlarge."""
    parts.linux(tree, "3f1c0ffee000", KERNEL, 2048, "p5.48xlarge")
    for path in [
        path
        for path in tree.small
        if path.startswith(("/sys/fs/cgroup/system.slice", "/usr/lib/systemd", "/etc/systemd"))
    ]:
        del tree.small[path]
    tree.directories.discard("/run/systemd/system")
    tree.small["/.dockerenv"] = ""
    tree.small["/proc/self/cgroup"] = "0::/\n"
    tree.small["/proc/self/status"] = (
        "Name:\tpython3\nCapEff:\t00000000a88425fb\nSeccomp:\t2\nCpus_allowed_list:\t0-191\n"
    )
    tree.small["/proc/self/mounts"] = (
        "overlay / overlay rw,relatime,lowerdir=/l 0 0\nproc /proc proc rw,nosuid 0 0\nsysfs /sys sysfs ro,nosuid 0 0\n"
        f"shm /dev/shm tmpfs rw,nosuid,nodev,noexec,relatime,size={shm},inode64 0 0\n"
    )
    parts.gpus(tree, parts.H100, 8, DRIVER)
    parts.modules(tree, gdrdrv="2.5.1", nvidia_peermem=DRIVER)
    tree.small["/dev/gdrdrv"] = ""


def ngc() -> Tree:
    """NGC pytorch:25.10-py3: torch built by NVIDIA against the system's libraries, HPC-X and an OFI plug-in of its own."""
    tree = Tree()
    container(tree, "67108864k")
    parts.ubuntu(tree, "24.04", "2.39", "0ubuntu8.6", "3.4.33")
    lib = tree.multiarch
    tree.library(f"{lib}/libnccl.so.2.27.7", parts.nccl(tree, "2.27.7", "13.0"))
    tree.library(f"{lib}/libcudnn.so.9.14.0", Spec("libcudnn.so.9", rpath="$ORIGIN"))
    tree.library(f"{lib}/libcudnn_engines_precompiled.so.9.14.0",
                 Spec("libcudnn_engines_precompiled.so.9", code=tree.code(8, (("sm_90a", 8), ("sm_100f", 8)))))  # fmt: skip
    tree.library(
        "/usr/local/cuda-13.0/targets/x86_64-linux/lib/libcudart.so.13.0.96", Spec("libcudart.so.13")
    )
    tree.library(
        "/usr/local/cuda-13.0/targets/x86_64-linux/lib/libcublas.so.13.1.0.3", Spec("libcublas.so.13")
    )
    tree.library("/usr/local/cuda-13.0/compat/lib.real/libcuda.so.580.95.05", Spec("libcuda.so.1"))
    tree.links["/usr/local/cuda"] = "/usr/local/cuda-13.0"
    tree.links["/usr/local/cuda-13.0/lib64"] = "targets/x86_64-linux/lib"
    tree.small["/usr/local/cuda-13.0/version.json"] = '{"cuda": {"name": "CUDA SDK", "version": "13.0.2"}}\n'
    tree.library(
        "/opt/amazon/aws-ofi-nccl/lib/libnccl-net.so",
        parts.plugin("1.14.0", range(2, 10), range(1, 5), name="libnccl-net.so"),
    )
    tree.library("/opt/amazon/efa/lib/libfabric.so.1.26.0", parts.libfabric("1.22.0amzn4.0", 1, 22))
    tree.small["/etc/ld.so.conf"] = "include /etc/ld.so.conf.d/*.conf\n"
    tree.small["/etc/ld.so.conf.d/00-cuda.conf"] = "/usr/local/cuda/lib64\n"
    tree.small["/etc/ld.so.conf.d/efa.conf"] = "/opt/amazon/efa/lib\n"
    tree.small["/usr/bin/python3"] = ""
    site = "/usr/local/lib/python3.12/dist-packages"
    torch = parts.Torch("2.9.0a0+145a3a7bda.nv25.10", "13.0", "9.14.0", "2.27.7", "3.4.5", "3.4.0", "13.0.96")
    tree.library(f"{lib}/libnvshmem_host.so.3.4.5", Spec("libnvshmem_host.so.3", strings=("NVSHMEM v3.4.5",)))
    parts.torch_package(tree, site, torch, rpath="$ORIGIN")
    for name, version in (
        ("transformer_engine", "2.8.0"),
        ("flash_attn", "2.7.4.post1+25.10"),
        ("numpy", "1.26.4"),
    ):
        tree.wheel(site, name, version)
    parts.environment(tree, PATH="/usr/local/cuda/bin:/usr/bin:/bin", HOME="/root", CUDA_VERSION="13.0.2.006", NVIDIA_VISIBLE_DEVICES="all",
                      LD_LIBRARY_PATH="/usr/local/nvidia/lib:/usr/local/nvidia/lib64:/opt/amazon/aws-ofi-nccl/lib", NVIDIA_PRODUCT_NAME="PyTorch")  # fmt: skip
    parts.efa(tree, 32, "efa2")
    return tree


def dlc() -> Tree:
    """AWS pytorch-training:2.9.0-gpu-py312-cu130-ubuntu22.04-ec2: wheels' libraries first on the path, EFA installer 1.44.0."""
    tree = Tree()
    container(tree, "67108864k")
    parts.ubuntu(tree, "22.04", "2.35", "0ubuntu3.11")
    tree.text("/opt/amazon/efa_installed_packages", (
        "# EFA installer version: 1.44.0\n# Debug packages installed: no\n# Packages installed:\nefa-config_1.18_all efa-profile_1.7_all "
        "libfabric1-aws_2.3.1amzn1.0_amd64 libibverbs1_59.amzn0-1_amd64 libnccl-ofi_1.17.1-1_amd64 rdma-core_59.amzn0-1_amd64\n"))  # fmt: skip
    tree.library("/opt/amazon/efa/lib/libfabric.so.1.29.0", parts.libfabric("2.3.1amzn1.0", 2, 3))
    tree.library(f"{tree.multiarch}/libibverbs.so.1.15.59.0", Spec("libibverbs.so.1"))
    tree.library(
        "/opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so", parts.plugin("1.17.1", range(2, 11), range(1, 6))
    )
    tree.links["/opt/amazon/ofi-nccl/lib/libnccl-net.so"] = "libnccl-net-ofi.so"
    tree.small["/etc/ld.so.conf"] = "include /etc/ld.so.conf.d/*.conf\n"
    tree.small["/etc/ld.so.conf.d/000_efa.conf"] = "/opt/amazon/efa/lib\n"
    tree.small["/etc/ld.so.conf.d/100_ofinccl.conf"] = "/opt/amazon/ofi-nccl/lib\n"
    tree.small["/etc/nccl.conf"] = "NCCL_DEBUG=INFO\nNCCL_SOCKET_IFNAME=^docker0,lo\n"
    tree.small["/usr/local/bin/python3"] = ""
    site = "/usr/local/lib/python3.12/site-packages"
    torch = parts.Torch("2.9.0+cu130", "13.0", "9.13.0.50", "2.27.7", "3.3.24", "3.5.0", "13.0.48")
    parts.torch_wheels(tree, site, torch)
    tree.wheel(site, "flash_attn", "2.8.3")
    parts.environment(tree, PATH="/usr/local/bin:/usr/bin:/bin", HOME="/root", NVIDIA_VISIBLE_DEVICES="all",
                      LD_LIBRARY_PATH=f"{site}/nvidia/cudnn/lib:{site}/nvidia/nccl/lib:/opt/amazon/ofi-nccl/lib:/opt/amazon/efa/lib")  # fmt: skip
    parts.efa(tree, 32, "efa2")
    return tree


def _node(function: Callable[[], Tree]) -> tuple[str, Callable[[], Tree]]:
    return (function.__doc__ or "").strip(), function


NODES: dict[str, tuple[str, Callable[[], Tree]]] = {
    "p5.48xlarge": _node(p5),
    "p5en.48xlarge": _node(p5en),
    "p6-b200.48xlarge": _node(p6_b200),
    "p6-b300.48xlarge": _node(p6_b300),
    "p6e-gb200.36xlarge": _node(p6e_gb200),
    "g6e.48xlarge": _node(g6e),
    "ib-h100": _node(ib_h100),
    "ngc-pytorch-25.10": _node(ngc),
    "dlc-pytorch-2.9": _node(dlc),
}
