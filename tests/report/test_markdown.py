from __future__ import annotations

import re
from html.parser import HTMLParser

from markdown_it import MarkdownIt

from stackcheck.report.interface import Options
from stackcheck.report.markdown import code, escaped, render
from tests.samples import clean_report, hard_report


def html(text: str) -> str:
    return str(MarkdownIt("gfm-like", {"html": True, "linkify": False}).render(text))


class Tags(HTMLParser):
    """Collects the tags and links of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]


def test_one_folded_block_per_finding_and_no_foreign_tag() -> None:
    tags = Tags(html(render(hard_report(), Options())))
    assert tags.tags.count("details") == tags.tags.count("summary") == 3
    assert set(tags.tags) <= {"h3", "details", "summary", "b", "ul", "li", "p", "code", "pre", "a"}
    assert sorted(set(tags.links)) == ["https://example.com/cuda", "https://example.com/plugin?a=1&b=2"]


def test_errors_are_open_and_the_rest_is_folded() -> None:
    assert re.findall(r"<details( open)?>", render(hard_report(), Options())) == [" open", "", ""]


def test_a_code_span_holds_whatever_is_in_it() -> None:
    for text in ("a`b", "``", "`a", "x``y`", "<b>", "a|b"):
        assert Tags(html(code(text))).tags == ["p", "code"]


def test_running_text_mentions_nobody_and_is_no_markup() -> None:
    assert html(escaped("*a* _b_ [c](d) <e> ~f~ @g #1 `h`")) == (
        "<p>*a* _b_ [c](d) &lt;e&gt; ~f~ @<!-- -->g #<!-- -->1 `h`</p>\n"
    )


def test_a_command_is_a_block_that_its_text_cannot_end() -> None:
    page = html(render(hard_report(), Options()))
    assert "sudo apt-get install -y nvidia-open-580\nsudo reboot\n</code></pre>" in page
    assert "<script" not in page


def test_a_healthy_node() -> None:
    assert render(clean_report(), Options()) == "### stackcheck: node-1: no findings\n"


def test_verbose_adds_what_was_seen() -> None:
    assert "- nccl: `2.99.1`, `2.27.3`" in render(hard_report(), Options(verbose=True))
