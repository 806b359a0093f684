"""A lifecycle script for SageMaker HyperPod: hold a node's driver and EFA user space against the stack when it is created.

Format: https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-lifecycle-best-practices-slurm.html: a shell script run as root
on each new node; a failing one fails the node. The AMI brings the driver, so a driver that is too old is reported, not replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackcheck.export.quoting import comments, header, version, wanted
from stackcheck.model.stack import Pin, Stack

_FLOOR = re.compile(r">=\s*([A-Za-z0-9][A-Za-z0-9._+~-]*)\Z", re.ASCII)

_PRELUDE = """set -eu

# whether version $1 is at least version $2
at_least() { [ "$(printf '%s\\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }"""

_EFA = """
have=$(sed -n 's/^# EFA installer version: //p' /opt/amazon/efa_installed_packages 2>/dev/null || true)
if ! at_least "${have:-0}" "$want"; then
    cd "$(mktemp -d)"
    curl -fsSLO "https://efa-installer.amazonaws.com/aws-efa-installer-$install.tar.gz"
    tar -xf "aws-efa-installer-$install.tar.gz"
    (cd aws-efa-installer && ./efa_installer.sh -y)
fi"""


def render(stack: Stack) -> str:
    """Return the script; other host components are named in comments."""
    driver, efa = stack.pin("driver"), stack.pin("efa-installer")
    lines = ["#!/bin/bash", *header(stack, "HyperPod lifecycle script"), *_named(stack)]
    lines += _PRELUDE.split("\n")
    lines += _driver(driver) if driver and version(driver) else ["", "# The stack names no driver."]
    if efa and version(efa):
        lines += ["", f"want={_floor(efa)}", f"install={version(efa)}", *_EFA.strip("\n").split("\n")]
    else:
        lines += ["", "# The stack names no EFA installer."]
    return "\n".join(lines) + "\n"


def _floor(pin: Pin) -> str:
    """Return the lowest version that would do: a plain `>=` range if the pin has one, else the version itself."""
    match = _FLOOR.match(pin.accepts)
    return match[1] if match else version(pin)


def _driver(pin: Pin) -> Iterator[str]:
    yield ""
    yield from comments("; ".join(pin.why[:1]))
    yield f"want={_floor(pin)}"
    yield "have=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1)"
    yield 'if ! at_least "$have" "$want"; then'
    yield '    echo "driver $have is older than $want: choose an AMI release with a newer one" >&2'
    yield "    exit 1"
    yield "fi"


def _named(stack: Stack) -> Iterator[str]:
    for pin in stack.pins:
        if pin.scope in ("host", "cluster") and pin.component not in ("driver", "efa-installer"):
            yield from comments(f"needs on the node as well: {wanted(pin)}")
