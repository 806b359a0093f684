from __future__ import annotations

from typing import Any

import pytest
import yaml

from stackcheck.export.parallelcluster import os_name, render
from stackcheck.model.stack import Stack, Target
from tests.samples import bare_stack, empty_stack, hard_stack, pin


def config(stack: Stack) -> Any:
    return yaml.safe_load(render(stack))


def resource(stack: Stack) -> Any:
    return config(stack)["Scheduling"]["SlurmQueues"][0]["ComputeResources"][0]


def test_the_queue_has_the_instance_type_and_efa() -> None:
    assert resource(hard_stack()) == {
        "Name": "b200-nodes",
        "InstanceType": "p6-b200.48xlarge",
        "Efa": {"Enabled": True},
    }


@pytest.mark.parametrize("stack", [bare_stack(), empty_stack()])
def test_what_is_not_known_is_left_out(stack: Stack) -> None:
    assert set(resource(stack)) == {"Name"}
    assert set(config(stack)) == {"Scheduling"}


def test_the_pins_of_the_ami_are_named() -> None:
    text = render(hard_stack())
    assert "# - driver 580.95.05 (or another of >=580.65.06)" in text
    assert "# - efa-installer 1.47.0" in text


def test_the_operating_system_of_the_node_is_the_image_s() -> None:
    stack = Stack(target=Target(gpu="b200"), pins=(pin("os", "24.04-ubuntu", "platform", "host"),))
    assert config(stack)["Image"] == {"Os": "ubuntu2404"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ubuntu-22.04", "ubuntu2204"),
        ("22.04-ubuntu", "ubuntu2204"),
        ("2023-amazonlinux", "alinux2023"),
        ("amazon-linux-2", "alinux2"),
        ("9-rhel", "rhel9"),
        ("rhel-9.4", "rhel9"),
        ("12-debian", ""),
        ("ubuntu", ""),
        ("", ""),
    ],
)
def test_os_name(text: str, name: str) -> None:
    assert os_name(text) == name
