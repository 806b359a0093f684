"""GPU code is listed from headers alone: targets with their suffixes, linked apart from relocatable, damage survived."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from stackcheck_probes import fatbin, files
from stackcheck_probes.elf import Elf, ElfError
from tests.nodes.objects import Spec, build, container

CODE = (("sm_80", 40), ("sm_90", 40), ("sm_90a", 2), ("sm_100f", 40), ("compute_120f", 5), ("sm_89", 1))


def counted(data: bytes) -> fatbin.Code:
    """Return the code in a row of containers."""
    code = fatbin.Code()
    fatbin.count(data, 0, len(data), code, relocatable=False)
    return code


def test_counts_by_target_with_suffix() -> None:
    found = fatbin.scan(build(Spec("a.so", code=CODE, relocatable=(("sm_90", 3), ("compute_90", 3)))))
    assert found.linked == dict(CODE)
    assert found.relocatable == {"sm_90": 3, "compute_90": 3}
    assert found.images == 134
    assert found.compressed == 134


def test_single_kernels_do_not_make_a_library_run_on_a_gpu() -> None:
    found = fatbin.scan(build(Spec("a.so", code=CODE)))
    assert found.main_targets() == ("sm_80", "sm_90", "sm_100f")


def test_relocatable_code_counts_where_nothing_is_linked() -> None:
    found = fatbin.scan(build(Spec("a.so", relocatable=(("sm_90", 3),))))
    assert found.main_targets() == ("sm_90",)


def test_targets_sort_by_number_with_ptx_last() -> None:
    names = ["compute_90", "sm_120", "sm_90a", "sm_100", "sm_90"]
    assert sorted(names, key=fatbin.target_key) == ["sm_90", "sm_90a", "sm_100", "sm_120", "compute_90"]


def test_containers_one_after_another_with_padding_between() -> None:
    one, two = container((("sm_90", 2),)), container((("sm_100", 3),))
    data = one + bytes(24) + two
    assert counted(data).linked == {"sm_90": 2, "sm_100": 3}


def test_short_reads_of_a_file_see_the_same(tmp_path: Path) -> None:
    data = build(Spec("a.so", code=CODE, relocatable=(("sm_90", 3),)))
    whole = fatbin.scan(data)
    (tmp_path / "a.so").write_bytes(data)
    with files.short_reads(str(tmp_path / "a.so")) as read:
        found = fatbin.code_of(Elf(data), read)
        assert (found.linked, found.relocatable) == (whole.linked, whole.relocatable)
        (tmp_path / "a.so").write_bytes(data[: len(data) // 2])
        assert fatbin.code_of(Elf(data), read).images < whole.images, (
            "a file that shrinks meanwhile ends the scan"
        )


def test_no_code_is_an_empty_answer_not_an_error() -> None:
    found = fatbin.scan(build(Spec("a.so", symbols=("x",))))
    assert found.images == 0
    assert found.main_targets() == ()


def test_not_an_object() -> None:
    with pytest.raises(ElfError):
        fatbin.scan(b"text" * 100)


def test_damaged_containers_end() -> None:
    data = container(CODE)
    random.seed(7)
    for _ in range(500):
        damaged = bytearray(data)
        for _ in range(4):
            damaged[random.randrange(len(damaged))] = random.randrange(256)
        assert counted(bytes(damaged)).images <= 200
    for cut in range(0, len(data), 11):
        assert counted(data[:cut]).images <= 128


@pytest.mark.parametrize(
    ("target", "capability", "how"),
    [
        ("sm_86", (8, 9), "native"), ("sm_90", (8, 9), ""), ("sm_80", (9, 0), ""), ("sm_100", (10, 3), "native"), ("sm_103", (10, 0), ""),
        ("sm_90a", (9, 0), "native"), ("sm_100a", (10, 3), ""), ("sm_100f", (10, 3), "native"), ("sm_120f", (10, 0), ""), ("sm_120", (12, 1), "native"),
        ("compute_80", (10, 0), "jit"), ("compute_120", (10, 0), ""), ("compute_90a", (10, 0), ""), ("compute_120f", (12, 1), "jit"), ("sm_100", (12, 0), ""),
    ],
)  # fmt: skip
def test_what_runs_where(target: str, capability: tuple[int, int], how: str) -> None:
    assert fatbin.runs(target, capability) == how
