from __future__ import annotations

from markdown_it import MarkdownIt

from stackcheck.export.markdown import cell, render
from tests.samples import bare_stack, empty_stack, hard_stack


def html(text: str) -> str:
    return str(MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(text))


def test_every_pin_is_one_row_of_five_cells() -> None:
    page = html(render(hard_stack()))
    pins, variables = page.split("<table>")[1:]
    assert pins.count("<tr>") == 1 + len(hard_stack().pins)
    assert pins.count("<td>") == 5 * len(hard_stack().pins)
    assert variables.count("<td>") == 2 * len(hard_stack().environment)


def test_no_markup_of_a_text_takes_effect() -> None:
    page = html(render(hard_stack()))
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_nobody_is_mentioned() -> None:
    assert cell("@team #12") == "@<!-- -->team #<!-- -->12"


def test_an_unverified_tag_is_named_as_such() -> None:
    assert "No verified tag is known for nvcr.io/nvidia/pytorch:26.09-py3" in render(empty_stack())
    assert "No image." in render(bare_stack())
