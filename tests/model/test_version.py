"""Versions order as their own world orders them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version as PackagingVersion

from stackcheck.model.ranges import Range
from stackcheck.model.version import Version, cuda_from_code, cudnn_from_code, nccl_from_code

numbers = st.lists(st.integers(0, 12), min_size=1, max_size=4).map(lambda n: ".".join(map(str, n)))
suffixes = st.sampled_from(
    [
        "",
        "a1",
        "b2",
        "rc1",
        ".post1",
        ".dev0",
        "rc2.dev1",
        "+cu121",
        "+cu130",
        "a0+f70bd71",
        ".post2+local.1",
        "-1",
    ]
)
pep440 = st.builds(
    lambda epoch, n, s: f"{epoch}{n}{s}", st.sampled_from(["", "", "", "1!"]), numbers, suffixes
)


@given(pep440, pep440)
def test_pep440_order_agrees_with_packaging(a: str, b: str) -> None:
    left, right = Version(a, "pep440"), Version(b, "pep440")
    assert (left < right) is (PackagingVersion(a) < PackagingVersion(b))
    assert (left == right) is (PackagingVersion(a) == PackagingVersion(b))


@given(pep440, st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "~="]), pep440)
def test_pep440_ranges_agree_with_packaging(version: str, operator: str, operand: str) -> None:
    try:
        expected = SpecifierSet(operator + operand).contains(version, prereleases=True)
    except ValueError:  # what packaging refuses, such as ~=1 or >=1+local
        return
    assert (Version(version, "pep440") in Range(operator + operand, "pep440")) is expected


@given(pep440, numbers)
def test_pep440_wildcards_agree_with_packaging(version: str, prefix: str) -> None:
    for operator in ("==", "!="):
        expected = SpecifierSet(f"{operator}{prefix}.*").contains(version, prereleases=True)
        assert (Version(version, "pep440") in Range(f"{operator}{prefix}.*", "pep440")) is expected


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("570.86.15", "570.133.20"),  # numbers, not text
        ("580.95.05", "580.105.08"),
        ("1.9.2", "1.43.3"),
        ("2.3.1amzn1.0", "2.3.1amzn5.0"),
        ("1.22.0amzn4.0", "2.1.0"),
        ("1.9.1-aws", "1.14.2-aws"),
        ("2.28.9-1", "2.30.7-1"),
        ("6.8.0-1009-aws", "6.8.0-1021-aws"),
        ("5.15.0", "6.1.0"),
        ("25.09-py3", "25.10-py3"),
    ],
)
def test_dotted_versions_order_by_number(older: str, newer: str) -> None:
    assert Version(older) < Version(newer)
    assert Version(newer) > Version(older)


@pytest.mark.parametrize(
    ("version", "text", "inside"),
    [
        ("1.22.0amzn4.0", ">=1.22", True),
        ("1.22.0amzn4.0", "<=1.22", True),
        ("1.14.2-aws", "==1.14.2", True),
        ("2.28.9-1", "==2.28.9", True),
        ("1.19.0amzn1.0", "==1.19.0amzn3.0", False),
        ("1.19.0amzn4.0", ">=1.19.0amzn3.0", True),
        ("580.65.06", ">=580.65.06", True),
        ("580.65.5", ">=580.65.06", False),
        ("12.10", ">=12.9", True),  # what a float comparison gets wrong
        ("2.30.7", ">=2.19,<2.21 || ==2.30.7", True),
        ("2.22.3", ">=2.19,<2.21 || ==2.30.7", False),
        ("13.0.2", "==13.0.*", True),
        ("13.10", "==13.1.*", False),
    ],
)
def test_dotted_ranges(version: str, text: str, inside: bool) -> None:
    assert (Version(version) in Range(text)) is inside


def test_local_label_does_not_count_unless_the_range_names_one() -> None:
    assert Version("2.4.1+cu121", "pep440") in Range("==2.4.1", "pep440")
    assert Version("2.4.1+cu121", "pep440") in Range("==2.4.1+cu121", "pep440")
    assert Version("2.4.1+cu121", "pep440") not in Range("==2.4.1+cu124", "pep440")


def test_named_versions_order_within_a_name() -> None:
    assert Version("ubuntu-22.04", "named") < Version("ubuntu-24.04", "named")
    assert Version("Ubuntu 24.04", "named") == Version("ubuntu-24.04", "named")


def test_schemes_do_not_mix() -> None:
    with pytest.raises(TypeError, match="cannot compare"):
        assert Version("2.0") < Version("2.0", "pep440")
    assert Version("2.0") != Version("2.0", "pep440")


@pytest.mark.parametrize(
    "text", ["", "abc", "1..2x", ">=1,,<2", ">>1", "==", "1.0", ">=1 <2", "~=1", ">=1.*", "||", ">=1||"]
)
def test_malformed_ranges_are_refused_with_a_reason(text: str) -> None:
    if text in ("", ">=1,,<2"):  # an empty range holds for all, an empty clause says nothing
        Range(text)
        return
    with pytest.raises(ValueError, match=r"clause|range|version|wildcard|numbers"):
        Range(text)


@pytest.mark.parametrize("text", ["x" * 1000, "", "latest", "v", "1.0.0" * 60])
def test_nonsense_is_no_version(text: str) -> None:
    with pytest.raises(ValueError, match="version"):
        Version(text, "pep440")


@pytest.mark.parametrize(
    ("code", "version"), [(22703, "2.27.3"), (2708, "2.7.8"), (21805, "2.18.5"), (23007, "2.30.7")]
)
def test_nccl_codes(code: int, version: str) -> None:
    assert nccl_from_code(code) == version


@pytest.mark.parametrize(
    ("code", "version"), [(8902, "8.9.2"), (90100, "9.1.0"), (91002, "9.10.2"), (8700, "8.7.0")]
)
def test_cudnn_codes(code: int, version: str) -> None:
    """90100 is 9.1.0, not 90.1.0."""
    assert cudnn_from_code(code) == version


@pytest.mark.parametrize(("code", "version"), [(12080, "12.8"), (13000, "13.0"), (11080, "11.8")])
def test_cuda_codes(code: int, version: str) -> None:
    assert cuda_from_code(code) == version
