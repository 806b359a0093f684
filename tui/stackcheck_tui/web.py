"""The same app in a browser, through textual-serve, for this machine alone unless told otherwise."""

from __future__ import annotations

import ipaddress
import sys
from pathlib import Path

from stackcheck.model.errors import UsageError

LOOPBACK = "127.0.0.1"
PORT = 8765


def serve(command: str, *, host: str | None = None, port: int | None = None) -> int:
    """Serve `command` (a command line that starts the app in a terminal) until interrupted; return the exit code.

    Raises:
        UsageError: textual-serve is not installed.
    """
    try:
        from textual_serve.server import Server
    except ImportError as fault:
        raise UsageError(
            "the web view needs textual-serve", fix="install the extra: pip install 'stackcheck[web]'"
        ) from fault
    address, number = host or LOOPBACK, port or PORT
    if not is_loopback(address):
        sys.stderr.write(
            f"stackcheck: warning: {address} can be reached from other machines, and whoever reaches it can read and write "
            "files as you through this app; there is no password\n"
        )
    sys.stderr.write(f"stackcheck: serving on http://{address}:{number} - stop with ctrl+c\n")
    # Our own page, since the one that comes with textual-serve loads a font from another host.
    templates = Path(__file__).parent / "templates"
    Server(command, host=address, port=number, title="stackcheck", templates_path=templates).serve()
    return 0


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own, not to be reached from elsewhere."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
