"""Every probe there is, in the order in which they start. See ``interface.py`` for how to add one."""

from __future__ import annotations

from stackcheck_probes.interface import Probe
from stackcheck_probes.probes import driver, efa, environment, packages, system

PROBES: tuple[Probe, ...] = (
    Probe("identity", "host name, architecture, instance type, container or not", system.identity),
    Probe("kernel", "running kernel and boot parameters", system.kernel),
    Probe("distribution", "distribution and C library", system.distribution),
    Probe("environment", "variables that decide behaviour, nccl.conf", environment.environment),
    Probe("driver", "NVIDIA kernel module, running and on disk", driver.kernel_module),
    Probe("efa", "EFA devices, driver, installer record", efa.efa),
    Probe("packages", "Python environments and what is installed in them", packages.packages),
)
