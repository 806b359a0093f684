"""The only way out to the network: bounded in requests, bytes, time and redirects, polite, and cached.

Bodies are unpacked here and not by httpx, so that a small answer cannot become a large one. A redirect to another host is refused:
whoever asked one host for facts did not ask another. Credentials go to the host they are for, and into no message.
"""

from __future__ import annotations

import hashlib
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import urljoin, urlsplit, urlunsplit

import httpx

from stackcheck.harvest.cache import Cache, Kept
from stackcheck.harvest.interface import AbsentError, BudgetError, HarvestError

_REDIRECTS: Final = 5
_TRIES: Final = 4
_LONGEST_WAIT: Final = 60.0  # seconds, whatever Retry-After asks for
_RETRIED: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_MEANING: Final = {
    401: "asks for credentials (401)",
    403: "refuses (403)",
    407: "the proxy asks for credentials (407)",
    416: "does not give that part of the file (416)",
    429: "asks for fewer requests (429)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one harvest: bytes of one answer, seconds of one request, requests of the whole run."""

    size: int = 64_000_000
    seconds: float = 120.0
    requests: int = 1_500
    at_once: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A body with the headers that matter; `cached` if nothing had changed upstream."""

    body: bytes
    status: int
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    cached: bool = False

    @property
    def content_type(self) -> str:
        """The content type without its parameters."""
        return self.headers.get("content-type", "")


Credentials = Callable[[str], tuple[str, str] | None]
"""Host to user and password, or None."""


def nobody(_host: str) -> None:
    """Know no credentials."""


class Client:
    """Fetches bytes; one per harvest, shared by its threads."""

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        cache: Cache | None = None,
        transport: httpx.BaseTransport | None = None,
        proxy: str = "",
        ca: str = "",
        credentials: Credentials = nobody,
        sleep: Callable[[float], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        """Build the client; `transport`, `sleep` and `clock` are seams for tests and for special networks.

        Raises:
            HarvestError: the CA bundle or the proxy cannot be used.
        """
        self.limits = limits or Limits()
        self.sent = 0
        self._cache = cache
        self._credentials = credentials
        self._sleep, self._clock, self._progress = sleep or time.sleep, clock, progress
        self._lock = threading.Lock()
        self._gate = threading.BoundedSemaphore(self.limits.at_once)
        try:
            self._http = httpx.Client(
                transport=transport,
                proxy=(proxy or None) if transport is None else None,
                verify=_context(ca) if ca else True,
                timeout=httpx.Timeout(20.0, connect=15.0),
                follow_redirects=False,
                headers={"User-Agent": "stackcheck", "Accept-Encoding": "gzip"},
            )
        except (OSError, ValueError, httpx.HTTPError) as fault:
            raise HarvestError(
                f"cannot set up the network: {fault}", fix="check proxy and CA bundle"
            ) from fault

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(
        self,
        url: str,
        *,
        accept: str = "*/*",
        headers: Mapping[str, str] | None = None,
        most: int | None = None,
        lasting: bool = False,
        conditional: bool = True,
        elsewhere: bool = False,
        tolerate: frozenset[int] = frozenset(),
    ) -> Answer:
        """Return the body of an address.

        A `lasting` answer never changes (a file named by its digest): the cache alone is asked if it has it. Any other is asked for
        with the validators of the cached answer. `most` bounds the bytes of this body. `elsewhere` follows redirects to other hosts over
        https, without credentials: only for bodies whose digest is known. Statuses to `tolerate` are answers like any other.

        Raises:
            AbsentError: 404 or 410.
            BudgetError: the run's requests are used up.
            HarvestError: any other refusal, or a limit that was passed.
        """
        kept = self._cache.get(f"{accept} {url}") if self._cache and conditional else None
        if kept is not None and lasting:
            return _from_cache(kept, url)
        asked = {"Accept": accept, **(headers or {})}
        if kept is not None:
            asked |= {"If-None-Match": kept.etag} if kept.etag else {}
            asked |= {"If-Modified-Since": kept.modified} if kept.modified else {}
        answer = self._persist(url, asked, most or self.limits.size, elsewhere=elsewhere, tolerate=tolerate)
        if answer.status in tolerate:
            return answer
        if answer.status == 304 and kept is not None:
            return _from_cache(kept, url)
        if answer.status != 200:
            raise HarvestError(f"answered {answer.status} where 200 was due", where=shown(url))
        if self._cache and conditional:
            told = answer.headers
            self._cache.put(
                f"{accept} {url}",
                Kept(
                    body=answer.body,
                    content_type=answer.content_type,
                    etag=told.get("etag", ""),
                    modified=told.get("last-modified", ""),
                ),
            )
        return answer

    def part(self, url: str, first: int, length: int) -> bytes:
        """Return `length` bytes of a file, from byte `first` on.

        Raises:
            HarvestError: the server gives another part, or the whole file instead.
        """
        asked = {"Range": f"bytes={first}-{first + length - 1}", "Accept-Encoding": "identity"}
        answer = self._persist(url, asked, length)
        if answer.status != 206:
            raise HarvestError("gives no parts of files", where=shown(url), fix="use an index that does")
        stated = answer.headers.get("content-range", "").partition("/")[0].replace("bytes ", "", 1)
        if stated != f"{first}-{first + length - 1}" or len(answer.body) != length:
            raise HarvestError(f"gave bytes {stated[:40] or '?'}, not those asked for", where=shown(url))
        return answer.body

    def length(self, url: str) -> int:
        """Return the size of a file by a HEAD request.

        Raises:
            HarvestError: the server does not say.
        """
        stated = self._persist(url, {"Accept-Encoding": "identity"}, 0, method="HEAD").headers
        text = stated.get("content-length", "")
        if not text.isdigit():
            raise HarvestError("does not say how long the file is", where=shown(url))
        return int(text)

    def stream(
        self, url: str, *, size: int, digest: str, headers: Mapping[str, str] | None = None
    ) -> Iterator[bytes]:
        """Yield the bytes of a large file whose size and sha256 digest are known; redirects may lead to other hosts.

        Raises:
            HarvestError: more or other bytes arrive. What was yielded before that must not be trusted.
        """
        asked = dict(headers or {}) | {"Accept-Encoding": "identity"}
        for _ in range(_REDIRECTS + 1):
            self._count()
            with self._gate, self._http.stream("GET", _bare(url), headers=asked) as response:
                if response.status_code in (301, 302, 303, 307, 308):
                    target = urljoin(url, response.headers.get("location", ""))
                    if _origin(target) != _origin(url):
                        asked.pop("Authorization", None)
                    url = target
                    continue
                _usable(Answer(body=b"", status=response.status_code, url=url), url)
                yield from _exactly(response.iter_raw(), size, digest, url)
                return
        raise HarvestError("redirects in a circle", where=shown(url))

    def _persist(
        self,
        url: str,
        headers: Mapping[str, str],
        most: int,
        *,
        method: str = "GET",
        elsewhere: bool = False,
        tolerate: frozenset[int] = frozenset(),
    ) -> Answer:
        """Ask until it answers: again after a pause where that may help."""
        for tries in range(1, _TRIES + 1):
            try:
                answer = self._follow(method, url, headers, most, elsewhere)
            except httpx.HTTPError as fault:
                if tries == _TRIES:
                    reason = type(fault).__name__ + (f": {fault}" if str(fault) else "")
                    raise HarvestError(f"cannot be reached ({reason[:200]})", where=shown(url)) from fault
                self._sleep(_pause(tries, ""))
                continue
            if answer.status in _RETRIED and tries < _TRIES:
                self._sleep(_pause(tries, answer.headers.get("retry-after", "")))
                continue
            return answer if answer.status in tolerate else _usable(answer, url)
        raise AssertionError  # the loop returns or raises

    def _follow(
        self, method: str, url: str, headers: Mapping[str, str], most: int, elsewhere: bool
    ) -> Answer:
        asked = dict(headers)
        for _ in range(_REDIRECTS + 1):
            answer = self._once(method, url, asked, most)
            if answer.status not in (301, 302, 303, 307, 308):
                return answer
            target = urljoin(url, answer.headers.get("location", ""))
            if _origin(target) != _origin(url):
                secure = urlsplit(target).scheme == "https" or urlsplit(url).scheme == "http"
                if not (elsewhere and secure):
                    raise HarvestError(
                        f"redirects to {urlsplit(target).scheme}://{(urlsplit(target).hostname or '?')[:80]}",
                        where=shown(url),
                        fix="name that host yourself if you trust it",
                    )
                asked.pop("Authorization", None)
            url = target
        raise HarvestError("redirects in a circle", where=shown(url))

    def _once(self, method: str, url: str, headers: Mapping[str, str], most: int) -> Answer:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise HarvestError("is no address of a web server", where=shown(url))
        self._count()
        if self._progress:
            self._progress(shown(url))
        told = httpx.BasicAuth(parts.username or "", parts.password or "") if parts.username else None
        known = self._credentials(parts.hostname) if told is None and "Authorization" not in headers else None
        auth = told or (httpx.BasicAuth(*known) if known else None)
        with self._gate:
            end = self._clock() + self.limits.seconds
            with self._http.stream(method, _bare(url), headers=dict(headers), auth=auth) as response:
                packed = response.headers.get("content-encoding", "identity").strip().lower()
                wanted = response.status_code in (200, 206) and method == "GET"
                limit = most if wanted else min(most, 100_000) or 100_000
                body = b"".join(self._chunks(response, packed, limit, end, url)) if method == "GET" else b""
                lower = {k.lower(): v for k, v in response.headers.items()}
                return Answer(body=body, status=response.status_code, url=url, headers=lower)

    def _chunks(
        self, response: httpx.Response, packed: str, most: int, end: float, url: str
    ) -> Iterator[bytes]:
        if packed not in ("identity", "gzip"):
            raise HarvestError(
                f"packs its answer as {packed[:30]!r}, which was not asked for", where=shown(url)
            )
        unpacker = zlib.decompressobj(31) if packed == "gzip" else None
        held = 0
        for chunk in response.iter_raw():
            if self._clock() > end:
                raise HarvestError(f"took longer than {self.limits.seconds:.0f} s", where=shown(url))
            piece = chunk if unpacker is None else _unpacked(unpacker, chunk, most - held + 1, url)
            held += len(piece)
            if held > most:
                raise HarvestError(f"answers with more than {most} bytes", where=shown(url))
            yield piece
        if unpacker is not None and held and not unpacker.eof:
            raise HarvestError("its packed answer is cut off", where=shown(url))

    def _count(self) -> None:
        with self._lock:
            if self.sent >= self.limits.requests:
                raise BudgetError(
                    f"{self.sent} requests are used up",
                    fix="run it again: what was read is kept, or raise --requests",
                )
            self.sent += 1


def _unpacked(unpacker: zlib._Decompress, chunk: bytes, most: int, url: str) -> bytes:
    try:
        return unpacker.decompress(chunk, max(1, most))
    except zlib.error as fault:
        raise HarvestError(f"its packed answer cannot be unpacked: {fault}", where=shown(url)) from fault


def _exactly(chunks: Iterator[bytes], size: int, digest: str, url: str) -> Iterator[bytes]:
    held, summed = 0, hashlib.sha256()
    try:
        for chunk in chunks:
            held += len(chunk)
            summed.update(chunk)
            if held > size:
                raise HarvestError(f"sends more than the {size} bytes stated", where=shown(url))
            yield chunk
    except httpx.HTTPError as fault:
        raise HarvestError(f"broke off ({type(fault).__name__})", where=shown(url)) from fault
    if held != size or f"sha256:{summed.hexdigest()}" != digest:
        raise HarvestError(f"gave other bytes than {digest[:19]}... stands for", where=shown(url))


def _usable(answer: Answer, url: str) -> Answer:
    if answer.status in (404, 410):
        raise AbsentError(f"is not there ({answer.status})", where=shown(url))
    if answer.status >= 400:
        said = _MEANING.get(answer.status, f"fails ({answer.status})")
        fix = "check pip's or uv's credentials" if answer.status in (401, 403) else "try later"
        raise HarvestError(said, where=shown(url), fix=fix)
    return answer


def _from_cache(kept: Kept, url: str) -> Answer:
    return Answer(
        body=kept.body, status=200, url=url, headers={"content-type": kept.content_type}, cached=True
    )


def _pause(tries: int, asked: str) -> float:
    """Return the seconds to wait: what the server asks for, within reason, or 1, 2, 4."""
    return min(float(asked), _LONGEST_WAIT) if asked.isdigit() else float(2 ** (tries - 1))


def shown(url: str) -> str:
    """Return an address without user, password, query and fragment, as it may stand in a message."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))[:200]


def _origin(url: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port; going from http to https on the same host counts as staying."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    return "http" if parts.scheme in ("http", "https") else parts.scheme, parts.hostname or "", port


def _bare(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, parts.query, ""))


def _context(ca: str) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca)
