"""Every probe there is, in the order in which they start. See ``interface.py`` for how to add one."""

from __future__ import annotations

from stackcheck_probes.interface import Probe
from stackcheck_probes.probes import (
    code,
    driver,
    efa,
    environment,
    loading,
    native,
    packages,
    system,
    torchbuild,
    wheels,
)

PROBES: tuple[Probe, ...] = (
    Probe("identity", "host name, architecture, instance type, container or not", system.identity),
    Probe("kernel", "running kernel and boot parameters", system.kernel),
    Probe("distribution", "distribution and C library", system.distribution),
    Probe("environment", "variables that decide behaviour, nccl.conf", environment.environment),
    Probe("driver", "NVIDIA kernel module, running and on disk", driver.kernel_module),
    Probe("efa", "EFA devices, driver, installer record", efa.efa),
    Probe("native", "every copy of the native libraries, versions, which one is loaded", native.native, 8.0),
    Probe("loader", "what the loader would take, what it cannot find", loading.loader, 8.0),
    Probe("torch", "build of torch, its pins, extensions built for another one", torchbuild.torch_build, 8.0),
    Probe("wheels", "files owned by two wheels, files that were changed", wheels.wheels, 8.0),
    Probe("code", "GPU code in the packages of the environment", code.code, 10.0),
    Probe("packages", "Python environments and what is installed in them", packages.packages),
)
