"""The way to the network: whatever a server does, there is one line, in bounded time and memory."""

from __future__ import annotations

import gzip
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from stackcheck.harvest.cache import Cache, Kept
from stackcheck.harvest.client import Client, Limits, shown
from stackcheck.harvest.interface import AbsentError, BudgetError, HarvestError
from tests.harvest.upstream import Upstream, body, in_turn, serving, status


def client(tmp_path: Path | None = None, **more: object) -> tuple[Client, list[float]]:
    waits: list[float] = []
    limits = Limits(**{"size": 1_000_000, "seconds": 5.0, **more})  # type: ignore[arg-type]
    cache = Cache(tmp_path) if tmp_path else None
    return Client(limits=limits, cache=cache, sleep=waits.append), waits


def test_a_body_arrives_as_it_was_sent(upstream: Upstream) -> None:
    upstream.routes["/a"] = body(b"hello", "text/plain")
    with client()[0] as c:
        answer = c.get(f"{upstream.url}/a")
    assert (answer.body, answer.content_type, answer.cached) == (b"hello", "text/plain", False)


@pytest.mark.parametrize(
    ("code", "said"),
    [(401, "credentials"), (403, "refuses"), (418, "fails (418)"), (407, "proxy")],
)
def test_a_refusal_is_said_at_once_and_not_tried_again(upstream: Upstream, code: int, said: str) -> None:
    upstream.routes["/a"] = status(code)
    with client()[0] as c, pytest.raises(HarvestError) as caught:
        c.get(f"{upstream.url}/a")
    assert said in str(caught.value)
    assert len(upstream.asked) == 1


def test_what_is_not_there_is_told_apart(upstream: Upstream) -> None:
    with client()[0] as c, pytest.raises(AbsentError):
        c.get(f"{upstream.url}/nothing")


def test_a_busy_server_is_asked_again_after_the_pause_it_wants(upstream: Upstream) -> None:
    upstream.routes["/a"] = in_turn(status(429, Retry_After="7"), status(503), body(b"ok"))
    c, waits = client()
    with c:
        assert c.get(f"{upstream.url}/a").body == b"ok"
    assert waits == [7.0, 2.0]


def test_a_server_cannot_make_us_wait_for_hours(upstream: Upstream) -> None:
    upstream.routes["/a"] = in_turn(status(429, Retry_After="999999"), body(b"ok"))
    c, waits = client()
    with c:
        c.get(f"{upstream.url}/a")
    assert waits == [60.0]


def test_a_server_that_stays_broken_is_given_up(upstream: Upstream) -> None:
    upstream.routes["/a"] = status(502)
    with client()[0] as c, pytest.raises(HarvestError, match="fails \\(502\\)"):
        c.get(f"{upstream.url}/a")
    assert len(upstream.asked) == 4


def test_a_redirect_on_the_same_host_is_followed_and_to_another_refused(upstream: Upstream) -> None:
    upstream.routes["/a"] = status(301, Location="/b")
    upstream.routes["/b"] = body(b"there")
    upstream.routes["/c"] = status(302, Location="http://localhost.example/secret?token=1")
    upstream.routes["/d"] = status(302, Location="/d")
    with client()[0] as c:
        assert c.get(f"{upstream.url}/a").body == b"there"
        with pytest.raises(HarvestError, match=r"redirects to http://localhost\.example"):
            c.get(f"{upstream.url}/c")
        with pytest.raises(HarvestError, match="circle"):
            c.get(f"{upstream.url}/d")


def test_too_long_a_body_is_cut_off_while_it_arrives(upstream: Upstream) -> None:
    def endless(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        for _ in range(10_000):
            request.wfile.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")

    upstream.routes["/a"] = endless
    with client()[0] as c, pytest.raises(HarvestError, match="more than 1000000 bytes"):
        c.get(f"{upstream.url}/a")


def test_a_small_packed_answer_cannot_become_a_large_one(upstream: Upstream) -> None:
    bomb = gzip.compress(b"\0" * 300_000_000)
    assert len(bomb) < 400_000
    upstream.routes["/a"] = body(bomb, Content_Encoding="gzip")
    with client()[0] as c, pytest.raises(HarvestError, match="more than 1000000 bytes"):
        c.get(f"{upstream.url}/a")


def test_a_packed_answer_is_unpacked_and_a_damaged_one_refused(upstream: Upstream) -> None:
    whole = gzip.compress(b"text" * 50_000)
    upstream.routes["/a"] = body(whole, Content_Encoding="gzip")
    upstream.routes["/cut"] = body(whole[:-20], Content_Encoding="gzip")
    upstream.routes["/no"] = body(b"not packed", Content_Encoding="gzip")
    upstream.routes["/odd"] = body(b"x", Content_Encoding="br")
    with client()[0] as c:
        assert c.get(f"{upstream.url}/a").body == b"text" * 50_000
        for path, said in (("cut", "cut off"), ("no", "unpacked"), ("odd", "not asked for")):
            with pytest.raises(HarvestError, match=said):
                c.get(f"{upstream.url}/{path}")


def test_a_body_that_drips_is_given_up_when_its_time_is_over(upstream: Upstream) -> None:
    def dripping(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "1000")
        request.end_headers()
        for _ in range(1000):
            request.wfile.write(b"x")
            request.wfile.flush()
            time.sleep(0.05)

    upstream.routes["/a"] = dripping
    start = time.monotonic()
    with client(seconds=0.4)[0] as c, pytest.raises(HarvestError, match="longer than"):
        c.get(f"{upstream.url}/a")
    assert time.monotonic() - start < 4


def test_nobody_at_the_address_is_one_line(upstream: Upstream) -> None:
    with serving() as gone:
        address = gone.url
    c, waits = client()
    with c, pytest.raises(HarvestError, match="cannot be reached"):
        c.get(f"{address}/a")
    assert len(waits) == 3


def test_the_requests_of_a_run_are_counted(upstream: Upstream) -> None:
    upstream.routes["/a"] = body(b"ok")
    with client(requests=2)[0] as c:
        c.get(f"{upstream.url}/a")
        c.get(f"{upstream.url}/a")
        with pytest.raises(BudgetError, match="2 requests"):
            c.get(f"{upstream.url}/a")


def test_what_has_not_changed_is_not_sent_again(upstream: Upstream, tmp_path: Path) -> None:
    upstream.routes["/a"] = body(b"page", "text/html", etag='"1"')
    for cached in (False, True):
        with client(tmp_path)[0] as c:
            answer = c.get(f"{upstream.url}/a")
        assert (answer.body, answer.content_type, answer.cached) == (b"page", "text/html", cached)
    assert upstream.asked[1][2]["if-none-match"] == '"1"'


def test_a_lasting_answer_is_not_even_asked_for_again(upstream: Upstream, tmp_path: Path) -> None:
    upstream.routes["/a"] = body(b"by digest")
    for _ in range(2):
        with client(tmp_path)[0] as c:
            assert c.get(f"{upstream.url}/a", lasting=True).body == b"by digest"
    assert len(upstream.asked) == 1


def test_a_damaged_cache_is_as_good_as_none(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("k", Kept(body=b"data", etag="e"))
    assert cache.get("k") == Kept(body=b"data", etag="e")
    for path in tmp_path.glob("*.body"):
        path.write_bytes(b"other")
    assert cache.get("k") is None
    cache.put("k", Kept(body=b"data"))
    for path in tmp_path.glob("*.json"):
        path.write_text("[" * 5000)
    assert cache.get("k") is None
    assert cache.get("../../etc/passwd") is None


def test_ranges_are_given_exactly_or_not_at_all(upstream: Upstream) -> None:
    upstream.routes["/a"] = body(bytes(range(100)))

    def whole(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "5")
        request.end_headers()
        request.wfile.write(b"whole")

    def other(request: BaseHTTPRequestHandler) -> None:
        request.send_response(206)
        request.send_header("Content-Range", "bytes 0-4/100")
        request.send_header("Content-Length", "5")
        request.end_headers()
        request.wfile.write(b"other")

    upstream.routes |= {"/whole": whole, "/other": other, "/416": status(416)}
    with client()[0] as c:
        assert c.part(f"{upstream.url}/a", 10, 5) == bytes(range(10, 15))
        for path, said in (("whole", "no parts"), ("other", "not those asked for"), ("416", "416")):
            with pytest.raises(HarvestError, match=said):
                c.part(f"{upstream.url}/{path}", 10, 5)
        assert c.length(f"{upstream.url}/a") == 100


def test_credentials_go_to_their_host_and_into_no_message(upstream: Upstream) -> None:
    upstream.routes["/a"] = body(b"ok")
    c = Client(credentials=lambda host: ("user", "pa55word") if host == "127.0.0.1" else None)
    with c:
        c.get(f"{upstream.url}/a")
        with pytest.raises(HarvestError) as caught:
            c.get(upstream.url.replace("//", "//me:pa55word@") + "/b?token=pa55word")
    assert upstream.asked[0][2]["authorization"].startswith("Basic ")
    assert "pa55word" not in str(caught.value)
    assert shown("https://u:p@h/x?y#z") == "https://h/x"


def test_only_web_addresses_are_asked() -> None:
    with client()[0] as c:
        for url in ("file:///etc/passwd", "ftp://h/x", "/etc/passwd", "http:///x"):
            with pytest.raises(HarvestError, match="no address"):
                c.get(url)
