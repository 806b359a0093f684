"""A small data set that never changes, so that pictures of the app do not either. Its facts are made up to be told apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stackcheck.catalog.catalog import Catalog

READ = "2026-11-29"
DOC = "https://docs.example.com/"
POLICY = Path(__file__).with_name("policy.json")
"""A policy as it once was shipped: what the resolver wants by default is no matter of the app."""


class DictStore:
    """Matrix files out of a dictionary."""

    def __init__(self, files: dict[str, Any]) -> None:
        self.files = files

    @property
    def is_one_set(self) -> bool:
        return False

    def names(self, folder: str) -> tuple[str, ...]:
        inside = (n.removeprefix(f"{folder}/") for n in self.files if n.startswith(f"{folder}/"))
        return tuple(sorted(inside))

    def exists(self, name: str) -> bool:
        return name in self.files

    def read(self, name: str) -> Any:
        return self.files[name]

    def size(self, name: str) -> int:
        return len(json.dumps(self.files[name]))

    def text(self, name: str) -> str:
        return str(self.files.get(name, ""))


def catalog() -> Catalog:
    files: dict[str, Any] = {"VERSION": "2026.11.29"}
    files["policy.json"] = json.loads(POLICY.read_text())
    files["images/families.json"] = {"families": {}}
    for body in COMPONENTS:
        files[f"components/{body['id']}.json"] = body
    for body in GPUS:
        files[f"gpus/{body['id']}.json"] = body
    for body in INSTANCES:
        files[f"instances/{body['id']}.json"] = body
    files["images/ngc/pytorch.json"] = IMAGES
    files["images/dlc/pytorch.json"] = DLC
    files["rules/small.json"] = {"sources": SOURCES, "rules": RULES}
    files["advisories/SC-2026-0001.json"] = ADVISORY
    return Catalog(DictStore(files))


SOURCES = {"doc": {"ref": f"{DOC}guide.html", "read": READ, "word": "vendor"}}


def component(
    name: str, title: str, layer: str, scope: str, releases: list[dict[str, Any]], **more: Any
) -> dict[str, Any]:
    body = {
        "id": name,
        "name": title,
        "scope": scope,
        "layer": layer,
        "scheme": "dotted",
        "description": f"{title} as made up for pictures",
        "aliases": [],
        "packages": [],
        "attributes": {},
        "read": READ,
        "sources": SOURCES,
        "releases": releases,
    }
    return body | more


def release(version: str, date: str, **more: Any) -> dict[str, Any]:
    return {"version": version, "date": date, "requires": [], "sources": ["doc"], **more}


def build(label: str, cuda: str, nccl: str, targets: list[str], **more: Any) -> dict[str, Any]:
    return {
        "label": label,
        "arch": ["x86_64"],
        "attributes": {"cuda": cuda, "targets": targets},
        "requires": [
            {"component": "cuda", "range": f"=={cuda}.*"},
            {"component": "nccl", "range": f"=={nccl}"},
        ],
        "sources": ["doc"],
        **more,
    }


OLD, MIDDLE, NEW = ["sm_80", "sm_90"], ["sm_80", "sm_90", "sm_100"], ["sm_80", "sm_90", "sm_100", "sm_103"]

COMPONENTS = [
    component(
        "torch",
        "PyTorch",
        "framework",
        "container",
        [
            release("2.6.0", "2025-01-29", builds=[build("cu124", "12.4", "2.21.5", OLD, default=True)]),
            release(
                "2.9.1",
                "2025-11-12",
                builds=[
                    build("cu128", "12.8", "2.27.5", MIDDLE, default=True),
                    build("cu130", "13.0", "2.27.5", NEW),
                ],
            ),
            release("2.11.0", "2026-03-23", builds=[build("cu130", "13.0", "2.28.9", NEW, default=True)]),
        ],
        scheme="pep440",
        packages=["pkg:pypi/torch"],
        attributes={"cuda": "version", "targets": "targets"},
    ),
    component(
        "vllm",
        "vLLM",
        "serving",
        "container",
        [
            release("0.11.0", "2025-12-02", requires=[{"component": "torch", "range": "==2.9.1"}]),
            release("0.20.0", "2026-04-20", requires=[{"component": "torch", "range": "==2.11.0"}]),
        ],
        scheme="pep440",
        packages=["pkg:pypi/vllm"],
    ),
    component(
        "cuda",
        "CUDA",
        "cuda",
        "container",
        [
            release(
                "12.4.1", "2024-04-01", attributes={"family_floor": "525.60.13", "min_driver": "550.54.15"}
            ),
            release(
                "12.8.1", "2025-03-01", attributes={"family_floor": "525.60.13", "min_driver": "570.86.15"}
            ),
            release(
                "13.0.2", "2025-10-01", attributes={"family_floor": "580.65.06", "min_driver": "580.95.05"}
            ),
        ],
        attributes={"family_floor": "version", "min_driver": "version"},
    ),
    component(
        "driver",
        "NVIDIA driver",
        "driver",
        "host",
        [
            release("550.54.15", "2024-02-22", eol="2026-06-30", attributes={"branch": 550}),
            release("550.163.01", "2025-04-15", eol="2026-06-30", attributes={"branch": 550}),
            release("570.195.03", "2025-09-30", eol="2026-02-28", attributes={"branch": 570}),
            release("580.95.05", "2025-10-06", eol="2028-08-31", attributes={"branch": 580}),
        ],
        attributes={"branch": "int"},
        aliases=["nvidia-driver"],
    ),
    component(
        "nccl",
        "NCCL",
        "communication",
        "container",
        [
            release("2.21.5", "2024-05-01", attributes={"net_api": [6, 7, 8]}),
            release("2.27.5", "2025-06-01", attributes={"net_api": [6, 7, 8, 9, 10]}),
            release("2.28.9", "2025-11-01", attributes={"net_api": [7, 8, 9, 10, 11]}),
        ],
        attributes={"net_api": "ints"},
        packages=["pkg:pypi/nvidia-nccl-cu13"],
    ),
    component(
        "aws-ofi-nccl",
        "aws-ofi-nccl",
        "communication",
        "container",
        [
            release("1.7.4", "2023-12-01", attributes={"net_api": [5, 6]}),
            release("1.14.2", "2025-05-01", attributes={"net_api": [8, 9, 10]}),
            release("1.17.1", "2025-11-10", attributes={"net_api": [9, 10, 11]}),
        ],
        attributes={"net_api": "ints"},
    ),
    component("python", "Python", "platform", "container", [release("3.12", "2023-10-02", eol="2028-10-31")]),
]


def gpu(name: str, title: str, capability: str, rows: list[tuple[str, str, str, str]]) -> dict[str, Any]:
    return {
        "id": name,
        "name": title,
        "architecture": "Hopper" if capability == "9.0" else "Blackwell",
        "aliases": [],
        "pci_ids": [],
        "attributes": {"capability": capability, "arch": ["x86_64"]},
        "components": [
            {"component": c, "range": r, "grade": g, "why": w, "sources": ["doc"]} for c, r, g, w in rows
        ],
        "sources": SOURCES,
        "notes": [],
    }


GPUS = [
    gpu("h100", "NVIDIA H100", "9.0", [("torch", ">=2.6", "supported", "every wheel holds sm_90 code")]),
    gpu(
        "b200",
        "NVIDIA B200",
        "10.0",
        [
            ("torch", ">=2.9", "supported", "first wheels with sm_100 code"),
            ("torch", "<2.9", "broken", "no wheel before 2.9 holds sm_100 code"),
            ("driver", ">=570", "supported", "first branch that knows it"),
            ("driver", "<570", "broken", "the branch does not know it"),
        ],
    ),
    gpu(
        "b300",
        "NVIDIA B300",
        "10.3",
        [
            ("torch", ">=2.11", "supported", "built with CUDA 13"),
            ("torch", "==2.9.1", "caveat", "only as +cu130"),
            ("torch", "<2.9", "broken", "no wheel before 2.9 holds code for it"),
            ("driver", ">=580", "supported", "first branch that knows it"),
            ("driver", "<580", "broken", "the branch does not know it"),
        ],
    ),
]

INSTANCES = [
    {
        "id": name,
        "gpu": gpu_id,
        "gpu_count": 8,
        "family": name.partition(".")[0],
        "aliases": [],
        "attributes": {"arch": "x86_64", "efa_interfaces": count},
        "sources": SOURCES,
        "notes": [],
    }
    for name, gpu_id, count in (
        ("p5.48xlarge", "h100", 32),
        ("p6-b200.48xlarge", "b200", 8),
        ("p6-b300.48xlarge", "b300", 17),
    )
]


def image(tag: str, date: str, verified: bool, contents: dict[str, str], repository: str) -> dict[str, Any]:
    return {
        "tag": tag,
        "verified": verified,
        "other_tags": [],
        "reference": f"{repository}:{tag}",
        "digest": None,
        "arch": ["x86_64"],
        "date": date,
        "eop": None,
        "platform": "",
        "os": "ubuntu-24.04",
        "contents": contents,
        "absent": ["aws-ofi-nccl"] if "aws-ofi-nccl" not in contents else [],
        "grade": "supported",
        "sources": ["doc"],
        "notes": [],
    }


NGC = "nvcr.io/nvidia/pytorch"
IMAGES = {
    "repository": NGC,
    "family": "ngc",
    "title": "PyTorch",
    "purpose": ["training"],
    "sources": SOURCES,
    "images": [
        image(
            "25.01-py3",
            "2025-01-28",
            True,
            {"torch": "2.6.0", "cuda": "12.4.1", "nccl": "2.21.5", "python": "3.12"},
            NGC,
        ),
        image(
            "25.11-py3",
            "2025-11-24",
            True,
            {"torch": "2.9.1", "cuda": "13.0.2", "nccl": "2.28.9", "python": "3.12"},
            NGC,
        ),
        image("26.04-py3", "2026-04-27", False, {"torch": "2.11.0", "cuda": "13.0.2", "python": "3.12"}, NGC),
    ],
}
AWS = "public.ecr.aws/deep-learning-containers/pytorch-training"
DLC = {
    "repository": AWS,
    "family": "dlc",
    "title": "PyTorch training",
    "purpose": ["training"],
    "sources": SOURCES,
    "images": [
        image(
            "2.9.1-cu130-ubuntu24.04",
            "2026-01-12",
            True,
            {
                "torch": "2.9.1+cu130",
                "cuda": "13.0.2",
                "nccl": "2.27.5",
                "aws-ofi-nccl": "1.17.1",
                "python": "3.12",
            },
            AWS,
        )
    ],
}

RULES = [
    {
        "id": "driver-below-cuda-family-floor",
        "kind": "driver-too-old",
        "severity": "error",
        "grade": "broken",
        "subjects": ["driver", "cuda"],
        "title": "driver {driver} is older than CUDA {cuda} needs ({cuda.family_floor})",
        "when": {"cuda": True, "driver": True},
        "require": {"relation": "at_least", "left": "driver", "right": "cuda.family_floor"},
        "why": "CUDA {cuda} programs need driver {cuda.family_floor} or newer.",
        "remedy": [
            {
                "text": "Update the driver to {cuda.family_floor} or newer",
                "set": {"driver": ">={cuda.family_floor}"},
                "run": "apt-get install nvidia-driver-580-open",
            },
            {"text": "Or take builds for CUDA 12", "set": {"cuda": "<13"}},
        ],
        "sources": ["doc"],
    },
    {
        "id": "driver-below-cuda-full-minimum",
        "kind": "driver-too-old",
        "severity": "info",
        "grade": "caveat",
        "subjects": ["driver", "cuda"],
        "title": "CUDA {cuda} runs on driver {driver} by minor-version compatibility",
        "when": {
            "cuda": True,
            "driver": True,
            "all": [{"relation": "at_least", "left": "driver", "right": "cuda.family_floor"}],
        },
        "require": {"relation": "at_least", "left": "driver", "right": "cuda.min_driver"},
        "why": "Kernels that ship as PTX alone do not run.",
        "remedy": [],
        "sources": ["doc"],
    },
    {
        "id": "net-api-no-overlap",
        "kind": "fabric",
        "severity": "warning",
        "grade": "degraded",
        "subjects": ["nccl", "aws-ofi-nccl"],
        "title": "NCCL {nccl} and aws-ofi-nccl {aws-ofi-nccl} share no network plug-in interface",
        "when": {"nccl": True, "aws-ofi-nccl": True},
        "require": {"relation": "overlap", "left": "nccl.net_api", "right": "aws-ofi-nccl.net_api"},
        "why": "NCCL falls back to sockets without an error.",
        "remedy": [{"text": "Take aws-ofi-nccl 1.14 or newer", "set": {"aws-ofi-nccl": ">=1.14"}}],
        "sources": ["doc"],
    },
]
ADVISORY = {
    "id": "SC-2026-0001",
    "kind": "fabric",
    "severity": "warning",
    "grade": "degraded",
    "subjects": ["nccl", "aws-ofi-nccl"],
    "title": "aws-ofi-nccl {aws-ofi-nccl} hangs with NCCL {nccl}",
    "when": {"aws-ofi-nccl": "==1.14.2", "nccl": ">=2.28"},
    "symptom": "The first all-reduce between nodes never ends.",
    "impact": "Jobs stand still until they time out.",
    "why": "The plug-in waits for a flag that this NCCL no longer sets.",
    "remedy": [{"text": "Take aws-ofi-nccl 1.17.1", "set": {"aws-ofi-nccl": ">=1.17.1"}}],
    "sources": ["https://github.com/example/project/issues/1"],
    "read": READ,
}

BROKEN_NODE = {
    "schema": "stackcheck.inventory/1",
    "subject": "broken-node",
    "gpu": {"model": "b200", "count": 8},
    "instance": "p6-b200.48xlarge",
    "components": {
        "driver": [
            {
                "version": "570.195.03",
                "scope": "host",
                "method": "procfs",
                "path": "/proc/driver/nvidia/version",
            }
        ],
        "cuda": "13.0.2",
        "torch": "2.9.1+cu130",
        "nccl": "2.28.9",
        "aws-ofi-nccl": "1.14.2",
    },
}
