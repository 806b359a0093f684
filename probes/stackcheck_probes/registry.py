"""Every probe there is, in the order in which they start. See ``interface.py`` for how to add one."""

from __future__ import annotations

from stackcheck_probes.interface import Probe
from stackcheck_probes.probes import (
    code,
    containers,
    cpu,
    driver,
    efa,
    engines,
    environment,
    gpus,
    infiniband,
    kernellog,
    limits,
    loading,
    modules,
    native,
    netplugin,
    packages,
    scheduler,
    services,
    storage,
    syspackages,
    system,
    toolkit,
    topology,
    torchbuild,
    wheels,
)

SLOW, SLOWER = 8.0, 12.0

PROBES: tuple[Probe, ...] = (
    Probe("gpus", "GPUs and their state, by NVML in a child process", gpus.gpus, SLOWER),
    Probe("kernel-log", "Xid and SXid errors, limited PCIe links", kernellog.kernel_log, 5.0),
    Probe("imex", "state of the multi-node NVLink domain", modules.imex_domain, 5.0),
    Probe("identity", "host name, architecture, instance type, container or not", system.identity),
    Probe("kernel", "running kernel and boot parameters", system.kernel),
    Probe("distribution", "distribution and C library", system.distribution),
    Probe("interpreter", "the Python that runs the probe", system.interpreter),
    Probe("environment", "variables that decide behaviour, nccl.conf", environment.environment),
    Probe("driver", "NVIDIA kernel module, running and on disk", driver.kernel_module, SLOW),
    Probe("user-driver", "libcuda that would be loaded, forward compatibility", toolkit.user_driver, SLOW),
    Probe("modules", "kernel modules and device nodes", modules.modules),
    Probe("gdrcopy", "gdrdrv and the driver flavour it was built for", modules.gdrcopy),
    Probe("peer-memory", "nvidia-peermem", modules.peer_memory),
    Probe("direct-storage", "nvidia-fs, cuFile policy", modules.direct_storage),
    Probe("services", "daemons of the driver and schedulers, logind", services.services),
    Probe("system-packages", "components known to dpkg or rpm alone", syspackages.system_packages, SLOW),
    Probe("efa", "EFA devices, driver, installer record", efa.efa),
    Probe("rdma", "RDMA devices and ports", infiniband.rdma),
    Probe("pcie", "PCIe links and NUMA nodes of GPUs and network", topology.pcie),
    Probe("affinity", "CPUs of the process beside its GPUs", topology.affinity, SLOWER),
    Probe("iommu", "IOMMU mode", topology.iommu),
    Probe("acs", "PCIe access control on bridges", topology.access_control),
    Probe("cpu", "governor, idle states, NUMA, clock source", cpu.processor),
    Probe("memory", "memory, swap, huge pages", cpu.memory),
    Probe("limits", "locked memory and other limits, capabilities, seccomp", limits.limits),
    Probe("shm", "size of /dev/shm", limits.shared_memory),
    Probe("cgroup", "control group limits", limits.control_group),
    Probe("containers", "container runtimes and how they pass GPUs", containers.containers),
    Probe("storage", "Lustre, network file systems, local NVMe", storage.storage),
    Probe("scheduler", "Slurm, pyxis, enroot, kubelet", scheduler.scheduler, 5.0),
    Probe("toolkit", "CUDA toolkits", toolkit.toolkits, 5.0),
    Probe("packages", "Python environments and what is installed in them", packages.packages, SLOW),
    Probe("loader", "what the loader would take, what it cannot find", loading.loader, SLOWER),
    Probe("net-plugin", "the network plug-in NCCL would open", netplugin.net_plugin, SLOWER),
    Probe("engines", "attention kernels inside vLLM", engines.engines, SLOW),
    Probe("triton", "assemblers of Triton", toolkit.assemblers, SLOW),
    # the last, as a second process of ours works for them meanwhile
    Probe(
        "wheels", "files owned by two wheels, files that were changed", wheels.wheels, SLOWER, wheels.ahead
    ),
    Probe(
        "native", "every copy of the native libraries, versions, which one is loaded", native.native, SLOWER
    ),
    Probe(
        "torch", "build of torch, its pins, extensions built for another one", torchbuild.torch_build, SLOWER
    ),
    Probe("code", "GPU code in the packages of the environment", code.code, SLOWER, code.ahead),
)
