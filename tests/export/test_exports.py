"""What holds for every export, whatever it writes."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable

import pytest

import stackcheck.export
from stackcheck.export.interface import Exporter
from stackcheck.export.registry import EXPORTERS, export, exporter
from stackcheck.model.errors import UsageError
from stackcheck.model.stack import Stack
from tests.samples import bare_stack, conflict, empty_stack, hard_stack

SHARED = {"interface", "registry", "quoting", "packages"}
each = pytest.mark.parametrize("target", EXPORTERS, ids=lambda e: e.name)


@each
def test_golden(target: Exporter, golden: Callable[[str, str], None]) -> None:
    golden(f"stack.{target.default_path}", target.render(hard_stack()))


@each
@pytest.mark.parametrize("make", [hard_stack, bare_stack, empty_stack])
def test_text_is_clean_whatever_the_stack_holds(target: Exporter, make: Callable[[], Stack]) -> None:
    text = target.render(make())
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    text.encode("utf-8")
    assert all(c.isprintable() or c == "\n" for c in text)
    assert all(line == line.rstrip() for line in text.split("\n"))


@each
def test_rendering_twice_gives_the_same_bytes(target: Exporter) -> None:
    assert target.render(hard_stack()) == target.render(hard_stack())


@each
def test_nothing_is_exported_from_a_conflict(target: Exporter) -> None:
    with pytest.raises(UsageError, match="there is no stack"):
        export(target.name, conflict())


def test_names_and_paths_are_unique() -> None:
    assert len({e.name for e in EXPORTERS}) == len(EXPORTERS)
    assert len({e.default_path for e in EXPORTERS}) == len(EXPORTERS)


def test_every_module_is_registered() -> None:
    modules = {m.name for m in pkgutil.iter_modules(stackcheck.export.__path__)} - SHARED
    assert {e.module.rpartition(".")[2] for e in EXPORTERS} == modules


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="dockerfile"):
        exporter("docker-file")


@each
def test_the_only_address_is_the_installer_s_or_a_source_s(target: Exporter) -> None:
    text = target.render(hard_stack())
    hosts = set(re.findall(r"https?://([^/\s\"']+)", text))
    assert hosts <= {"efa-installer.amazonaws.com", "example.com"}
    assert not re.search(r"--(extra-)?index-url|--find-links", text)


@each
def test_an_unverified_tag_is_never_something_to_pull(target: Exporter) -> None:
    stack = empty_stack()
    assert stack.image is not None
    text = target.render(stack)
    assert f"{stack.image.repository}:{stack.image.tag}" not in [
        word.strip("\"'")
        for line in text.split("\n")
        if not line.lstrip().startswith("#")
        for word in line.split()
    ]


def test_the_image_export_is_one_reference_and_nothing_else() -> None:
    stack = hard_stack()
    assert stack.image is not None
    text = export("image", stack)
    assert text.count("\n") == 1
    assert text.startswith(stack.image.reference)


def test_a_stack_without_a_verified_image_has_no_image_export() -> None:
    for stack in (empty_stack(), hard_stack()._replace(image=None)):
        with pytest.raises(UsageError, match="no image can be written"):
            export("image", stack)


@pytest.mark.parametrize("name", ["constraints", "overrides"])
def test_a_file_that_pins_nothing_is_doubted_and_no_other(name: str) -> None:
    assert exporter(name).doubt(hard_stack()) == ""
    doubt = exporter(name).doubt(hard_stack()._replace(pins=()))
    assert doubt.startswith("nothing is pinned")
    assert "--images none" in doubt
