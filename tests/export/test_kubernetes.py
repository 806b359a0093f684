from __future__ import annotations

from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

from stackcheck.export.kubernetes import render
from stackcheck.export.quoting import plain
from stackcheck.model.stack import Stack, Target
from tests.samples import DIGEST, NASTY, bare_stack, empty_stack, hard_stack


def pod(stack: Stack) -> Any:
    return yaml.safe_load(render(stack))


def container(stack: Stack) -> Any:
    return pod(stack)["spec"]["containers"][0]


@pytest.mark.parametrize("make", [hard_stack, bare_stack, empty_stack])
@pytest.mark.parametrize("release", ["1.29", "1.33", kubernetes_validate.latest_version()])
def test_the_pod_is_valid(make, release: str) -> None:  # type: ignore[no-untyped-def]
    kubernetes_validate.validate(pod(make()), release, strict=True)


def test_counts_come_from_the_target() -> None:
    assert container(hard_stack())["resources"]["limits"] == {"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 8}


def test_an_instance_without_efa_asks_for_none() -> None:
    stack = Stack(target=Target(gpu="l40s", gpu_count=1, efa_interfaces=0))
    assert container(stack)["resources"]["limits"] == {"nvidia.com/gpu": 1}
    assert "vpc.amazonaws.com/efa" not in render(stack)


def test_unknown_counts_are_comments() -> None:
    assert not container(bare_stack()).get("resources")
    assert "# nvidia.com/gpu: ..." in render(bare_stack())


def test_the_image_is_the_verified_reference_with_digest() -> None:
    assert container(hard_stack())["image"].endswith(f"-ec2@{DIGEST}")
    assert "image" not in container(empty_stack())


def test_the_pod_goes_where_the_stack_belongs() -> None:
    assert pod(hard_stack())["spec"]["nodeSelector"] == {
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": "p6-b200.48xlarge",
    }
    assert pod(empty_stack())["spec"]["nodeSelector"] == {"kubernetes.io/arch": "arm64"}


def test_environment_survives() -> None:
    values = {e["name"]: e["value"] for e in container(hard_stack())["env"]}
    assert values == {"FI_PROVIDER": "efa", "NCCL_NET_PLUGIN": "ofi", "NASTY": plain(NASTY)}


def test_a_value_is_no_reference_to_another_variable() -> None:
    stack = Stack(target=Target(gpu="b200"), environment={"A": "$(B)"})
    assert container(stack)["env"] == [{"name": "A", "value": "$$(B)"}]
