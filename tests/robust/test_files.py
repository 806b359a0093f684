"""Files that are no texts, texts that are no reports, and documents made to be expensive."""

from __future__ import annotations

import io
import json
import os
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from tests.robust.conftest import Call, ended_well

_SOON = 12.0  # seconds on a busy machine; what is caught here took minutes or did not end


def check_file(call: Call, path: Path, *arguments: str) -> int:
    """Check one file and return the exit code; it has to end well and soon."""
    start = time.monotonic()
    outcome = call("check", str(path), "--gpu", "b200", *arguments)
    assert time.monotonic() - start < _SOON
    ended_well(outcome)
    return outcome.code


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1"])
def test_a_text_is_read_in_any_encoding(call: Call, tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "freeze.txt"
    path.write_bytes("torch==2.4.1\nnvidia-nccl-cu12==2.20.5\n".encode(encoding))
    assert check_file(call, path) == 1


@pytest.mark.parametrize(
    "content",
    [
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        "[\n" * 100_000 + "]\n" * 100_000,
        '{"schema": "stackcheck.stack/1", "target":' + "[" * 100_000 + "]" * 100_000 + "}",
        "version = 1\n[[package]]\nname = 'a'\nx = " + "[" * 100_000 + "]" * 100_000 + "\n",
        "<nvidia_smi_log>" + "<a>" * 100_000 + "</a>" * 100_000 + "</nvidia_smi_log>",
        '<?xml version="1.0" encoding="x-none"?>\n<nvidia_smi_log><driver_version>1</driver_version></nvidia_smi_log>',
        "<nvidia_smi_log " + " ".join(f'a{i}="x"' for i in range(20_000)) + "></nvidia_smi_log>",
    ],
    ids=["arrays", "objects", "lines", "lock", "toml", "xml", "xml encoding", "xml attributes"],
)
def test_deep_and_wide_documents_end(call: Call, tmp_path: Path, content: str) -> None:
    path = tmp_path / "deep"
    path.write_text(content)
    check_file(call, path)


def test_entities_are_not_expanded(call: Call, tmp_path: Path) -> None:
    laughs = "".join(
        f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefghij", "bcdefghijk", strict=True)
    )
    path = tmp_path / "laughs.xml"
    path.write_text(
        f'<?xml version="1.0"?>\n<!DOCTYPE nvidia_smi_log [<!ENTITY a "aaaa">{laughs}]>\n'
        "<nvidia_smi_log><driver_version>&k;</driver_version></nvidia_smi_log>"
    )
    assert check_file(call, path) == 2


def test_an_outside_document_type_is_not_followed(call: Call, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("<!ENTITY driver '111.11'>")
    path = tmp_path / "smi.xml"
    path.write_text(
        f'<?xml version="1.0"?>\n<!DOCTYPE nvidia_smi_log SYSTEM "{secret.as_uri()}">\n'
        "<nvidia_smi_log><driver_version>&driver;</driver_version></nvidia_smi_log>"
    )
    outcome = call("check", str(path), "--gpu", "b200", "--format", "json")
    ended_well(outcome)
    assert "111.11" not in outcome.out


def test_archives_are_not_unpacked(call: Call, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("torch.txt", b"\0" * 20_000_000)
    with tarfile.open(tmp_path / "bomb.tgz", "w:gz") as tar:
        member = tarfile.TarInfo("torch.txt")
        member.size = 20_000_000
        tar.addfile(member, io.BytesIO(b"\0" * member.size))
    for name in ("bomb.zip", "bomb.tgz"):
        assert check_file(call, tmp_path / name) != 1


def test_files_beyond_the_limit_are_not_read(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    path.touch()
    os.truncate(path, 1 << 30)
    outcome = call("check", str(path))
    ended_well(outcome)
    assert outcome.code == 2
    assert "larger than" in outcome.message
    for flag in ("--lock", "--host"):
        assert call("resolve", "--gpu", "b200", flag, str(path)).code == 2


@pytest.mark.parametrize(
    "name",
    [
        "/dev/zero",
        "/dev/null",
        "/dev/full",
        "/dev/random",
        "/proc/self/mem",
        "/sys",
        "/dev/fd/99",
        "",
        "a\nb",
        "a" * 300,
        "x" * 5000,
    ],
)
def test_what_is_no_file_is_refused_everywhere(call: Call, name: str) -> None:
    for arguments in (
        ("check", name),
        ("check", "--", name),
        ("diff", name, name),
        ("resolve", "--gpu", "b200", "--lock", name),
        ("resolve", "--gpu", "b200", "--host", name),
        ("why", "torch", "--lock", name),
        ("check", "--accept-file", name, name),
    ):
        outcome = call(*arguments)
        ended_well(outcome)
        assert outcome.code == 2


def test_links_that_go_round_are_refused(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    outcome = call("check", str(tmp_path / "a"))
    ended_well(outcome)
    assert outcome.code == 2


@pytest.mark.parametrize(
    "line",
    ["a" * 400_000, "`" * 400_000, "> " * 200_000, " " * 400_000 + "torch==2.4.1", "\x1b[" * 200_000, "\r" * 400_000,
     '{"a":' * 80_000, "torch==2.4.1 " * 30_000, "\x1b]" * 200_000, "1." * 200_000, "=" * 400_000, "$ " * 200_000],
    ids=lambda line: repr(line[:6]),
)  # fmt: skip
def test_one_long_line_ends_soon(call: Call, tmp_path: Path, line: str) -> None:
    path = tmp_path / "line"
    path.write_text(line)
    check_file(call, path)


def test_many_lines_of_every_shape_end_soon(call: Call, tmp_path: Path) -> None:
    rows = [
        f"{i}\ntorch==2.{i}\nexport V{i}={i}\nh{i}:1:1 [0] NCCL INFO NCCL version 2.{i % 40}.1+cuda12.4\n"
        for i in range(40_000)
    ]
    path = tmp_path / "log"
    path.write_text("".join(rows))
    check_file(call, path)


def test_many_versions_of_one_component_end_soon(call: Call, tmp_path: Path) -> None:
    versions = [f"2.{i}" for i in range(20_000)]
    body = {
        "schema": "stackcheck.inventory/1",
        "gpu": "b200",
        "components": {"torch": versions},
        "facts": {"xid": list(range(20_000))},
    }
    (tmp_path / "many.json").write_text(json.dumps(body))
    check_file(call, tmp_path / "many.json")


def test_programs_are_no_texts(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(
        b"\x7fELF\x02\x01\x01"
        + bytes(9)
        + b"Bus error (core dumped)\0No space left on device\0\xff\xfe\x90" * 500
    )
    assert check_file(call, path) == 2
