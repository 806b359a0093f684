"""Layer over layer as a container engine would see it, and nothing hostile gets anywhere."""

from __future__ import annotations

import gzip
import random
import tarfile
import time

import pytest

from stackcheck.harvest.image_files import libraries, operating_system, packages, wanted
from stackcheck.harvest.interface import HarvestError
from stackcheck.harvest.layer_tar import Bounds, Tree, apply, inside
from tests.harvest.images import device, distribution, folder, layer, link


def tree(*layers: bytes, bounds: Bounds | None = None) -> Tree:
    found = Tree()
    for data in layers:
        apply(found, [data], wanted, bounds or Bounds(), "layer")
    return found


def pips(found: Tree) -> list[tuple[str, str]]:
    return [(p.name, p.version) for p in packages(found) if p.manager == "pip"]


def test_a_later_layer_replaces_and_a_whiteout_removes() -> None:
    old, new = distribution("torch", "2.13.0"), distribution("torch", "2.14.0")
    gone = layer((old[0].replace("torch-2.13.0.dist-info/METADATA", ".wh.torch-2.13.0.dist-info"), b""), new)
    assert pips(tree(layer(old, distribution("numpy", "2.4.6")), gone)) == [
        ("numpy", "2.4.6"),
        ("torch", "2.14.0"),
    ]


def test_an_opaque_folder_hides_what_was_below_but_not_what_its_own_layer_brings() -> None:
    before = layer(distribution("torch", "2.13.0"), distribution("numpy", "2.4.6", "opt/lib"))
    after = layer(distribution("vllm", "0.33.0"), ("usr/lib/python3/dist-packages/.wh..wh..opq", b""))
    assert pips(tree(before, after)) == [("numpy", "2.4.6"), ("vllm", "0.33.0")]


def test_a_whiteout_does_not_remove_what_its_own_layer_brings() -> None:
    path, data = distribution("torch", "2.14.0")
    head, _, tail = path.partition("torch-")
    assert pips(tree(layer((path, data), (f"{head}.wh.torch-{tail.split('/')[0]}", b"")))) == [
        ("torch", "2.14.0")
    ]


def test_hard_links_share_the_content_and_lead_nowhere_else() -> None:
    path, data = distribution("torch", "2.14.0")
    found = tree(
        layer(
            (path, data),
            link("b/torch-2.14.0.dist-info/METADATA", path, tarfile.LNKTYPE),
            link("c/x-1.dist-info/METADATA", "../../../etc/shadow", tarfile.LNKTYPE),
            link("d/x-1.dist-info/METADATA", "/etc/shadow", tarfile.LNKTYPE),
        )
    )
    assert [p.path for p in packages(found)] == ["b/torch-2.14.0.dist-info/METADATA", path]
    assert sum("hard link to nothing" in n for n in found.notes) == 2


def test_devices_and_names_that_lead_out_are_noted_and_nothing_else() -> None:
    found = tree(
        layer(
            device("dev/sda"),
            ("../../etc/cron.d/evil", b"x"),
            ("a/../../../x-1.dist-info/METADATA", b"Name: x\nVersion: 1\n"),
            ("/abs/y-1.dist-info/METADATA", b"Name: y\nVersion: 1\n"),
            folder("plain"),
        )
    )
    assert pips(found) == [("y", "1")], "an absolute name is one inside the image"
    assert len(found.notes) == 3
    assert not [p for p in found.files if ".." in p or "sda" in p]


@pytest.mark.parametrize(
    ("name", "path", "escaped"),
    [
        ("./a/./b", "a/b", False),
        ("a/../b", "b", False),
        ("../b", "b", True),
        ("/../b", "b", True),
        ("", "", False),
    ],
)
def test_names_are_normalised_inside_the_image(name: str, path: str, escaped: bool) -> None:
    assert inside(name) == (path, escaped)


def test_os_release_is_found_through_links_and_loops_end() -> None:
    text = b'NAME="Ubuntu"\nID=ubuntu\nVERSION_ID="24.04"\n'
    assert (
        operating_system(
            tree(layer(("usr/lib/os-release", text), link("etc/os-release", "../usr/lib/os-release")))
        )
        == "ubuntu-24.04"
    )
    assert operating_system(tree(layer(link("etc/os-release", "/etc/os-release")))) == ""
    assert operating_system(tree(layer(link("etc/os-release", "../../../../etc/os-release")))) == ""


def test_dpkg_lists_what_is_installed() -> None:
    status = b"Package: libnccl2\nStatus: install ok installed\nVersion: 2.30.7-1+cuda13.0\n\nPackage: gone\nStatus: deinstall ok config-files\nVersion: 1\n"
    found = packages(tree(layer(("var/lib/dpkg/status", status))))
    assert [(p.name, p.version, p.manager) for p in found] == [("libnccl2", "2.30.7-1+cuda13.0", "dpkg")]


def test_libraries_are_listed_by_path() -> None:
    found = tree(
        layer(
            ("usr/lib/libnccl.so.2.30.7", b"ELF"),
            link("usr/lib/libnccl.so.2", "libnccl.so.2.30.7"),
            ("usr/x.so.txt", b""),
        )
    )
    assert libraries(found) == ("usr/lib/libnccl.so.2", "usr/lib/libnccl.so.2.30.7")


def test_a_bomb_stops_at_the_bound_and_quickly() -> None:
    bomb = gzip.compress(layer(("x", b"\0" * 200_000_000)))
    start = time.monotonic()
    with pytest.raises(HarvestError, match="unpacks to more than"):
        tree(bomb, bounds=Bounds(unpacked=50_000_000))
    assert time.monotonic() - start < 5


def test_too_many_files_or_too_much_worth_reading_stops() -> None:
    many = layer(*((f"f{i}", b"") for i in range(200)))
    with pytest.raises(HarvestError, match="more than 100 files"):
        tree(many, bounds=Bounds(entries=100))
    big = [(f"p{i}-1.dist-info/METADATA", b"x" * 100_000) for i in range(20)]
    with pytest.raises(HarvestError, match="worth reading"):
        tree(layer(*big), bounds=Bounds(held=1_000_000))


def test_metadata_of_absurd_length_is_passed_over() -> None:
    found = tree(
        layer(
            ("x-1.dist-info/METADATA", b"Name: x\nVersion: 1\n" + b" " * 17_000_000),
            distribution("torch", "2.14.0"),
        )
    )
    assert pips(found) == [("torch", "2.14.0")]
    assert "was not read" in found.notes[0]


def test_a_header_that_promises_gigabytes_is_refused() -> None:
    info = tarfile.TarInfo("pax")
    info.type, info.size = tarfile.XHDTYPE, 8_000_000_000
    with pytest.raises(HarvestError, match="in a layer"):
        tree(info.tobuf(tarfile.GNU_FORMAT) + b"\0" * 10_000)


def test_removing_is_not_quadratic() -> None:
    """Fifty thousand whiteouts over fifty thousand files: seconds, not hours."""
    names = [f"d/{i}" for i in range(50_000)]
    start = time.monotonic()
    found = tree(layer(*((n, b"") for n in names)), layer(*((f"d/.wh.{i}", b"") for i in range(50_000))))
    assert not found.files
    assert time.monotonic() - start < 30


@pytest.mark.parametrize(
    "data", [b"", b"not a tar", b"\x1f\x8b broken", b"\x28\xb5\x2f\xfd zstd", b"\0" * 512]
)
def test_what_is_no_layer_is_one_line_or_empty(data: bytes) -> None:
    try:
        assert tree(data).files == {}
    except HarvestError as fault:
        assert "\n" not in str(fault)


def test_random_damage_never_ends_in_a_traceback() -> None:
    good = gzip.compress(
        layer(
            distribution("torch", "2.14.0"),
            link("a", "b"),
            device("dev/x"),
            *[(f"f{i}", b"x" * i) for i in range(20)],
        )
    )
    plain = gzip.decompress(good)
    dice = random.Random(3)
    for turn in range(600):
        data = bytearray(good if turn % 2 else plain)
        for _ in range(dice.randrange(1, 8)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        try:
            found = tree(bytes(data[: dice.randrange(len(data)) + 1] if turn % 3 == 0 else data))
        except HarvestError:
            continue
        assert not [p for p in found.files if p.startswith("/") or ".." in p.split("/")]
