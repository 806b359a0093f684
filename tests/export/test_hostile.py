"""A lock may have been edited by anybody: whatever it holds, every export stays what it claims to be."""

from __future__ import annotations

import subprocess
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from packaging.requirements import Requirement

from stackcheck.export.registry import EXPORTERS, export
from stackcheck.model.finding import Grade
from stackcheck.model.stack import Pin, Stack, StackImage, Target
from tests.export.dockerfile_reader import environment, read

PIECES = st.sampled_from(
    [
        "a", "1.2", " ", "\n", "\r", "\x00", "\x85", "\u2028", "\ud800", "'", '"', "`", "$", "$(", "${", ")", "}", "\\", "#", ";", "&",
        "|", "<", ">", ":", "- ", "@", "!", "%", "*", "{", "[", "<region>", "RUN rm -rf /", "\x1b[2J", "é", "\u202e", "EOF", "==", "+cu128",
        "pkg:pypi/", "torch", "~", "=",
    ]
)  # fmt: skip
texts = st.lists(PIECES, max_size=6).map("".join)
components = (
    st.sampled_from(["driver", "efa-installer", "aws-ofi-nccl", "torch", "os", "parallelcluster"]) | texts
)
tables = st.dictionaries(texts | st.sampled_from(["NCCL_PROTO", "A"]), texts, max_size=3)
pins = st.builds(
    Pin,
    component=components,
    version=texts,
    scope=st.sampled_from(["host", "container", "cluster", "", "\n"]),
    layer=texts,
    build=texts,
    accepts=texts,
    grade=st.sampled_from(Grade),
    origin=st.sampled_from(["image", "install", "host", "", "\n"]),
    purl=texts | texts.map(lambda t: f"pkg:pypi/torch@{t}"),
    why=st.lists(texts, max_size=1).map(tuple),
    caveats=st.lists(texts, max_size=1).map(tuple),
    name=texts,
    index_build=st.none() | st.booleans(),
    held_back=st.just(()),
    sources=st.lists(texts, max_size=1).map(tuple),
)
images = st.builds(
    StackImage,
    reference=texts,
    family=texts,
    grade=st.sampled_from(Grade),
    tag=texts,
    repository=texts,
    digest=texts,
    why=st.lists(texts, max_size=1).map(tuple),
    notes=st.lists(texts, max_size=1).map(tuple),
    environment=tables,
    os=texts,
    verified=st.booleans(),
    date=texts,
    sources=st.lists(texts, max_size=1).map(tuple),
)
stacks = st.builds(
    Stack,
    target=st.builds(
        Target,
        gpu=texts,
        instance=st.none() | texts,
        arch=texts,
        gpu_name=texts,
        gpu_count=st.none() | st.integers(0, 16),
        efa_interfaces=st.none() | st.integers(0, 32),
    ),
    image=st.none() | images,
    pins=st.lists(pins, max_size=4).map(tuple),
    environment=tables,
    notes=st.lists(texts, max_size=1).map(tuple),
    requirements=st.lists(texts, max_size=1).map(tuple),
    request=st.just({}),
    policy=texts,
    data_version=texts,
    conflict=st.none(),
    alternatives=st.just(()),
)
quickly = settings(deadline=None, max_examples=150)


@quickly
@given(stack=stacks)
def test_every_export_is_clean_text(stack: Stack) -> None:
    for target in (e for e in EXPORTERS if not e.refusal(stack)):
        text = export(target.name, stack)
        text.encode("utf-8")
        assert text.endswith("\n")
        assert all(c.isprintable() or c == "\n" for c in text), target.name


@quickly
@given(stack=stacks)
def test_yaml_stays_yaml_of_the_same_shape(stack: Stack) -> None:
    pod: Any = yaml.safe_load(export("kubernetes", stack))
    assert set(pod) == {"apiVersion", "kind", "metadata", "spec"}
    assert set(pod["spec"]) <= {"restartPolicy", "nodeSelector", "containers", "volumes"}
    (only,) = pod["spec"]["containers"]
    assert set(only) <= {"name", "image", "env", "resources", "securityContext", "volumeMounts"}
    config: Any = yaml.safe_load(export("parallelcluster", stack))
    assert set(config) <= {"Image", "Scheduling"}
    assert set(config["Scheduling"]["SlurmQueues"][0]) == {"Name", "ComputeResources"}


@quickly
@given(stack=stacks)
def test_a_dockerfile_runs_only_what_we_wrote(stack: Stack) -> None:
    pairs = read(export("dockerfile", stack))
    environment(pairs)
    assert [word for word, _ in pairs].count("FROM") == 1
    starts = (
        "curl -fsSLO https://efa-installer",
        "apt-get update && curl -fsSLO https://efa-installer",
        "printf ",
        "python3 -m pip ",
    )
    assert all(rest.startswith(starts) for word, rest in pairs if word == "RUN")
    assert not any(
        "rm -rf /" in rest.replace("rm -rf aws", "") for word, rest in pairs if word in ("RUN", "FROM")
    )


@quickly
@given(stack=stacks)
def test_requirement_files_hold_exact_pins_only(stack: Stack) -> None:
    for name in ("constraints", "overrides"):
        for line in export(name, stack).split("\n"):
            if line and not line.startswith("#"):
                assert [s.operator for s in Requirement(line).specifier] == ["=="]


@settings(deadline=None, max_examples=40)
@given(stack=stacks)
def test_shells_read_what_is_for_them(stack: Stack) -> None:
    for name, shell in (("env", "sh"), ("slurm", "bash"), ("hyperpod", "bash")):
        done = subprocess.run(
            [shell, "-n"], input=export(name, stack).encode(), capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
    marked = export("env", stack) + "echo done\n"
    ran = subprocess.run(["sh", "-eu"], input=marked.encode(), capture_output=True, check=False, env={})
    assert (ran.stdout, ran.stderr) == (b"done\n", b"")


@quickly
@given(stack=stacks)
def test_markdown_brings_no_foreign_markup(stack: Stack) -> None:
    page = str(MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(export("markdown", stack)))
    assert not any(tag in page for tag in ("<region", "<a ", "<img", "<em", "<strong"))
    rows = page.count("<tr>")
    tables = bool(stack.pins) + bool(stack.environment)
    assert rows == len(stack.pins) + len(stack.environment) + tables
