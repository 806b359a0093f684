"""A tree is a closed world: links stay inside, overlays add and take away, special files are refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from stackcheck_probes.interface import AbsentError, HostError, RefusedError
from stackcheck_probes.tree import TreeFiles, open_tree


def tree(root: Path, **marker: object) -> TreeFiles:
    """Return a tree with a marker."""
    (root / "node.json").write_text(json.dumps(marker))
    return open_tree(str(root))


def test_absolute_links_stay_inside(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("inside")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "up").symlink_to("../../../../../../etc/passwd")
    files = open_tree(str(tmp_path))
    assert files.read("/link") == b"inside"
    assert files.read("/up") == b"inside"
    assert files.real("/link") == "/etc/passwd"


def test_dots_do_not_climb_out(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "secret").write_text("outside")
    files = open_tree(str(tmp_path / "inner"))
    for path in ("/../secret", "/a/../../secret", "../secret"):
        with pytest.raises(AbsentError):
            files.read(path)


def test_link_loops_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    files = open_tree(str(tmp_path))
    assert not files.exists("/a")
    with pytest.raises(AbsentError):
        files.read("/a")


def test_small_files_links_and_directories_of_the_marker(tmp_path: Path) -> None:
    files = tree(
        tmp_path, files={"/sys/a/b": "text\n"}, links={"/sys/class/x": "../a"}, directories=["/sys/empty"]
    )
    assert files.read("/sys/class/x/b") == b"text\n"
    assert files.names("/sys") == ["a", "class", "empty"]
    assert files.names("/sys/empty") == []
    assert files.is_dir("/sys/a")
    assert files.size("/sys/a/b") == 5
    assert not files.exists("/node.json")


def test_unreadable_is_refused_not_absent(tmp_path: Path) -> None:
    files = tree(tmp_path, files={"/proc/self/maps": "x"}, unreadable=["/proc/self/maps"])
    with pytest.raises(RefusedError):
        files.read("/proc/self/maps")
    assert files.exists("/proc/self/maps")


def test_overlay_adds_replaces_and_takes_away(tmp_path: Path) -> None:
    base, top = tmp_path / "base", tmp_path / "top"
    for path, text in (("a/one", "1"), ("a/two", "2"), ("b/three", "3")):
        (base / path).parent.mkdir(parents=True, exist_ok=True)
        (base / path).write_text(text)
    (base / "node.json").write_text("{}")
    top.mkdir()
    (top / "overlay.json").write_text(
        json.dumps(
            {"base": "../base", "absent": ["/a/one", "/b"], "files": {"/a/two": "new", "/b/four": "4"}}
        )
    )
    files = open_tree(str(top))
    assert files.names("/a") == ["two"]
    assert files.read("/a/two") == b"new"
    assert files.names("/b") == ["four"]
    assert not files.exists("/b/three")


def test_fifo_and_device_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "null").symlink_to("dev")
    files = open_tree(str(tmp_path))
    with pytest.raises(RefusedError, match="not a regular file"):
        files.read("/fifo")
    with pytest.raises(RefusedError):
        files.map("/fifo")


@pytest.mark.parametrize("text", ["{", "[]", "[" * 100000, '"x"', "\xff"])
def test_a_bad_marker_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "node.json").write_text(text)
    with pytest.raises(RefusedError):
        open_tree(str(tmp_path))


def test_a_marker_with_odd_values_is_survived(tmp_path: Path) -> None:
    files = tree(tmp_path, files=[1], links={"/x": 7, "": ""}, absent="no", directories=[None, {}])
    assert not files.exists("/x")


def test_a_missing_root_and_a_ring_of_overlays_are_told(tmp_path: Path) -> None:
    with pytest.raises(AbsentError):
        open_tree(str(tmp_path / "no"))
    (tmp_path / "overlay.json").write_text('{"base": "."}')
    with pytest.raises(HostError, match="on top of each other"):
        open_tree(str(tmp_path))


def test_a_text_that_is_no_text_has_a_content_all_the_same(tmp_path: Path) -> None:
    """JSON can write half of a surrogate pair; U+DC80 to U+DCFF stand for the bytes of a file that is no UTF-8."""
    files = tree(tmp_path, files={"/high": "a\ud800b", "/byte": "a\udcffb"})
    assert files.read("/high") == b"a?b"
    assert files.read("/byte") == b"a\xffb"
