"""Whatever is pasted, reading it ends with an inventory or one clear line, soon, and without terminal codes in any value."""

from __future__ import annotations

import gzip
import os
import random
import re
import struct
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackcheck.ingest import ingest
from stackcheck.ingest.read import decode, read_file
from stackcheck.model.errors import InputError
from stackcheck.model.inventory import Inventory
from stackcheck.model.inventory_json import inventory_from_json, inventory_to_json
from tests.ingest.reading import ALIASES, GPU_NAMES, SAMPLES, read_text

_FILES = sorted(SAMPLES.iterdir())
_BYTES = [path.read_bytes() for path in _FILES]
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_MANY = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def read_bytes(data: bytes, name: str = "paste") -> Inventory | None:
    """Return what the bytes say, or None if they are refused with a line."""
    try:
        return ingest([(name, decode(data))], aliases=ALIASES, gpu_names=GPU_NAMES)
    except InputError as fault:
        assert str(fault)
        assert "\n" not in str(fault)
        return None


def assert_clean(inventory: Inventory | None) -> None:
    """No control character in any value, every value bounded, and the JSON can be read again."""
    if inventory is None:
        return
    body = inventory_to_json(inventory)
    for text in _texts(body):
        assert not _CONTROL.search(text), text
        assert len(text) <= 4096
    assert inventory_from_json(body, where="again").components.keys() == inventory.components.keys()


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [t for pair in value.items() for part in pair for t in _texts(part)]
    if isinstance(value, list):
        return [t for part in value for t in _texts(part)]
    return []


@pytest.mark.parametrize("path", _FILES, ids=lambda p: p.name)
def test_samples_are_read_clean(path: Path) -> None:
    assert_clean(read_bytes(path.read_bytes(), path.name))


@_MANY
@given(st.sampled_from(_BYTES), st.floats(0, 1))
def test_any_prefix_is_read(data: bytes, share: float) -> None:
    assert_clean(read_bytes(data[: int(len(data) * share)]))


@_MANY
@given(st.sampled_from(_BYTES), st.randoms(use_true_random=False))
def test_any_order_of_lines_is_read(data: bytes, order: random.Random) -> None:
    lines = data.split(b"\n")
    order.shuffle(lines)
    assert_clean(read_bytes(b"\n".join(lines)))


@_MANY
@given(
    st.sampled_from(_BYTES),
    st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=3)), min_size=1, max_size=12),
)
def test_any_mutation_is_read(data: bytes, changes: list[tuple[float, bytes]]) -> None:
    for share, new in changes:
        at = int(len(data) * share)
        data = data[:at] + new + data[at + len(new) :]
    assert_clean(read_bytes(data))


@_MANY
@given(st.lists(st.sampled_from(_BYTES), min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_any_mixture_of_samples_is_read(parts: list[bytes], order: random.Random) -> None:
    lines = [line for part in parts for line in part.split(b"\n")[: order.randrange(2, 60)]]
    assert_clean(read_bytes(b"\n".join(lines)))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text(max_size=400))
def test_any_text_is_read(text: str) -> None:
    assert_clean(read_bytes(text.encode("utf-8", "replace")))


_LONG = [
    "A" * 200_000,
    "=" * 200_000,
    "torch " * 40_000,
    "1." * 100_000,
    "a-" * 100_000 + "1.0",
    " " * 200_000 + "x",
    "/" * 200_000 + ".so",
    "/a" * 100_000 + "/libnccl.so.2.1",
    "lib" * 70_000 + ".so.1",
    "[" * 200_000,
    '{"a":' * 100_000,
    "GPU " + "0," * 100_000 + ": NVIDIA B200",
    "NCCL INFO " + "via NET/" * 20_000,
    "\x1b[" + "0;" * 100_000,
    "\x1b]" + "x" * 200_000,
    "FROM x\nRUN " + "pip install a==1 && " * 10_000,
    "> " * 100_000,
    "$ " * 100_000,
    "[[package]]\nname = '" + "x" * 200_000,
    "(" * 100_000 + "pid=1)",
    "8 x " * 50_000,
    "name: A\nvalue: b\n" * 20_000,
    "NVIDIA " * 30_000,
    "undefined symbol: " * 10_000,
    "version `GLIBC_2.34' not found " * 6_000,
    "print(" * 30_000,
    "<?xml version='1.0'?><nvidia_smi_log>" + "<a>" * 50_000,
]


@pytest.mark.parametrize("text", _LONG, ids=lambda t: re.sub(r"\W+", "_", t[:12]))
def test_no_text_makes_a_pattern_explode(text: str) -> None:
    started = time.process_time()
    assert_clean(read_bytes(text.encode()))
    assert_clean(read_bytes(("$ python -c '" + text).encode()))
    assert time.process_time() - started < 3


def test_terminal_codes_never_reach_a_value() -> None:
    text = "\x1b[31mtorch\x1b[0m==2.8.0\x1b]0;owned\x07\nNCCL_DEBUG=\x1b[2JINFO\x9b31m\nGPU 0: NVIDIA \x1b[1mB200\n"
    found = read_text(text)
    assert [o.version for o in found.components["torch"]] == ["2.8.0"]
    assert found.environment == {"NCCL_DEBUG": "INFO"}
    assert found.gpu_model == "NVIDIA B200"
    assert not _CONTROL.search("".join(t.content for t in found.texts).replace("\n", ""))


def test_an_unterminated_escape_does_not_swallow_the_rest() -> None:
    assert "torch" in read_text("\x1b]0;title without end\ntorch==2.8.0\n").components


def test_entities_in_xml_are_refused() -> None:
    with pytest.raises(InputError, match="declares entities"):
        read_text((SAMPLES / "billion_laughs.xml").read_text())


def test_deep_json_is_refused_or_ignored() -> None:
    assert read_text("[" * 100_000 + "]" * 100_000).notes
    deep = '{"schema": "stackcheck.inventory/1", "components": ' + '{"a":' * 50_000 + "1" + "}" * 50_000 + "}"
    with pytest.raises(InputError, match="deep"):
        read_text(deep)


def test_ten_megabytes_of_log_take_less_than_two_seconds() -> None:
    shuffled = random.Random(1)
    ways = ("NET/Libfabric/{}/GDRDMA", "P2P/CUMEM", "NET/Libfabric/{}(8)/GDRDMA/Shared")
    lines = [
        f"ip-10-0-{i % 64}-{i % 250}:{4000 + i % 97}:{5000 + i % 89} [{i % 8}] NCCL INFO Channel {i % 32:02d}/0 : {i % 512}[{i % 8}] -> "
        f"{(i + 1) % 512}[{(i + 1) % 8}] [send] via {shuffled.choice(ways).format(i % 32)} comm 0x{shuffled.getrandbits(44):x}"
        for i in range(84_000)
    ]
    lines[40_000:40_000] = (SAMPLES / "nccl_efa_healthy.log").read_text().splitlines()
    text = "\n".join(lines)
    assert len(text) > 10_000_000
    started = time.process_time()
    found = read_text(text)
    assert time.process_time() - started < 1.5
    assert found.facts["nccl_provider"] == "efa"
    assert found.facts["gdr"] is True
    assert [o.version for o in found.components["nccl"]] == ["2.27.7"]


def test_ten_megabytes_of_prose_take_less_than_two_seconds() -> None:
    words = random.Random(2)
    letters = "abcdefghijklmnopqrstuvwxyz"
    line = " ".join("".join(words.choices(letters, k=7)) for _ in range(14))
    text = "\n".join(
        f"{letters[i % 26]}{letters[i // 26 % 26]}{letters[i // 676 % 26]}{letters[i // 17576 % 26]} {line} {i}.5 s"
        for i in range(85_000)
    )
    assert len(text) > 9_500_000
    started = time.process_time()
    read_text(text)
    assert time.process_time() - started < 2


class TestReadFile:
    def test_a_byte_order_mark_is_no_part_of_the_text(self, tmp_path: Path) -> None:
        path = tmp_path / "bom.txt"
        path.write_bytes(b"\xef\xbb\xbftorch==2.8.0\n")
        assert read_file(path) == "torch==2.8.0\n"

    def test_utf_16_is_decoded(self) -> None:
        assert "NVIDIA H100" in read_file(SAMPLES / "utf16.txt")

    def test_bytes_that_are_no_utf_8_become_replacement_characters(self, tmp_path: Path) -> None:
        path = tmp_path / "latin.txt"
        path.write_bytes(b"caf\xe9 torch==2.8.0")
        assert read_file(path) == "caf\ufffd torch==2.8.0"

    def test_nul_separates_the_entries_of_an_environment(self) -> None:
        assert "NCCL_DEBUG=INFO\nFI_PROVIDER=efa\n" in read_file(SAMPLES / "proc_environ")

    def test_nul_elsewhere_is_dropped(self, tmp_path: Path) -> None:
        path = tmp_path / "nul.txt"
        path.write_bytes(b"tor\0ch==2.8.0\0\n")
        assert read_file(path) == "torch==2.8.0\n"

    @pytest.mark.parametrize(
        "data",
        [
            Path(sys.executable).read_bytes()[: 1 << 20],
            gzip.compress(b"torch==2.8.0\n" * 500 + bytes(range(256)) * 40),
            bytes(random.Random(7).randbytes(5000)),
            struct.pack("<500I", *range(500)),
        ],
        ids=["program", "gzip", "noise", "numbers"],
    )
    def test_what_is_no_text_is_refused(self, tmp_path: Path, data: bytes) -> None:
        path = tmp_path / "core.1"
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"core\.1: is a binary file, not text"):
            read_file(path)

    @pytest.mark.parametrize(
        "data",
        [
            b"kernel: ok\n" + b"\0" * 4096 + b"kernel: up again\n",
            ("\ufeff" + "torch==2.8.0\n" * 40).encode("utf-16-le"),
            b"\x1b[31mERROR\x1b[0m 10%\r20%\r30%\x08\x08\x08\n" * 50,
            ("显存不足 torch==2.8.0\n" * 40).encode("gbk"),
            b"A=1\0B=2\0C=\0" * 40,
        ],
        ids=["power-loss", "utf-16", "terminal", "gbk", "environ"],
    )
    def test_text_with_odd_bytes_is_read(self, tmp_path: Path, data: bytes) -> None:
        path = tmp_path / "log"
        path.write_bytes(data)
        assert read_file(path)

    def test_a_file_over_the_limit_is_refused_before_it_is_read(self, tmp_path: Path) -> None:
        path = tmp_path / "big.log"
        with path.open("wb") as file:
            file.truncate(1 << 30)  # sparse
        started = time.process_time()
        with pytest.raises(InputError, match=r"big\.log: is larger than 64 MiB; "):
            read_file(path)
        assert time.process_time() - started < 0.5

    @pytest.mark.parametrize(("make", "kind"), [(Path.mkdir, "a directory"), (os.mkfifo, "a FIFO")])
    def test_what_is_no_file_is_refused(self, tmp_path: Path, make: object, kind: str) -> None:
        path = tmp_path / "thing"
        make(path)  # type: ignore[operator]
        with pytest.raises(InputError, match=f"is {kind}, not a file"):
            read_file(path)

    def test_a_link_to_a_device_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "innocent.txt"
        path.symlink_to("/dev/zero")
        with pytest.raises(InputError, match="is a device, not a file"):
            read_file(path)

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"nowhere\.txt: there is no such file; check the path"):
            read_file(tmp_path / "nowhere.txt")

    def test_a_name_with_terminal_codes_is_not_echoed(self) -> None:
        with pytest.raises(InputError) as caught:
            read_file("no\x1b[31mwhere")
        assert "\x1b" not in str(caught.value)

    def test_a_name_with_nul_is_refused(self) -> None:
        with pytest.raises(InputError):
            read_file("a\0b")


@pytest.mark.parametrize(
    "piece",
    [
        "$ cat /etc/x\nvalue\n",
        "```\ntorch==2.8.0\n```\n",
        "GPU 0: NVIDIA B200\n",
        "A_1=1\nA_1=2\n",
        '{"a": 1}\n',
    ],
)
def test_many_pieces_take_time_in_proportion(piece: str) -> None:
    started = time.process_time()
    read_text(piece * 20_000)
    assert time.process_time() - started < 3


def test_a_broken_lock_is_read_by_its_lines() -> None:
    text = (SAMPLES / "uv.lock").read_text() + '[[package]]\nname = "vllm"\nversion = "0.11.0"\nsource = {'
    found = read_text(text)
    assert [o.version for o in found.components["vllm"]] == ["0.11.0"]
    assert [o.version for o in found.components["nccl"]] == ["2.27.3"]
