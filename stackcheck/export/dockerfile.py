"""A Dockerfile: from the stack's image, what has to be added to it, and the environment it needs.

Format: https://docs.docker.com/reference/dockerfile/. Host components are named in comments; no image can hold them.
"""

from __future__ import annotations

from collections.abc import Iterator

from stackcheck.export.packages import Package, packages, torch_backend
from stackcheck.export.quoting import (
    REGION,
    comments,
    header,
    no_reference,
    plain,
    reason,
    reference,
    shell,
    variables,
    version,
    wanted,
)
from stackcheck.model.stack import Pin, Stack

INSTALLER = "efa-installer"
BROUGHT_BY_INSTALLER = ("aws-ofi-nccl", "libfabric", "rdma-core")
"""The user space that the EFA installer brings into a container."""

SOURCE = "source"
"""How the matrices label the build of a package that comes as sources."""
BUILD_TOOLS = ("setuptools", "wheel", "packaging", "psutil", "ninja")
"""What the builds of these import besides torch; an isolated build would fetch it itself."""


def render(stack: Stack) -> str:
    """Return the file. What a stack does not say is a build argument without default, never a guess."""
    added = [p for p in stack.pins if p.origin == "install" and p.scope in ("container", "")]
    lines = [*header(stack, "Image"), *_from(stack), *_host(stack)]
    lines += _efa(stack, added)
    found = list(packages(added))
    lines += _python(found, list(packages(p for p in stack.pins if p.origin == "image")))
    covered = {p.pin.component for p in found} | {INSTALLER, *BROUGHT_BY_INSTALLER}
    lines += _by_hand([p for p in added if p.component not in covered and p.layer != "platform"])
    lines += _environment(stack)
    return "\n".join(lines) + "\n"


def _from(stack: Stack) -> Iterator[str]:
    image, ref = stack.image, reference(stack)
    for text in (*(image.why[:1] if image else ()), *(image.notes if image else ())):
        yield from comments(text)
    if not ref:
        yield from comments(no_reference(stack))
        yield "# docker build --build-arg BASE_IMAGE=..."
        yield "ARG BASE_IMAGE"
        yield "FROM ${BASE_IMAGE}"
        return
    if REGION in ref:
        yield "# docker build --build-arg AWS_REGION=... (the region of the registry to pull from)"
        yield "ARG AWS_REGION"
    yield f"FROM {ref.replace(REGION, '${AWS_REGION}')}"


def _host(stack: Stack) -> Iterator[str]:
    pins = [p for p in stack.pins if p.scope == "host"]
    if pins:
        yield ""
        yield "# On the host, not in this image:"
    for pin in pins:
        yield from comments(f"- {wanted(pin)}")


def _efa(stack: Stack, added: list[Pin]) -> Iterator[str]:
    wanted = [p for p in added if p.component in (INSTALLER, *BROUGHT_BY_INSTALLER)]
    if not wanted:
        return
    installer = version(stack.pin(INSTALLER))
    brought = ", ".join(f"{p.component} {p.version}" for p in wanted if p.component != INSTALLER)
    yield ""
    if not installer:
        yield from comments(f"To install, by an EFA installer that the stack does not name: {brought}")
        return
    yield from comments(
        f"EFA user space{': ' + brought if brought else ''}; the kernel module stays on the host"
    )
    for pin in wanted:
        yield from comments(f"{pin.component}: {reason(pin)}")
    archive = f"aws-efa-installer-{installer}.tar.gz"
    refresh = "apt-get update && " if stack.image and stack.image.os.startswith(("ubuntu", "debian")) else ""
    yield f"RUN {refresh}curl -fsSLO https://efa-installer.amazonaws.com/{archive} \\"
    yield f" && tar -xf {archive} \\"
    yield " && (cd aws-efa-installer && ./efa_installer.sh -y --skip-kmod --skip-limit-conf --no-verify) \\"
    yield f" && rm -rf aws-efa-installer {archive}"


def _python(added: list[Package], held: list[Package]) -> Iterator[str]:
    if not added:
        return
    yield ""
    for package in added:
        yield from comments(f"{package.name}: {reason(package.pin)}")
        yield from comments(package.hint)
    hold = ""
    held = [p for p in held if p.name not in {a.name for a in added}]
    if held:
        yield "# what the image holds is a constraint, so that pip does not replace it"
        pins = " ".join(shell(p.specifier) for p in held)
        hold = " -c /tmp/held.txt"
        yield f"RUN printf '%s\\n' {pins} > /tmp/held.txt"
    compiled = [p for p in added if _is_compiled(p)]
    yield from _install([p for p in added if p not in compiled], hold)
    if compiled:
        yield "# compiled against the torch that is there by now: the base needs nvcc and a C++ compiler"
        yield f"RUN python3 -m pip install --no-cache-dir {' '.join(BUILD_TOOLS)} \\"
        yield f" && python3 -m pip install --no-cache-dir --no-build-isolation{hold} \\"
        yield " \\\n".join(f"      {shell(p.specifier)}" for p in compiled)


def _is_compiled(package: Package) -> bool:
    return package.pin.build == SOURCE or bool(package.pin.builds_against)


def _install(added: list[Package], hold: str) -> Iterator[str]:
    if not added:
        return
    backend = torch_backend(added)
    if backend:
        yield "RUN python3 -m pip install --no-cache-dir uv \\"
        yield f" && uv pip install --system --no-cache --torch-backend={backend}{hold} \\"
    else:
        yield f"RUN python3 -m pip install --no-cache-dir{hold} \\"
    yield " \\\n".join(f"      {shell(p.specifier)}" for p in added)


def _by_hand(pins: list[Pin]) -> Iterator[str]:
    if pins:
        yield ""
        yield "# To install as well; no package of the Python index holds these:"
    for pin in pins:
        yield from comments(f"- {pin.component} {pin.version}: {reason(pin)}")


def _environment(stack: Stack) -> Iterator[str]:
    held = stack.image.environment if stack.image else {}
    if stack.environment:
        yield ""
        yield "# what this target needs"
    for name, value in variables(stack.environment):
        if name in held and plain(held[name]) != value:
            yield from comments(f"the image sets {name}={held[name]}")
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
        yield f'ENV {name}="{escaped}"'
    kept = [f"{n}={v}" for n, v in variables(held) if n not in stack.environment]
    if kept:
        yield ""
        yield "# set by the image already:"
        for line in kept:
            yield from comments(f"- {line}")
