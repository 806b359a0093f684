"""A web server on loopback that tests fill with answers, and wheels made on the spot."""

from __future__ import annotations

import io
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Handler = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Upstream:
    """The server's address, its routes and what was asked of it."""

    url: str = ""
    routes: dict[str, Handler] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    def paths(self) -> list[str]:
        return [path for _, path, _ in self.asked]


@contextmanager
def serving() -> Iterator[Upstream]:
    upstream = Upstream()

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            upstream.asked.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}))
            handler = upstream.routes.get(self.path.partition("?")[0])
            try:
                (handler or status(404))(self)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.daemon_threads = True
    upstream.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield upstream
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def body(data: bytes, kind: str = "application/octet-stream", **headers: str) -> Handler:
    """Answer 200 with these bytes; `Range` and `If-None-Match` are obeyed."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        etag = headers.get("etag", "")
        if etag and request.headers.get("If-None-Match") == etag:
            return status(304)(request)
        asked = request.headers.get("Range", "")
        part, code, extra = data, 200, {}
        if asked.startswith("bytes="):
            first, _, last = asked.removeprefix("bytes=").partition("-")
            part, code = data[int(first) : int(last) + 1], 206
            extra = {"Content-Range": f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}"}
        request.send_response(code)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(part)))
        for name, value in {**headers, **extra}.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        if request.command == "GET":
            request.wfile.write(part)
        return None

    return answer


def status(code: int, **headers: str) -> Handler:
    """Answer with a status and no body."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(code)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.send_header("Content-Length", "0")
        request.end_headers()

    return answer


def in_turn(*handlers: Handler) -> Handler:
    """Answer with each handler once, then always with the last."""
    left = list(handlers)

    def answer(request: BaseHTTPRequestHandler) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(request)

    return answer


def wheel(name: str, version: str, metadata: str, **more: bytes) -> bytes:
    """Return a wheel with this METADATA and other files."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in more.items():
            archive.writestr(path, data)
        archive.writestr(f"{name}-{version}.dist-info/METADATA", metadata)
        archive.writestr(f"{name}-{version}.dist-info/WHEEL", "Wheel-Version: 1.0\n")
    return held.getvalue()


def core(
    name: str, version: str, *requires: str, python: str = ">=3.10", extras: tuple[str, ...] = ()
) -> str:
    """Return the text of a METADATA file."""
    lines = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", f"Requires-Python: {python}"]
    lines += [f"Provides-Extra: {e}" for e in extras]
    lines += [f"Requires-Dist: {r}" for r in requires]
    return "\n".join(lines) + "\n\nA description.\nRequires-Dist: not-one==1\n"
