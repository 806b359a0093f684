"""METADATA out of the end of a wheel: the right one, from few bytes, and never from a hostile archive."""

from __future__ import annotations

import io
import random
import struct
import zipfile

import pytest

from stackcheck.harvest.interface import HarvestError
from stackcheck.harvest.wheel_tail import directory, metadata_of
from tests.harvest.upstream import core, wheel

NAME = "pack_age-1.0-py3-none-any.whl"


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.read = data, 0

    def __call__(self, first: int, length: int) -> bytes:
        assert first >= 0
        assert length >= 0
        assert first + length <= len(self.data), "asks beyond the end"
        self.read += length
        return self.data[first : first + length]


def extracted(data: bytes, name: str = NAME) -> bytes:
    return metadata_of(name, len(data), Reader(data))


def archive(*files: tuple[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as out:
        for path, data in files:
            out.writestr(path, data)
    return held.getvalue()


def test_metadata_is_what_was_put_in_and_the_middle_is_not_read() -> None:
    text = core("pack-age", "1.0", "torch==2.14.0")
    data = wheel("pack_age", "1.0", text, **{"lib/big.so": random.Random(1).randbytes(3_000_000)})
    reader = Reader(data)
    assert metadata_of(NAME, len(data), reader).decode() == text
    assert reader.read < 100_000


def test_metadata_of_a_vendored_package_is_not_taken() -> None:
    text = core("pack-age", "1.0")
    data = archive(
        ("pack_age/_vendor/other-2.0.dist-info/METADATA", b"Name: other\nVersion: 2.0\n"),
        ("other-2.0.dist-info/METADATA", b"Name: other\nVersion: 2.0\n"),
        ("pack_age-1.0.dist-info/METADATA", text.encode()),
    )
    assert extracted(data).decode() == text


def test_zip64_is_read() -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as out:
        for n in range(70_000):
            out.writestr(f"f{n}", b"")
        out.writestr("pack_age-1.0.dist-info/METADATA", "Name: pack-age\n")
    assert extracted(held.getvalue()) == b"Name: pack-age\n"


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "..\\x", "C:/x", "a\0b"])
def test_names_that_lead_out_are_refused(path: str) -> None:
    good = archive(("q" * len(path), b"x"), ("pack_age-1.0.dist-info/METADATA", b"Name: pack-age\n"))
    data = good.replace(b"q" * len(path), path.encode())
    with pytest.raises(HarvestError, match="leads out"):
        extracted(data)


def test_two_files_of_one_name_are_refused() -> None:
    a, b = "pack_age-1.0.dist-info/METADATA", "pack_age-1.0.dist-info/METADATB"
    data = archive((a, b"Name: a\n"), (b, b"Name: b\n")).replace(b.encode(), a.encode())
    with pytest.raises(HarvestError, match="twice"):
        extracted(data)


def test_two_dist_infos_of_one_package_are_refused() -> None:
    data = archive(
        ("pack_age-1.0.dist-info/METADATA", b"Name: a\n"), ("Pack.Age-1.1.dist-info/METADATA", b"Name: b\n")
    )
    with pytest.raises(HarvestError, match="2 METADATA"):
        extracted(data)


def test_metadata_that_unpacks_to_very_much_is_refused() -> None:
    data = archive(("pack_age-1.0.dist-info/METADATA", b"\0" * 60_000_000))
    with pytest.raises(HarvestError, match="METADATA of 60000000 bytes"):
        extracted(data)
    # The directory may lie about it: state few bytes, hold many.
    at = data.index(b"PK\x01\x02")
    liar = data[: at + 24] + struct.pack("<I", 100) + data[at + 28 :]
    with pytest.raises(HarvestError, match="longer than it says"):
        extracted(liar)


def test_a_wrong_checksum_is_seen() -> None:
    data = archive(("pack_age-1.0.dist-info/METADATA", b"Name: pack-age\n"))
    at = data.index(b"PK\x01\x02")
    with pytest.raises(HarvestError, match="checksum"):
        extracted(data[: at + 16] + b"\1\2\3\4" + data[at + 20 :])


@pytest.mark.parametrize("offset", [0, 1, 10**6, 2**32 - 2])
def test_offsets_outside_are_refused(offset: int) -> None:
    data = archive(("a", b"aaaa"), ("pack_age-1.0.dist-info/METADATA", b"Name: pack-age\n"))
    end = data.rindex(b"PK\x05\x06")
    with pytest.raises(HarvestError):
        extracted(data[: end + 16] + struct.pack("<I", offset) + data[end + 20 :])
    at = data.rindex(b"PK\x01\x02")
    with pytest.raises(HarvestError):
        extracted(data[: at + 42] + struct.pack("<I", offset or 7) + data[at + 46 :])


@pytest.mark.parametrize("data", [b"", b"x", b"PK\x05\x06", b"<html>login</html>" * 100, b"PK\x05\x06" * 30])
def test_what_is_no_zip_is_refused(data: bytes) -> None:
    with pytest.raises(HarvestError):
        extracted(data)


def test_random_damage_never_ends_in_a_traceback() -> None:
    good = wheel("pack_age", "1.0", core("pack-age", "1.0"), a=b"x" * 500)
    dice = random.Random(7)
    for _ in range(2_000):
        data = bytearray(good[: dice.randrange(len(good)) + 1] if dice.random() < 0.3 else good)
        for _ in range(dice.randrange(1, 6)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        reader = Reader(bytes(data))
        try:
            metadata_of(NAME, len(data), reader)
        except HarvestError:
            continue


def test_a_directory_that_promises_more_entries_than_it_holds_is_refused() -> None:
    data = archive(("a", b""))
    end = data.rindex(b"PK\x05\x06")
    with pytest.raises(HarvestError, match="cut off"):
        directory(len(data), Reader(data[: end + 10] + b"\x09\x00" + data[end + 12 :]))
