"""The web view in a real browser: the page loads, a key changes what is shown, a picture is kept."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

aiohttp = pytest.importorskip("aiohttp", reason="textual-serve is not installed")
pytest.importorskip("textual_serve", reason="textual-serve is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def running(command: list[str], port: int, path: str) -> Iterator[None]:
    """Run a server until the end of the block, which begins when it answers on a port of this machine."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            assert process.poll() is None, command
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=2):
                    break
            except OSError:
                import time

                time.sleep(0.1)
        yield
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(15)


LISTENER = """
window.seen = "";
const Plain = window.WebSocket;
window.WebSocket = class extends Plain {
  constructor(...words) {
    super(...words);
    this.addEventListener("message", async (event) => {
      const data = event.data;
      window.seen += typeof data === "string" ? data : new TextDecoder().decode(
        data instanceof Blob ? await data.arrayBuffer() : data);
    });
  }
};
"""
"""Keeps everything that the page's web socket receives, as text."""


class Browser:
    """One page of a browser, by the DevTools protocol."""

    def __init__(self, wire: Any) -> None:
        self.wire = wire
        self.number = 0

    async def call(self, method: str, **params: Any) -> Any:
        self.number += 1
        await self.wire.send_json({"id": self.number, "method": method, "params": params})
        while True:
            message = json.loads((await asyncio.wait_for(self.wire.receive(), 30)).data)
            if message.get("id") == self.number:
                assert "error" not in message, message
                return message["result"]

    async def evaluate(self, expression: str) -> Any:
        return (await self.call("Runtime.evaluate", expression=expression))["result"].get("value")

    async def wait_for(self, text: str, seconds: float = 40) -> None:
        async with asyncio.timeout(seconds):
            while not await self.evaluate(f"window.seen.includes({json.dumps(text)})"):
                await asyncio.sleep(0.2)

    async def key(self, key: str) -> None:
        await self.evaluate("window.seen = ''; document.querySelector('.xterm-helper-textarea').focus()")
        await self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        await self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    async def picture(self) -> bytes:
        return base64.b64decode((await self.call("Page.captureScreenshot"))["data"])


@pytest.mark.asyncio
@pytest.mark.filterwarnings("ignore::ResourceWarning")
async def test_the_page_loads_and_a_key_changes_the_view(tmp_path: Path) -> None:
    assert CHROMIUM is not None
    web, debug = free_port(), free_port()
    serving = [sys.executable, "-m", "stackcheck", "tui", "--web", "--port", str(web)]
    browsing = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--window-size=1400,900",
        f"--remote-debugging-port={debug}",
        f"--user-data-dir={tmp_path / 'profile'}",
        "about:blank",
    ]
    with running(serving, web, "/"), running(browsing, debug, "/json/version"):
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{debug}/json/list") as answer:
                tabs = await answer.json(content_type=None)
            address = next(t["webSocketDebuggerUrl"] for t in tabs if t["type"] == "page")
            async with session.ws_connect(address, max_msg_size=0) as wire:
                page = Browser(wire)
                await page.call("Page.enable")
                await page.call("Page.addScriptToEvaluateOnNewDocument", source=LISTENER)
                await page.call("Page.navigate", url=f"http://127.0.0.1:{web}/")
                await page.wait_for("supported")
                await asyncio.sleep(1)  # the browser paints what came
                before = await page.picture()
                await page.key("2")
                await page.wait_for("NVIDIA B200")
                await asyncio.sleep(1)
                after = await page.picture()
    (tmp_path / "web.png").write_bytes(after)
    assert before.startswith(b"\x89PNG")
    assert len(before) > 10_000
    assert before != after
