"""A node tree in the making, and the parts of which trees are composed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tests.nodes.objects import Spec, build

TARGETS = {
    "x86_64": ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"),
    "aarch64": ("sm_80", "sm_90", "sm_100", "sm_110", "sm_120"),
}


@dataclass
class Tree:
    """Files of a node: ``small`` ones go into node.json, others become real files."""

    machine: str = "x86_64"
    small: dict[str, str] = field(default_factory=dict)
    binary: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    directories: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)

    @property
    def multiarch(self) -> str:
        """Return Debian's library directory."""
        return f"/usr/lib/{self.machine}-linux-gnu"

    def text(self, path: str, content: str) -> None:
        """Add a real text file."""
        self.binary[path] = content.encode()

    def sys(self, directory: str, **values: object) -> None:
        """Add small files of /sys or /proc, each with a line feed."""
        for name, value in values.items():
            self.small[f"{directory}/{name}"] = f"{value}\n"

    def library(self, path: str, spec: Spec) -> None:
        """Add an ELF object; a name with a version gets the usual links."""
        self.binary[path] = build(replace(spec, machine=self.machine))
        directory, _, name = path.rpartition("/")
        if spec.soname and spec.soname != name:
            self.links[f"{directory}/{spec.soname}"] = name

    def wheel(
        self, site: str, name: str, version: str, files: tuple[str, ...] = (), requires: tuple[str, ...] = ()
    ) -> None:
        """Add the metadata of an installed wheel with a RECORD of the files already in the tree."""
        folder = f"{site}/{name.replace('-', '_')}-{version}.dist-info"
        lines = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Dist: {one}" for one in requires]
        self.small[f"{folder}/METADATA"] = "\n".join(lines) + "\n\nText.\n"
        record = [f"{path[len(site) + 1 :]},sha256=x,{len(self.binary[path])}" for path in files]
        stem = folder.rpartition("/")[2]
        self.small[f"{folder}/RECORD"] = "\n".join([*record, f"{stem}/METADATA,,", f"{stem}/RECORD,,"]) + "\n"

    def code(
        self, per_target: int = 20, extra: tuple[tuple[str, int], ...] = ()
    ) -> tuple[tuple[str, int], ...]:
        """Return the GPU code of a library built for the usual targets."""
        return tuple((target, per_target) for target in TARGETS[self.machine]) + extra


def linux(
    tree: Tree, name: str, kernel: str, memory_gb: int, product: str = "", vendor: str = "Amazon EC2"
) -> None:
    """Kernel, processor, memory and limits of a healthy machine."""
    tree.sys(
        "/proc/sys/kernel",
        hostname=name,
        osrelease=kernel,
        arch=tree.machine,
        numa_balancing=0,
        nmi_watchdog=0,
    )
    tree.sys("/proc/sys/vm", zone_reclaim_mode=0, overcommit_memory=0)
    tree.sys("/proc/sys/fs", **{"file-max": 9223372036854775807})
    tree.small["/proc/cmdline"] = (
        f"BOOT_IMAGE=/boot/vmlinuz-{kernel} root=PARTUUID=0000 ro console=ttyS0 nvme_core.io_timeout=4294967295 "
        "panic=-1 intel_idle.max_cstate=1 processor.max_cstate=1 transparent_hugepage=madvise\n"
    )
    total = memory_gb * 1048576
    tree.small["/proc/meminfo"] = (
        f"MemTotal:       {total} kB\nMemFree:        {total // 2} kB\nSwapTotal:             0 kB\nSwapFree:              0 kB\n"
        "HugePages_Total:    5128\nHugePages_Free:     5128\nHugepagesize:       2048 kB\n"
    )
    tree.sys(
        "/sys/kernel/mm/transparent_hugepage",
        enabled="always [madvise] never",
        defrag="always defer [madvise] never",
    )
    tree.sys("/sys/devices/system/clocksource/clocksource0", current_clocksource="tsc")
    tree.sys("/sys/module/intel_idle/parameters", max_cstate=1)
    for node in (0, 1):
        tree.sys(f"/sys/devices/system/node/node{node}", cpulist=f"{node * 96}-{node * 96 + 95}")
    for cpu in (0, 1):
        tree.sys(f"/sys/devices/system/cpu/cpu{cpu}/cpuidle/state0", name="POLL", disable=0)
        tree.sys(f"/sys/devices/system/cpu/cpu{cpu}/cpuidle/state1", name="C1", disable=0)
    tree.directories.update({"/sys/kernel/iommu_groups", "/sys/fs/cgroup", "/run/systemd/system"})
    tree.sys("/sys/fs/cgroup", **{"cgroup.controllers": "cpuset cpu io memory hugetlb pids rdma misc"})
    tree.small["/proc/self/cgroup"] = "0::/system.slice/slurmd.service\n"
    tree.small["/proc/self/limits"] = LIMITS.format(memlock="unlimited")
    tree.small["/proc/self/status"] = (
        "Name:\tpython3\nCapEff:\t0000000000000000\nSeccomp:\t0\nCpus_allowed_list:\t0-191\n"
    )
    tree.small["/proc/self/mounts"] = (
        "/dev/nvme0n1p1 / ext4 rw,relatime,discard 0 0\nproc /proc proc rw,nosuid 0 0\nsysfs /sys sysfs rw,nosuid 0 0\n"
        "tmpfs /dev/shm tmpfs rw,nosuid,nodev,inode64 0 0\n"
    )
    if product:
        tree.sys("/sys/class/dmi/id", sys_vendor=vendor, product_name=product)
    services(tree, "nvidia-persistenced", "slurmd", "irqbalance")
    tree.small["/etc/systemd/logind.conf"] = "[Login]\nRemoveIPC=no\n"


LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max stack size            8388608              unlimited            bytes
Max processes             8255537              8255537              processes
Max open files            1048576              1048576              files
Max locked memory         {memlock:<20} {memlock:<20} bytes
"""


def services(tree: Tree, *names: str) -> None:
    """Units that are installed and run."""
    for number, name in enumerate(names):
        tree.small[f"/sys/fs/cgroup/system.slice/{name}.service/cgroup.procs"] = f"{2000 + number}\n"
        tree.small[f"/usr/lib/systemd/system/{name}.service"] = f"[Unit]\nDescription={name}\n"


def ubuntu(tree: Tree, version: str, glibc: str, build: str, glibcxx: str = "3.4.30") -> None:
    """Ubuntu's identity, C and C++ library."""
    tree.small["/etc/os-release"] = (
        f'PRETTY_NAME="Ubuntu {version} LTS"\nNAME="Ubuntu"\nVERSION_ID="{version}"\nID=ubuntu\nID_LIKE=debian\n'
    )
    banner = f"GNU C Library (Ubuntu GLIBC {glibc}-{build}) stable release version {glibc}.\n"
    tree.library(f"{tree.multiarch}/libc.so.6", Spec("libc.so.6", strings=(banner,)))
    minor = int(glibcxx.rpartition(".")[2])
    tree.library(
        f"{tree.multiarch}/libstdc++.so.6.0.{minor}",
        Spec(
            "libstdc++.so.6", versions=("GLIBCXX_3.4", "GLIBCXX_3.4.21", f"GLIBCXX_{glibcxx}", "CXXABI_1.3")
        ),
    )


def packages(tree: Tree, **versions: str) -> None:
    """The status file of dpkg; underscores in names stand for hyphens."""
    arch = "amd64" if tree.machine == "x86_64" else "arm64"
    stanzas = [
        f"Package: {name.replace('_', '-')}\nStatus: install ok installed\nArchitecture: {arch}\nVersion: {version}\n"
        for name, version in sorted(versions.items())
    ]
    tree.small["/var/lib/dpkg/status"] = "\n".join(stanzas)


@dataclass(frozen=True)
class Gpu:
    """A GPU as NVML and PCI show it."""

    name: str
    device: str
    capability: tuple[int, int]
    memory: int
    watts: int
    pcie: int
    links: int
    fabric: bool
    clock: int
    health: int = 0


H100 = Gpu("NVIDIA H100 80GB HBM3", "2330", (9, 0), 81559, 700, 5, 18, True, 1980)
H200 = Gpu("NVIDIA H200", "2335", (9, 0), 143771, 700, 5, 18, True, 1980)
B200 = Gpu("NVIDIA B200", "2901", (10, 0), 183359, 1000, 5, 18, True, 1965, 0b10)
B300 = Gpu("NVIDIA B300 SXM6 AC", "3182", (10, 3), 275040, 1100, 6, 18, True, 1920, 0b10)
GB200 = Gpu("NVIDIA GB200", "2941", (10, 0), 189471, 1200, 5, 18, True, 2062, 0b10)
L40S = Gpu("NVIDIA L40S", "26b9", (8, 9), 46068, 350, 4, 0, False, 2520)


def pci(
    tree: Tree, address: str, vendor: str, device: str, code: str, driver: str, numa: int, **more: object
) -> None:
    """A PCI function."""
    directory = f"/sys/bus/pci/devices/{address}"
    lines = [f"DRIVER={driver}"] if driver else []
    lines += [f"PCI_CLASS={code}", f"PCI_ID={vendor.upper()}:{device.upper()}", f"PCI_SLOT_NAME={address}"]
    tree.small[f"{directory}/uevent"] = "\n".join(lines) + "\n"
    tree.sys(directory, numa_node=numa, **more)


def gpus(tree: Tree, gpu: Gpu, count: int, driver: str, flavour: str = "open") -> None:
    """GPUs with their driver, running and answering."""
    title = (
        "NVIDIA UNIX Open Kernel Module for x86_64"
        if flavour == "open"
        else "NVIDIA UNIX x86_64 Kernel Module"
    )
    title = title.replace("x86_64", tree.machine)
    tree.text("/proc/driver/nvidia/version", (
        f"NVRM version: {title}  {driver}  Release Build  (dvs-builder@U22-I3)  Mon Jan 12 19:38:01 UTC 2026\n"
        "GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)\n"))  # fmt: skip
    tree.text(
        "/proc/driver/nvidia/params",
        'EnableGpuFirmware: 18\nDmaRemapPeerMmio: 1\nRegistryDwords: ""\nCoherentGPUMemoryMode: ""\n',
    )
    modules(tree, nvidia=driver, nvidia_uvm=driver)
    tree.sys("/sys/module/nvidia", taint="OE" if flavour == "open" else "POE")
    answers = []
    for index in range(count):
        address = gpu_address(index)
        speed = {4: "16.0 GT/s PCIe", 5: "32.0 GT/s PCIe", 6: "64.0 GT/s PCIe"}[gpu.pcie]
        pci(tree, address, "10de", gpu.device, "30200", "nvidia", index * 2 // max(count, 2),
            current_link_speed=speed, max_link_speed=speed, current_link_width=16, max_link_width=16)  # fmt: skip
        tree.small[f"/proc/driver/nvidia/gpus/{address}/information"] = (
            f"Model: \t\t {gpu.name}\nIRQ:   \t\t {100 + index}\nGPU UUID: \t GPU-00000000-0000-0000-0000-00000000000{index}\n"
            f"Video BIOS: \t 96.00.74.00.01\nBus Type: \t PCIe\nDMA Size: \t 52 bits\nBus Location: \t {address}\n"
            f"Device Minor: \t {index}\nGPU Firmware: \t {driver}\nGPU Excluded:\t No\n")  # fmt: skip
        answers.append(nvml_gpu(gpu, address, driver))
        tree.small[f"/dev/nvidia{index}"] = ""
    tree.small.update({"/dev/nvidiactl": "", "/dev/nvidia-uvm": ""})
    nvml(tree, driver, answers)
    for name in ("cuda", "nvidia-ml"):
        path = f"{tree.multiarch}/lib{name}.so.{driver}"
        tree.library(path, Spec(f"lib{name}.so.1"))
    tree.text(
        "/cmd/kernel-log", f"[    3.520118] NVRM: loading {title}  {driver}  Mon Jan 12 19:38:01 UTC 2026\n"
    )


def gpu_address(index: int) -> str:
    """Return the PCI address of a GPU."""
    return f"0000:{0x53 + 0x11 * index if index < 4 else 0x97 + 0x11 * (index - 4):02x}:00.0"


def nvml_gpu(gpu: Gpu, address: str, driver: str) -> dict[str, object]:
    """Return the answer of ``nvml_child.gpu`` for a healthy idle GPU."""
    answer: dict[str, object] = {
        "name": gpu.name, "bus_id": f"0000{address}", "device_id": gpu.device, "capability": list(gpu.capability),
        "persistence": [1], "ecc": [1, 1], "remapped": [0, 0, 0, 0], "power_limit": [gpu.watts * 1000],
        "power_default": [gpu.watts * 1000], "pcie_gen": [gpu.pcie], "pcie_gen_max": [gpu.pcie], "pcie_width": [16],
        "pcie_width_max": [16], "replays": [0], "mig": [0, 0], "compute_mode": [0], "virtualization": [1],
        "ecc_volatile": [0], "ecc_aggregate": [0], "reasons": [1], "clock_graphics": [gpu.clock],
        "clock_graphics_max": [gpu.clock], "memory": [gpu.memory], "gsp": driver,
    }  # fmt: skip
    if gpu.links:
        answer["links"] = [1] * gpu.links
    if gpu.fabric:
        answer["fabric"] = {"state": 3, "status": 0, "clique": 0, "health": gpu.health, "cluster": "00" * 16}
    return answer


def nvml(tree: Tree, driver: str, answers: list[dict[str, object]]) -> None:
    """The captured answer of NVML."""
    whole = {
        "driver": driver,
        "nvml": f"13.{driver}",
        "cuda": [13000],
        "confidential_computing": 0,
        "gpus": answers,
    }
    tree.text("/cmd/nvml", json.dumps(whole) + "\n")


def modules(tree: Tree, **versions: str) -> None:
    """Loaded kernel modules with their versions (empty: a module without version file)."""
    for name, version in versions.items():
        directory = f"/sys/module/{name}"
        tree.directories.add(directory)
        if version:
            tree.sys(directory, version=version)


def efa(tree: Tree, count: int, device: str, driver: str = "3.3.0") -> None:
    """EFA devices with ports that are up, and their device nodes."""
    modules(tree, efa=f"{driver}g", ib_core="", ib_uverbs="", efa_nv_peermem="1.2.3")
    for index in range(count):
        bus = 0x20 + index * 4
        address, name = f"0000:{bus:02x}:19.0", f"rdmap{bus}s25"
        p2p = {"p2p": "NVIDIA"} if index == 0 else {}
        pci(tree, address, "1d0f", device, "20000", "efa", index * 2 // max(count, 2), **p2p)
        link = f"/sys/class/infiniband/{name}"
        tree.links[f"{link}/device"] = f"../../../bus/pci/devices/{address}"
        tree.sys(f"{link}/ports/1", state="4: ACTIVE", rate="100 Gb/sec (4X EDR)", link_layer="Unspecified")
        tree.sys(f"{link}/ports/1/hw_counters", rx_drops=0, rdma_read_wr_err=0)
        tree.small[f"/dev/infiniband/uverbs{index}"] = ""


def nvlink_controllers(tree: Tree, first: int) -> None:
    """The two ports by which NVLSM manages the NVSwitches of an NVLink 5 board: EC2 shows them beside the EFA devices."""
    modules(tree, mlx5_core="", mlx5_ib="", ib_umad="")
    for index, state in enumerate(("4: ACTIVE", "1: DOWN")):
        bus = 0x73 + index
        address, name = f"0000:{bus:02x}:00.0", f"ibp{bus}s0f0"
        pci(tree, address, "15b3", "1021", "20700", "mlx5_core", 0, current_link_speed="32.0 GT/s PCIe",
            max_link_speed="32.0 GT/s PCIe", current_link_width=2, max_link_width=16)  # fmt: skip
        link = f"/sys/class/infiniband/{name}"
        tree.links[f"{link}/device"] = f"../../../bus/pci/devices/{address}"
        tree.sys(link, fw_ver="28.44.2524")
        tree.sys(f"{link}/ports/1", state=state, rate="400 Gb/sec (4X NDR)", link_layer="InfiniBand")
        tree.small[f"/dev/infiniband/uverbs{first + index}"] = ""


def efa_software(tree: Tree) -> None:
    """What the EFA installer 1.50.0 leaves behind on Debian's family."""
    arch = "amd64" if tree.machine == "x86_64" else "arm64"
    listed = ("efa-config_1.18_all efa-profile_1.7_all efa_3.3.0-1.amzn1_all ibverbs-providers_64.0-1_A libfabric1-aws_2.6.0amzn1.0_A "
              "libfabric-aws-bin_2.6.0amzn1.0_A libibverbs1_64.0-1_A libnccl-ofi_1.21.1-1_A openmpi40-aws_4.1.7-1_A "
              "openmpi50-aws_5.0.9amzn1_A rdma-core_64.0-1_A efa-nv-peermem_1.2.3-1.amzn1_A")  # fmt: skip
    tree.text("/opt/amazon/efa_installed_packages", (
        "# EFA installer version: 1.50.0\n# Debug packages installed: no\n# Packages installed:\n" + listed.replace("_A", f"_{arch}") + "\n"))  # fmt: skip
    tree.library("/opt/amazon/efa/lib/libfabric.so.1.32.0", libfabric("2.6.0amzn1.0", 2, 6))
    tree.library(f"{tree.multiarch}/libibverbs.so.1.15.64.0", Spec("libibverbs.so.1"))
    tree.library(f"{tree.multiarch}/libefa.so.1.4.64.0", Spec("libefa.so.1", needed=("libibverbs.so.1",)))
    tree.library(
        "/opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so", plugin("1.21.1", range(4, 13), (2, 3, 6), (11, 13, 14))
    )
    tree.links["/opt/amazon/ofi-nccl/lib/libnccl-net.so"] = "libnccl-net-ofi.so"
    tree.links["/opt/amazon/ofi-nccl/lib/libnccl-ofi-tuner.so"] = "libnccl-net-ofi.so"
    tree.small["/etc/ld.so.conf"] = "include /etc/ld.so.conf.d/*.conf\n"
    tree.small["/etc/ld.so.conf.d/000_efa.conf"] = "/opt/amazon/efa/lib\n/opt/amazon/openmpi/lib\n"
    tree.small["/etc/ld.so.conf.d/100_ofinccl.conf"] = "/opt/amazon/ofi-nccl/lib\n"
    tree.small[f"/etc/ld.so.conf.d/{tree.machine}-linux-gnu.conf"] = (
        f"# Multiarch support\n/usr/local/lib/{tree.machine}-linux-gnu\n{tree.multiarch}\n"
    )


def libfabric(release: str, major: int, minor: int) -> Spec:
    """A libfabric of that release."""
    return Spec(
        "libfabric.so.1",
        strings=(release, "1.0.0", "127.0.0.1"),
        source=f"unsigned fi_version(void) {{ return {major << 16 | minor}u; }}",
    )


def plugin(
    release: str,
    net: Iterable[int],
    tuner: Iterable[int],
    gin: Iterable[int] = (),
    name: str = "libnccl-net-ofi.so",
) -> Spec:
    """An aws-ofi-nccl plug-in with these interface versions; before 1.15.0 its name was libnccl-net.so."""
    names = [
        f"nccl{kind}Plugin_v{v}"
        for kind, all_ in (("Net", net), ("Tuner", tuner), ("Gin", gin))
        for v in all_
    ]
    return Spec(
        name,
        strings=(f"NET/OFI Initializing aws-ofi-nccl {release}",),
        symbols=tuple(names),
        needed=("libfabric.so.1", "libc.so.6"),
    )


def nccl(tree: Tree, release: str, cuda: str = "13.0", targets: tuple[tuple[str, int], ...] = ()) -> Spec:
    """An NCCL of that release."""
    code = targets or tree.code(6, (("compute_120", 6),))
    return Spec(
        "libnccl.so.2",
        strings=(f"NCCL version {release}+cuda{cuda}",),
        symbols=("ncclGetVersion",),
        code=code,
    )


@dataclass(frozen=True)
class Torch:
    """A torch wheel and what it pins."""

    version: str = "2.14.1+cu130"
    cuda: str = "13.0"
    cudnn: str = "9.24.0.43"
    nccl: str = "2.30.7"
    nvshmem: str = "3.4.5"
    triton: str = "3.8.0"
    cudart: str = "13.0.96"


def torch_wheels(tree: Tree, site: str, torch: Torch = Torch()) -> None:
    """torch of the package index with its CUDA 13 wheels."""
    nv = f"{site}/nvidia"
    tree.library(f"{nv}/nccl/lib/libnccl.so.2", nccl(tree, torch.nccl, torch.cuda))
    tree.wheel(site, "nvidia-nccl-cu13", torch.nccl, (f"{nv}/nccl/lib/libnccl.so.2",))
    tree.library(f"{nv}/cu13/lib/libcudart.so.13", Spec("libcudart.so.13"))
    tree.wheel(site, "nvidia-cuda-runtime", torch.cudart, (f"{nv}/cu13/lib/libcudart.so.13",))
    tree.library(f"{nv}/cudnn/lib/libcudnn.so.9", Spec("libcudnn.so.9", rpath="$ORIGIN"))
    engines = f"{nv}/cudnn/lib/libcudnn_engines_precompiled.so.9"
    tree.library(
        engines, Spec("libcudnn_engines_precompiled.so.9", code=tree.code(8, (("sm_90a", 8), ("sm_100f", 8))))
    )
    tree.wheel(site, "nvidia-cudnn-cu13", torch.cudnn, (f"{nv}/cudnn/lib/libcudnn.so.9", engines))
    tree.library(
        f"{nv}/nvshmem/lib/libnvshmem_host.so.3",
        Spec("libnvshmem_host.so.3", strings=(f"NVSHMEM v{torch.nvshmem}",)),
    )
    tree.wheel(site, "nvidia-nvshmem-cu13", torch.nvshmem, (f"{nv}/nvshmem/lib/libnvshmem_host.so.3",))
    tree.wheel(site, "triton", torch.triton)
    torch_package(tree, site, torch)
    for name, version in (("numpy", "2.3.5"), ("transformers", "4.57.3"), ("filelock", "3.20.0")):
        tree.wheel(site, name, version)


TORCH_RPATH = (
    ":".join(
        f"$ORIGIN/../../nvidia/{part}/lib" for part in ("cudnn", "nvshmem", "nccl", "cusparselt", "cu13")
    )
    + ":$ORIGIN"
)
TORCH_SYMBOLS = (
    "_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
    "_ZN2at5emptyEv",
)


def torch_package(
    tree: Tree, site: str, torch: Torch, rpath: str = TORCH_RPATH, *, new_tags: bool = False
) -> None:
    """torch itself: version file, libraries with their search path, metadata.

    With ``new_tags`` the path is DT_RUNPATH, as linkers write it by default: LD_LIBRARY_PATH comes before it.
    """
    lib = f"{site}/torch/lib"
    own = ("libc.so.6", "libstdc++.so.6")
    tree.small[f"{site}/torch/version.py"] = (
        f"from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']\n"
        f"__version__ = '{torch.version}'\ndebug = False\ncuda: Optional[str] = '{torch.cuda}'\n"
        "git_version = '0000000000000000000000000000000000000000'\nhip: Optional[str] = None\nxpu: Optional[str] = None\n"
    )
    flags = 'set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=1")\n'
    tree.small[f"{site}/torch/share/cmake/Torch/TorchConfig.cmake"] = flags
    old, new = ("", rpath) if new_tags else (rpath, "")
    specs = {
        "libtorch_global_deps.so": Spec("libtorch_global_deps.so", needed=("libcudart.so.13", "libcudnn.so.9", *own), rpath=old, runpath=new),
        "libc10.so": Spec("libc10.so", symbols=TORCH_SYMBOLS[:1], needed=own, rpath="$ORIGIN"),
        "libtorch_cpu.so": Spec("libtorch_cpu.so", symbols=TORCH_SYMBOLS[1:], needed=("libc10.so", *own), rpath="$ORIGIN"),
        "libtorch_cuda.so": Spec(
            "libtorch_cuda.so", code=tree.code(40, (("sm_90a", 1), ("sm_100a", 1))), rpath=old, runpath=new,
            needed=("libc10.so", "libtorch_cpu.so", "libcudart.so.13", "libcudnn.so.9", "libnccl.so.2", "libnvshmem_host.so.3", *own)),
        "libtorch_python.so": Spec("libtorch_python.so", needed=("libtorch_cpu.so", "libtorch_cuda.so", *own), rpath="$ORIGIN"),
    }  # fmt: skip
    for name, spec in specs.items():
        tree.library(f"{lib}/{name}", spec)
    module = f"{site}/torch/_C.cpython-312-{tree.machine}-linux-gnu.so"
    tree.library(module, Spec(needed=("libtorch_python.so",), rpath="$ORIGIN/lib"))
    tree.wheel(site, "torch", torch.version, (*(f"{lib}/{name}" for name in specs), module), (
        f"nvidia-cudnn-cu13=={torch.cudnn}; platform_system == 'Linux'", f"nvidia-nccl-cu13=={torch.nccl}; platform_system == 'Linux'",
        f"nvidia-nvshmem-cu13=={torch.nvshmem}", f"triton=={torch.triton}", "filelock"))  # fmt: skip


def venv(tree: Tree, prefix: str, python: str = "3.12.3") -> str:
    """A virtual environment; returns its site-packages."""
    tree.small[f"{prefix}/pyvenv.cfg"] = (
        f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {python}\n"
    )
    tree.small[f"{prefix}/bin/python3"] = ""
    return f"{prefix}/lib/python{'.'.join(python.split('.')[:2])}/site-packages"


def drives(tree: Tree, count: int) -> None:
    """Instance-store drives in one RAID that is mounted."""
    for index in range(1, count + 1):
        name = f"nvme{index}n1"
        tree.sys(f"/sys/block/{name}/device", model="Amazon EC2 NVMe Instance Storage        ")
        tree.directories.add(f"/sys/block/{name}/holders/md0")
    tree.small["/proc/self/mounts"] += "/dev/md0 /opt/dlami/nvme ext4 rw,relatime,stripe=4096 0 0\n"


HOST_PACKAGES = {
    "nvidia-container-toolkit": "1.18.2-1", "datacenter-gpu-manager-4-core": "1:4.5.2-1", "gdrdrv-dkms": "2.5.1-1",
    "containerd": "2.1.5-0ubuntu1", "libc6": "2.35-0ubuntu3.11",
}  # fmt: skip


def host_packages(tree: Tree, driver: str, **more: str) -> None:
    """The packages of a GPU host."""
    packages(tree, **HOST_PACKAGES, **more)
    modules(tree, gdrdrv="2.5.1", nvidia_peermem=driver)
    tree.small["/proc/driver/gdrdrv/params"] = (
        "Version: 2.5.1\nBuilt for NVIDIA driver flavor: opensource\nUse persistent mapping: no\n"
    )
    tree.small["/dev/gdrdrv"] = ""
    tree.library(f"{tree.multiarch}/libgdrapi.so.2.5.1", Spec("libgdrapi.so.2"))
    tree.small["/etc/nvidia-container-runtime/config.toml"] = '[nvidia-container-runtime]\nmode = "auto"\n'


def environment(tree: Tree, **variables: str) -> None:
    """The environment of the job."""
    tree.text("/environ", "".join(f"{name}={value}\n" for name, value in sorted(variables.items())))
