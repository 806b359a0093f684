"""Overlays that break in every way a directory of JSON can: refused in one line with the place, or harmless."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.robust.conftest import DRIVES_A_TERMINAL, ESCAPES, Call, ended_well

_SOURCES = {"s": {"read": "2026-11-29", "ref": "https://example.org/", "word": "report"}}
_COMMANDS = (
    ("resolve", "--gpu", "b200"),
    ("show", "image"),
    ("show", "component", "torch"),
    ("explain", "unknown-release"),
    ("matrices", "status"),
)


def release(version: str, requires: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """A release with nothing but a version and what it requires."""
    return {"version": version, "date": None, "attributes": {}, "builds": [], "bundles": {}, "requires": requires, "sources": ["s"]}  # fmt: skip


def component(ident: str, *releases: dict[str, Any], **more: Any) -> str:
    """The file of a component that every stack must have."""
    body = {
        "id": ident, "name": ident, "description": ident, "layer": "communication", "scope": "container", "scheme": "dotted",
        "optional": True, "aliases": [], "attributes": {}, "packages": [], "read": "2026-11-29", "sources": _SOURCES,
        "releases": list(releases), **more,
    }  # fmt: skip
    return json.dumps(body)


def rules(*conditions: Any, **more: Any) -> str:
    """A file with one rule for each condition."""
    kept = {
        "kind": "config",
        "severity": "error",
        "title": "t",
        "why": "w",
        "sources": ["s"],
        "subjects": ["torch"],
    }
    found = [{"id": f"own-{i}", "when": c, **kept, **more} for i, c in enumerate(conditions)]
    return json.dumps({"read": "2026-11-29", "sources": _SOURCES, "rules": found})


class Overlay:
    """Writes files below one directory and runs commands over them."""

    def __init__(self, call: Call, folder: Path) -> None:
        self.call = call
        self.folder = folder / "overlay"
        self.folder.mkdir()

    def write(self, name: str, content: str | bytes) -> None:
        """Write one file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def end_well(self) -> list[int]:
        """Run the commands that read matrices; return their exit codes."""
        codes = []
        for command in _COMMANDS:
            outcome = self.call(*command, "--matrices", str(self.folder))
            ended_well(outcome)
            codes.append(outcome.code)
        return codes


@pytest.fixture
def overlay(call: Call, tmp_path: Path) -> Overlay:
    """An empty overlay."""
    return Overlay(call, tmp_path)


@pytest.mark.parametrize(
    "content",
    ["{", "", "[]", "null", "{}", '"x"', b"\xef\xbb\xbf{}", "{}".encode("utf-16"), b"\xff\xfe\xfd", "[" * 100_000, "[" * 900 + "]" * 900,
     '{"a":' + "9" * 5000 + "}", '{"rules": NaN}'],
    ids=lambda c: repr(c[:8]),
)  # fmt: skip
@pytest.mark.parametrize(
    "name", ["rules/own.json", "components/own.json", "gpus/own.json", "images/own/own.json", "policy.json"]
)
def test_a_file_that_is_no_matrix_is_refused(overlay: Overlay, name: str, content: str | bytes) -> None:
    overlay.write(name, content)
    assert set(overlay.end_well()) == {2}


def test_special_files_are_refused_at_once(overlay: Overlay) -> None:
    (overlay.folder / "rules").mkdir()
    own = overlay.folder / "rules" / "own.json"
    makers: list[Callable[[], None]] = [
        lambda: os.mkfifo(own),
        lambda: own.symlink_to("/dev/zero"),
        lambda: own.symlink_to("own.json"),
        own.mkdir,
    ]
    for make in makers:
        make()
        outcome = overlay.call("resolve", "--gpu", "b200", "--matrices", str(overlay.folder))
        ended_well(outcome)
        assert outcome.code == 2
        if own.is_dir() and not own.is_symlink():
            own.rmdir()
        else:
            own.unlink()


def test_a_file_larger_than_any_matrix_is_not_read(overlay: Overlay) -> None:
    overlay.write("rules/own.json", "")
    os.truncate(overlay.folder / "rules" / "own.json", 1 << 31)
    assert set(overlay.end_well()) == {2}


@pytest.mark.parametrize(
    "files",
    [
        {"aaa": [release("1.0", [{"component": "aaa", "range": ">=2"}])]},
        {"aaa": [release("1.0", [{"component": "bbb", "range": ">=1"}])], "bbb": [release("1.0", [{"component": "aaa", "range": "==1.0"}])]},
        {"aaa": [release("1.0", [{"component": "bbb", "range": ">=1"}])], "bbb": [release("1.0", [{"component": "aaa", "range": "==2.0"}])]},
        {"aaa": [release("1.0", [{"component": "nobody", "range": ">=1"}])]},
        {"aaa": [release("1.0"), release("1.0")]},
        {"aaa": []},
        {"aaa": [release("no version at all")]},
        {"aaa": [release("1.0", [{"component": "torch", "range": ">>1"}])]},
    ],
    ids=["itself", "circle", "circle that cannot be", "unknown", "twice", "none", "version", "range"],
)  # fmt: skip
def test_requirements_that_go_nowhere_end(overlay: Overlay, files: dict[str, list[dict[str, Any]]]) -> None:
    for name, releases in files.items():
        overlay.write(f"components/{name}.json", component(name, *releases))
    assert set(overlay.end_well()) <= {0, 1, 2}
    outcome = overlay.call("resolve", "--gpu", "b200", "--with", "aaa", "--matrices", str(overlay.folder))
    ended_well(outcome)


def test_thousands_of_releases_end_soon(overlay: Overlay) -> None:
    many = [
        release(f"{a}.{b}", [{"component": "nccl", "range": f">=2.{b % 30}"}])
        for a in range(30)
        for b in range(100)
    ]
    overlay.write("components/aaa.json", component("aaa", *many))
    outcome = overlay.call(
        "resolve", "--gpu", "b200", "--with", "aaa", "--matrices", str(overlay.folder), "--format", "json"
    )
    ended_well(outcome)
    assert outcome.json["components"]["aaa"]["version"] == "29.99"


@pytest.mark.parametrize(
    "condition",
    [{"torch": ">>>"}, {"nobody": True}, {"any": [{"torch": f"==2.{i}"} for i in range(3000)]}, {"not": {"not": {"not": {"torch": True}}}}],
    ids=["range", "unknown", "wide", "not"],
)  # fmt: skip
def test_conditions_that_mean_nothing_end(
    overlay: Overlay, tmp_path: Path, condition: dict[str, Any]
) -> None:
    overlay.write("rules/own.json", rules(condition))
    (tmp_path / "freeze.txt").write_text("torch==2.9.1\n")
    ended_well(
        overlay.call(
            "check", str(tmp_path / "freeze.txt"), "--gpu", "b200", "--matrices", str(overlay.folder)
        )
    )
    overlay.end_well()


@pytest.mark.parametrize("depth", [80, 250, 2000])
def test_conditions_nested_too_deeply_are_refused(overlay: Overlay, depth: int) -> None:
    deep = '{"not":' * depth + '{"torch":true}' + "}" * depth
    overlay.write("rules/own.json", rules("@").replace('"@"', deep))
    outcome = overlay.call("resolve", "--gpu", "b200", "--matrices", str(overlay.folder))
    ended_well(outcome)
    assert outcome.code == 2


def test_texts_of_a_rule_are_texts(overlay: Overlay, tmp_path: Path) -> None:
    title = f"{{torch.__class__.__mro__}} {{0}} {{}} {{torch!r:>999999999}} {{ {ESCAPES}"
    overlay.write(
        "rules/own.json",
        rules({"torch": True}, title=title, why=title, impact=title, remedy=[{"text": title}]),
    )
    (tmp_path / "freeze.txt").write_text("torch==2.9.1\n")
    for fmt in ("text", "json", "markdown", "html"):
        outcome = overlay.call(
            "check", str(tmp_path / "freeze.txt"), "--matrices", str(overlay.folder), "--format", fmt, "-v"
        )
        ended_well(outcome)
        assert outcome.code == 1
        assert len(outcome.out) < 100_000
        assert "<class" not in outcome.out


def test_names_with_escapes_are_shown_without(overlay: Overlay) -> None:
    nasty = component(
        "aaa", {**release("1.0"), "notes": [ESCAPES]}, name=f"n{ESCAPES}", description=f"d{ESCAPES}"
    )
    overlay.write("components/aaa.json", nasty)
    overlay.end_well()
    ended_well(overlay.call("show", "component", "aaa", "--matrices", str(overlay.folder)))
    overlay.write("VERSION", f"2026.1.1{ESCAPES}")
    overlay.end_well()


@pytest.mark.parametrize("place", ["/", "/proc", "/dev/null", "no-such-directory", "a\x1b[31mb", "x" * 5000])
def test_a_directory_that_is_no_overlay_is_refused(call: Call, place: str) -> None:
    outcome = call("resolve", "--gpu", "b200", "--matrices", place)
    ended_well(outcome)
    assert outcome.code == 2


def test_lint_shows_titles_without_their_escapes(overlay: Overlay) -> None:
    for ident in ("a", "b"):
        text = rules({"torch": True}, title=f"{ESCAPES} {{no.such.word}}", severity="info")
        overlay.write(f"rules/{ident}.json", text)
    outcome = overlay.call("matrices", "lint", "--quick", "-v", "--matrices", str(overlay.folder))
    assert DRIVES_A_TERMINAL.search(outcome.out) is None


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "^(a+)+$", "(?:a{1,1000}){1,1000}b", "(", "a{99999999999999999999}"]
)
@pytest.mark.parametrize("kind", ["signature", "rule"])
def test_patterns_that_can_take_for_ever_are_refused_at_once(
    overlay: Overlay, tmp_path: Path, kind: str, pattern: str
) -> None:
    if kind == "rule":
        overlay.write("rules/own.json", rules({"env:NCCL_PROTO": {"matches": pattern}}))
    else:
        signature = {"id": "own", "description": "d", "anchors": ["aaa"], "pattern": pattern, "formats": ["any"], "sources": ["s"]}  # fmt: skip
        overlay.write(
            "signatures/own.json",
            json.dumps({"read": "2026-11-29", "sources": _SOURCES, "signatures": [signature]}),
        )
    text = tmp_path / "log"
    text.write_text(f"{'a' * 40}!\nNCCL_PROTO={'a' * 40}!\n")
    outcome = overlay.call("check", str(text), "--matrices", str(overlay.folder))
    ended_well(outcome)
    assert outcome.code == 2
    assert f"pattern {pattern!r}: " in outcome.message
    linted = overlay.call("matrices", "lint", "--quick", "--matrices", str(overlay.folder))
    assert linted.code == 1
    assert f"pattern {pattern!r}: " in linted.out


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("wanted", [{}]),
        ("wanted", ["driver"]),
        ("derive", [{"from": "torch.cuda"}]),
        ("decide", "torch"),
        ("prefer", {"os": "ubuntu-24.04"}),
        ("gpu_row_kind", {"driver": "driver-too-old"}),
        ("kind_order", ["no-such-kind"]),
        ("purposes", {}),
        ("image_families", {}),
        ("implied_by_release", {"glibc": "os"}),
        ("one_at_a_time", [7]),
    ],
    ids=str,
)
def test_a_policy_of_another_shape_is_refused(overlay: Overlay, key: str, value: Any) -> None:
    shipped = json.loads((Path(__file__).parents[2] / "matrices" / "policy.json").read_text())
    overlay.write("policy.json", json.dumps({**shipped, key: value}))
    assert set(overlay.end_well()) == {2}
