"""The search for many words at once finds what a search for each of them finds."""

from __future__ import annotations

import base64
import random

import pytest

from stackcheck.model.long_text import LONG, LongText, occurring, shapes

ALPHABETS = ("ab", "abcdefghij ", "aé\u20ac\U0001f600", "a\ud800\0\n", "01\x7f\x80")


@pytest.mark.parametrize("alphabet", ALPHABETS, ids=ascii)
def test_it_finds_what_a_search_for_each_finds(alphabet: str) -> None:
    dice = random.Random(ascii(alphabet))
    text = "".join(dice.choices(alphabet, k=LONG + dice.randrange(16)))
    words = {"".join(dice.choices(alphabet, k=dice.randrange(1, 30))) for _ in range(400)}
    for _ in range(200):  # and some that do occur, at every alignment and at both ends
        start = dice.choice((0, len(text) - 20, dice.randrange(len(text))))
        words.add(text[start : start + dice.randrange(1, 20)])
    assert occurring(text, words) == {w for w in words if w in text}


def test_short_texts_few_words_and_the_empty_word_are_no_exception() -> None:
    assert occurring("a text", ["text", "none", ""]) == {"text", ""}
    assert occurring("x" * LONG, ["xxxxxxxxxx", "y", ""]) == {"xxxxxxxxxx", ""}
    assert occurring("", ["a"]) == frozenset()


def test_a_text_that_was_searched_answers_like_any_other() -> None:
    plain = "x" * LONG + "needle in a haystack"
    words = frozenset(f"word number {i}" for i in range(200)) | {"needle in a", "haystack"}
    text = LongText.searched(plain, words)
    assert text == plain
    assert "needle in a" in text
    assert "word number 7" not in text
    assert "stack" in text, "one that nobody asked for"
    assert "stacks" not in text


def test_lines_of_one_shape_differ_in_numbers_only() -> None:
    first, second, third = shapes("rank 17 at 0x7fa0\nrank 3 at 0xbeef\nrang 3 at 0x1")
    assert first == second != third


def test_base64_has_one_shape_and_words_and_paths_have_their_own() -> None:
    data = base64.encodebytes(random.Random(1).randbytes(5000)).decode().splitlines()[:-1]
    assert len(set(shapes("\n".join(data)))) == 1
    told = [
        "/usr/local/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2",
        "RuntimeError:noKernelImageIsAvailableForExecutionOnTheDevice.",
        "a sentence of many words that goes on and on until nobody listens",
        "short",
    ]
    assert len(set(shapes("\n".join(told)))) == len(told)
