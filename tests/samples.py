"""One stack, one conflict and one report that hold everything that is hard to write down, for exports and reports."""

from __future__ import annotations

from typing import Any

from stackcheck.model.finding import Finding, FindingEvidence, Grade, Kind, Remedy, Report, Severity
from stackcheck.model.inventory import Evidence, Inventory, Note, Observation
from stackcheck.model.stack import (
    Alternative,
    Change,
    HeldBack,
    Pin,
    Stack,
    StackConflict,
    StackImage,
    Target,
)

NASTY = "a|b <script>alert('x')</script> \"q\" `t` $HOME \\ & ]]> {{x}} %s é 日本 \U0001f600 \x1b[31mred\x1b[0m \u202egnp\r\nnext\x00\x9b2J\ud800"
"""Markup, quotes, shell and format characters, escapes, a direction override, line breaks, NUL, C1 control, lone surrogate."""

DIGEST = "sha256:" + "0123456789abcdef" * 4


def pin(component: str, version: str, layer: str, origin: str, purl: str = "", **more: Any) -> Pin:
    scope = "host" if origin == "host" else "container"
    return Pin(
        component=component, version=version, layer=layer, scope=scope, origin=origin, purl=purl, **more
    )


def hard_stack() -> Stack:
    """A solved stack with an image of a regional registry, every grade, every origin, and nasty texts."""
    return Stack(
        target=Target(
            gpu="b200", instance="p6-b200.48xlarge", gpu_name="NVIDIA B200", gpu_count=8, efa_interfaces=8
        ),
        image=StackImage(
            reference="123456789012.dkr.ecr.<region>.amazonaws.com/pytorch-training:2.9.0-gpu-py312-cu130-ubuntu22.04-ec2",
            repository="123456789012.dkr.ecr.<region>.amazonaws.com/pytorch-training",
            tag="2.9.0-gpu-py312-cu130-ubuntu22.04-ec2",
            family="dlc",
            grade=Grade.SUPPORTED,
            digest=DIGEST,
            verified=True,
            os="ubuntu-22.04",
            date="2026-02-09",
            why=("the newest image whose torch holds sm_100 code", NASTY),
            notes=("its patch window ends on 2026-10-22",),
            environment={"NCCL_NET_PLUGIN": "spcx", "NVIDIA_VISIBLE_DEVICES": "all"},
            sources=("https://example.com/images",),
        ),
        pins=(
            pin(
                "driver",
                "580.95.05",
                "driver",
                "host",
                accepts=">=580.65.06",
                grade=Grade.SUPPORTED,
                why=("CUDA 13.0 needs 580.65.06 or newer, and the B200 the open kernel modules",),
                held_back=(
                    HeldBack("610.43.02", ("branch R610 has been past its end of life since 2026-08",)),
                    HeldBack("595.91.07", ()),
                ),
                sources=("https://example.com/driver",),
            ),
            pin(
                "efa-installer",
                "1.47.0",
                "fabric",
                "host",
                accepts=">=1.43.3",
                grade=Grade.SUPPORTED,
                why=("has the efa module that driver 580 needs",),
            ),
            pin(
                "slurm",
                "24.11.6",
                "scheduler",
                "host",
                grade=Grade.UNKNOWN,
                why=("no source names a pairing",),
            ),
            pin(
                "cuda",
                "13.0.2",
                "cuda",
                "image",
                accepts="==13.0.*",
                grade=Grade.SUPPORTED,
                why=("in the image",),
            ),
            pin(
                "nccl",
                "2.28.9-1",
                "communication",
                "image",
                "pkg:pypi/nvidia-nccl-cu13",
                grade=Grade.CAVEAT,
                why=("in the image; a package of its distribution",),
                caveats=("net API 10 is the highest that both sides speak",),
            ),
            pin(
                "aws-ofi-nccl",
                "1.17.2",
                "fabric",
                "install",
                grade=Grade.DEGRADED,
                why=("the image holds none, and without it NCCL takes sockets",),
            ),
            pin(
                "gdrcopy",
                "2.5.1",
                "communication",
                "install",
                grade=Grade.BROKEN,
                why=("first release for Blackwell",),
            ),
            pin(
                "torch",
                "2.9.0+cu130",
                "framework",
                "image",
                "pkg:pypi/torch@2.9.0%2Bcu130",
                build="cu130",
                grade=Grade.TESTED,
                why=("in the image",),
                held_back=(HeldBack("2.14.0", ("vllm 0.12.0 needs torch ==2.9.0",)),),
            ),
            pin(
                "torchaudio",
                "2.9.0+cu130",
                "framework",
                "install",
                "pkg:pypi/torchaudio",
                build="cu130",
                grade=Grade.SUPPORTED,
                why=("belongs to torch 2.9.0",),
            ),
            pin(
                "vllm",
                "0.12.0",
                "serving",
                "install",
                "pkg:pypi/vllm@0.12.0",
                grade=Grade.SUPPORTED,
                why=(NASTY,),
            ),
            pin("odd|one", "1; rm -rf ~\n", "other", "install", "pkg:pypi/odd", why=()),
        ),
        environment={
            "FI_PROVIDER": "efa",
            "NCCL_NET_PLUGIN": "ofi",
            "NASTY": NASTY,
            "bad name; x": "1",
        },
        notes=("the tag was read on 2026-11-29", NASTY),
        requirements=("vllm", "torch>=2.9"),
        data_version="2026.11.29",
    )


def bare_stack() -> Stack:
    """A solved stack of which nothing is known but one pin: no image, no instance, no reason."""
    return Stack(
        target=Target(gpu="l40s", arch="x86_64"),
        pins=(pin("driver", "580.95.05", "driver", "host"),),
    )


def empty_stack() -> Stack:
    """A solved stack with nothing in it, and an image of which no tag is verified."""
    return Stack(
        target=Target(gpu="gb300", arch="aarch64"),
        image=StackImage(
            reference="",
            repository="nvcr.io/nvidia/pytorch",
            tag="26.09-py3",
            family="ngc",
            grade=Grade.UNKNOWN,
        ),
    )


def conflict() -> Stack:
    """A conflict with two ways out."""
    return Stack(
        target=Target(gpu="b200", gpu_name="NVIDIA B200"),
        conflict=StackConflict(
            requirements=("torch==2.4.1",),
            facts=("torch 2.4.1 holds code for sm_50 to sm_90",),
            chain=(
                "you ask for torch ==2.4.1",
                "its builds hold code for sm_50 to sm_90 and no PTX",
                "NVIDIA B200 needs sm_100, which CUDA 12.8 is the first to compile",
                NASTY,
            ),
            sources=("pkg:pypi/torch@2.4.1",),
        ),
        alternatives=(
            Alternative(
                change=(Change("torch==2.4.1", "torch>=2.8"),),
                result={"torch": "2.14.0+cu130", "cuda": "13.0.2", "driver": "580.95.05"},
                image="nvcr.io/nvidia/pytorch:25.09-py3",
            ),
            Alternative(
                change=(Change("--gpu b200", "h100"), Change("--with 'x'; rm", "")), result={"torch": "2.4.1"}
            ),
        ),
        requirements=("torch==2.4.1",),
        data_version="2026.11.29",
    )


def hard_report() -> Report:
    """A report with every severity, nasty texts, folded consequences, an accepted finding, and things not looked at."""
    slow = Finding(
        id="SC-2026-0042",
        kind=Kind.SILENT_SLOWDOWN,
        severity=Severity.WARNING,
        subjects=("aws-ofi-nccl", "env:NCCL_NET_PLUGIN"),
        title="NCCL uses TCP sockets because its plug-in was not loaded",
        evidence=(
            FindingEvidence(
                "log:nccl-tcp-provider", "Selected Provider is tcp", "nccl-log", "/var/log/my job.log:3"
            ),
            FindingEvidence("env:NCCL_NET_PLUGIN", NASTY, "paste", "env.txt"),
        ),
        why="Without the plug-in NCCL does not find EFA and falls back to sockets.",
        impact="10 to 50 times slower between nodes",
        remedy=(Remedy("unset it", {"env:NCCL_NET_PLUGIN": None}, True),),
        sources=("https://example.com/plugin?a=1&b=2",),
    )
    driver = Finding(
        id="SC-2026-0001",
        kind=Kind.DRIVER_TOO_OLD,
        severity=Severity.ERROR,
        subjects=("driver", "cuda"),
        title="driver 550.54.15 is too old for CUDA 13.0",
        evidence=(
            FindingEvidence("driver", "550.54.15", "paste", "collect_env.txt:14"),
            FindingEvidence("cuda", "13.0", "paste", "collect_env.txt:9"),
            FindingEvidence("gpu", "8 x NVIDIA B200", "procfs", "/proc/driver/nvidia/gpus"),
        ),
        why="CUDA 13 needs driver 580.65.06 or newer; minor-version compatibility ends at the major version.",
        impact="every CUDA call fails with error 803",
        remedy=(
            Remedy(
                "install the driver of the stack",
                {"driver": ">=580.65.06"},
                True,
                "sudo apt-get install -y nvidia-open-580\nsudo reboot",
            ),
            Remedy("or take a CUDA 12 build of torch", {"torch": "2.9.0+cu128"}),
        ),
        sources=("https://example.com/cuda", "pkg:pypi/torch@2.9.0"),
        consequences=(
            Finding(
                id="SC-2026-0007",
                kind=Kind.CONTAINER_HOST,
                severity=Severity.ERROR,
                subjects=("fabric-manager",),
                title="CUDA reports error 802 | system not yet initialised",
            ),
        ),
    )
    nasty = Finding(
        id="SC-2026-0099",
        kind=Kind.CONFIG,
        severity=Severity.INFO,
        subjects=("file:/etc/x|y", "limit:memlock"),
        title=NASTY,
        evidence=(
            FindingEvidence(NASTY, NASTY, NASTY, NASTY),
            FindingEvidence("fact:xid", "9" * 5000, "dmesg", "-:1"),
        ),
        why=NASTY,
        remedy=(Remedy(NASTY, {NASTY: NASTY}, False, NASTY),),
        sources=("javascript:alert(1)", NASTY),
    )
    accepted = Finding(
        id="SC-2026-0005",
        kind=Kind.UNKNOWN_RELEASE,
        severity=Severity.WARNING,
        subjects=("nccl",),
        title="NCCL 2.99.1 is newer than the matrices",
        accepted="own build, tested on 2026-11-01",
    )
    return Report(
        subject="node-17 <&|>",
        inventory=Inventory(
            subject="node-17",
            gpu_model="b200",
            gpu_count=8,
            components={
                "driver": (
                    Observation(
                        version="550.54.15", scope="host", evidence=Evidence("paste", "collect_env.txt:14")
                    ),
                ),
                "nccl": (
                    Observation(
                        version="2.99.1", scope="container", path="/usr/lib/libnccl.so.2", loaded=True
                    ),
                    Observation(version="2.27.3", scope="container", path="/opt/venv/libnccl.so.2"),
                ),
                "imex": (),
                "odd": (Observation(version=NASTY), Observation(version="")),
            },
            environment={"NCCL_NET_PLUGIN": NASTY},
            facts={"memlock_kb": 64, "xid": (79, 94)},
            notes=(Note("notes.txt", f"not understood: {NASTY}"),),
        ),
        findings=(driver, slow, nasty),
        accepted=(accepted,),
    )


def clean_report() -> Report:
    """A report about a healthy node: no findings."""
    seen = Inventory(subject="node-1", facts={"gpu_count_pci": 8})
    return Report(subject="node-1", inventory=seen, findings=())
