from __future__ import annotations

import subprocess

import pytest

from stackcheck.export.dockerfile import render
from stackcheck.model.stack import Pin, Stack, Target
from tests.export.dockerfile_reader import environment, read, words
from tests.samples import DIGEST, bare_stack, empty_stack, hard_stack, pin


def of(stack: Stack) -> list[tuple[str, str]]:
    return read(render(stack))


def runs(stack: Stack) -> list[str]:
    return [rest for word, rest in of(stack) if word == "RUN"]


def test_from_is_the_verified_reference_with_its_digest_and_the_region_is_asked_for() -> None:
    pairs = of(hard_stack())
    assert pairs[0] == ("ARG", "AWS_REGION")
    assert pairs[1] == (
        "FROM",
        "123456789012.dkr.ecr.${AWS_REGION}.amazonaws.com/pytorch-training:2.9.0-gpu-py312-cu130-ubuntu22.04-ec2@"
        + DIGEST,
    )


@pytest.mark.parametrize("stack", [bare_stack(), empty_stack()])
def test_without_a_verified_tag_the_base_is_asked_for(stack: Stack) -> None:
    assert of(stack) == [("ARG", "BASE_IMAGE"), ("FROM", "${BASE_IMAGE}")]


def test_a_reference_that_is_none_is_not_written() -> None:
    stack = hard_stack()
    assert stack.image is not None
    hostile = stack._replace(image=stack.image._replace(reference="x\nRUN rm -rf /"))
    assert ("FROM", "${BASE_IMAGE}") in of(hostile)
    assert not any("rm -rf /" in rest and "efa" not in rest for _, rest in of(hostile))


def test_environment_survives_quoting_and_odd_names_are_dropped() -> None:
    values = environment(of(hard_stack()))
    assert values["FI_PROVIDER"] == "efa"
    assert values["NCCL_NET_PLUGIN"] == "ofi"
    assert "$HOME \\ &" in values["NASTY"]
    assert set(values) == {"FI_PROVIDER", "NCCL_NET_PLUGIN", "NASTY"}


def test_the_installer_of_the_host_brings_the_plug_in() -> None:
    (efa,) = [r for r in runs(hard_stack()) if "efa_installer" in r]
    assert "aws-efa-installer-1.47.0.tar.gz" in efa
    assert "--skip-kmod" in efa


def test_no_installer_is_invented() -> None:
    stack = Stack(target=Target(gpu="b200"), pins=(pin("aws-ofi-nccl", "1.17.2", "fabric", "install"),))
    assert not any("efa" in r for r in runs(stack))
    assert "aws-ofi-nccl 1.17.2" in render(stack)


def test_no_installer_without_a_need() -> None:
    stack = Stack(target=Target(gpu="b200"), pins=(pin("efa-installer", "1.47.0", "fabric", "host"),))
    assert runs(stack) == []


def test_only_what_is_to_be_installed_is_installed_and_the_image_is_held() -> None:
    hold, install = [r for r in runs(hard_stack()) if "efa" not in r]
    assert "torch==2.9.0" in words(hold)
    assert "torch==2.9.0" not in words(install)
    assert {"torchaudio==2.9.0", "vllm==0.12.0", "--torch-backend=cu130"} <= set(words(install))


def test_every_run_line_is_shell() -> None:
    for command in runs(hard_stack()):
        done = subprocess.run(["sh", "-n"], input=command, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr


def test_a_hostile_pin_stays_a_comment() -> None:
    assert not any("rm -rf ~" in rest for _, rest in of(hard_stack()))


def test_what_compiles_against_torch_is_built_after_it_and_not_in_isolation() -> None:
    stack = Stack(
        target=Target(gpu="b200"),
        pins=(
            pypi("flash-attn", "2.8.3", build="source"),
            pypi("transformer-engine-torch", "2.20.2")._replace(builds_against="torch"),
            pypi("torch", "2.9.0"),
            pypi("some-kernels", "1.0", build="source"),
        ),
    )
    first, second = runs(stack)
    assert "torch==2.9.0" in words(first)
    assert "--no-build-isolation" not in first
    built = {"flash-attn==2.8.3", "transformer-engine-torch==2.20.2", "some-kernels==1.0"}
    assert built <= set(words(second))
    assert not built & set(words(first))
    assert "--no-build-isolation" in words(second)
    assert "setuptools" in words(second), "an isolated build would have fetched it"


def test_a_package_to_compile_alone_is_built_against_the_image_s_torch() -> None:
    stack = hard_stack()
    alone = stack._replace(
        pins=(*(p for p in stack.pins if p.origin == "image"), pypi("flash-attn", "2.8.3"))
    )
    held, built = [r for r in runs(alone) if "efa" not in r]
    assert "torch==2.9.0" in held
    assert "-c /tmp/held.txt" in built
    assert "flash-attn==2.8.3" in built


def pypi(name: str, version: str, build: str = "") -> Pin:
    made = pin(name, version, "kernels", "install")
    return made._replace(purl=f"pkg:pypi/{name}@{version}", build=build)
