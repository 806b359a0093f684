from __future__ import annotations

from html.parser import HTMLParser

import pytest

from stackcheck.report.html_page import render
from stackcheck.report.interface import Options
from stackcheck.report.style import visible
from tests.samples import NASTY, clean_report, hard_report

VOID = {"meta", "br"}


class Page(HTMLParser):
    """A strict reader: every element is closed, in order; collects tags, attributes and texts."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("make", [hard_report, clean_report])
def test_it_is_well_formed_and_loads_nothing(make) -> None:  # type: ignore[no-untyped-def]
    text = render(make(), Options())
    page = Page(text)
    assert not {"script", "link", "img", "iframe", "object", "form", "input", "base"} & set(page.tags)
    assert not [
        n for n, _ in page.attributes if n.startswith("on") or n in ("src", "srcset", "style", "action")
    ]
    assert "url(" not in text
    assert "@import" not in text


def test_links_are_web_addresses_only() -> None:
    links = {v for n, v in Page(render(hard_report(), Options())).attributes if n == "href"}
    assert links == {"https://example.com/cuda", "https://example.com/plugin?a=1&b=2"}


def test_a_content_policy_forbids_scripts() -> None:
    values = [v for n, v in Page(render(clean_report(), Options())).attributes if n == "content"]
    assert "default-src 'none'; style-src 'unsafe-inline'" in values


def test_observed_text_is_shown_as_text() -> None:
    assert visible(NASTY) in Page(render(hard_report(), Options())).text


def test_it_has_a_dark_and_a_printed_form() -> None:
    text = render(clean_report(), Options())
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
