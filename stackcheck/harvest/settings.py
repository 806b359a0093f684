"""Index, credentials, proxy and CA as the user gave them to pip or uv: whoever can install packages can harvest them.

Order, first found wins: the flag; PIP_INDEX_URL; UV_DEFAULT_INDEX, UV_INDEX_URL; uv.toml (`[[index]]` with `default`, `index-url`);
pip's files, from the one named by PIP_CONFIG_FILE over site, user and system; the default of the installed pip. Formats:
https://pip.pypa.io/en/stable/topics/configuration/ and https://docs.astral.sh/uv/concepts/configuration-files/.
"""

from __future__ import annotations

import configparser
import netrc
import os
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from stackcheck.harvest.interface import HarvestError

_LARGEST = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where and how to ask for packages. `index` ends without a slash and may hold credentials: never print it."""

    index: str
    proxy: str = ""
    ca: str = ""
    netrc: str = ""
    origin: str = ""
    """Where the index was found, for people."""

    def credentials(self, host: str) -> tuple[str, str] | None:
        """Return the user and password for a host: from the index address, or from netrc."""
        parts = urlsplit(self.index)
        if parts.hostname == host and parts.username:
            return parts.username, parts.password or ""
        return _from_netrc(self.netrc, host)


def read(
    environ: Mapping[str, str],
    *,
    index: str = "",
    prefix: str = sys.prefix,
    default: Callable[[], str] | None = None,
) -> Settings:
    """Return the settings of this user.

    Raises:
        HarvestError: no index is configured and no pip is installed that knows one, or a configuration file is damaged.
    """
    pip = _pip(environ, prefix)
    found, origin = index, "--index-url"
    for candidate, where in (
        (environ.get("PIP_INDEX_URL", ""), "PIP_INDEX_URL"),
        (_last_url(environ.get("UV_DEFAULT_INDEX", "")), "UV_DEFAULT_INDEX"),
        (_last_url(environ.get("UV_INDEX_URL", "")), "UV_INDEX_URL"),
        (_uv_index(environ), "uv.toml"),
        (pip.get("index-url", ""), "pip's configuration"),
    ):
        if not found and candidate:
            found, origin = candidate, where
    if not found:
        found, origin = (default or default_index)(), "pip's default"
    if urlsplit(found).scheme not in ("http", "https"):
        raise HarvestError("the index is no web address", where=origin, fix="give --index-url https://...")
    proxy, ca = network(environ, pip)
    home = Path(environ.get("HOME") or "~").expanduser()
    return Settings(
        index=found.rstrip("/"),
        proxy=proxy,
        ca=ca,
        netrc=environ.get("NETRC") or str(home / ".netrc"),
        origin=origin,
    )


def network(environ: Mapping[str, str], pip: Mapping[str, str] | None = None) -> tuple[str, str]:
    """Return the proxy and the CA bundle of this user, each empty if there is none."""
    pip = _pip(environ, sys.prefix) if pip is None else pip
    ca = environ.get("PIP_CERT") or pip.get("cert") or ""
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        ca = ca or environ.get(name, "")
    return environ.get("PIP_PROXY") or pip.get("proxy") or "", ca


def default_index() -> str:
    """Return the index that the installed pip uses when nobody configured one.

    Raises:
        HarvestError: there is no pip, or it keeps its default elsewhere.
    """
    try:
        found = import_module("pip._internal.models.index").PyPI.simple_url
    except (ImportError, AttributeError) as fault:
        raise HarvestError(
            "no package index is configured", fix="set PIP_INDEX_URL, or give --index-url"
        ) from fault
    return str(found)


def _pip(environ: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return pip's settings for downloads, later files over earlier ones, as pip reads them."""
    chosen = environ.get("PIP_CONFIG_FILE", "")
    if chosen == os.devnull:
        return {}
    home = Path(environ.get("HOME") or "~").expanduser()
    system = (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    user = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    files = [*(Path(d) / "pip" / "pip.conf" for d in system), Path("/etc/pip.conf")]
    files += [home / ".pip" / "pip.conf", user / "pip" / "pip.conf", Path(prefix) / "pip.conf"]
    files += [Path(chosen)] if chosen else []
    found: dict[str, str] = {}
    for path in files:
        parser = configparser.RawConfigParser()
        text = _text(path)
        if not text:
            continue
        try:
            parser.read_string(text)
        except configparser.Error as fault:
            raise HarvestError(f"no pip configuration: {fault.message[:80]!r}", where=str(path)) from fault
        for section in ("global", "download"):
            if parser.has_section(section):
                found.update({k.replace("_", "-"): v.strip() for k, v in parser.items(section) if v.strip()})
    return found


def _uv_index(environ: Mapping[str, str]) -> str:
    home = Path(environ.get("HOME") or "~").expanduser()
    user = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    chosen = environ.get("UV_CONFIG_FILE", "")
    for path in [Path(chosen)] if chosen else [user / "uv" / "uv.toml", Path("/etc/uv/uv.toml")]:
        text = _text(path)
        if not text:
            continue
        try:
            body: dict[str, Any] = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as fault:
            raise HarvestError(f"no uv configuration: {fault}", where=str(path)) from fault
        rows = body.get("index")
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict) and row.get("default") is True:
                return str(row.get("url", ""))
        pip = body.get("pip")
        inner = pip.get("index-url") if isinstance(pip, dict) else None
        if body.get("index-url") or inner:
            return str(body.get("index-url") or inner)
    return ""


def _last_url(text: str) -> str:
    """Return the address of `name=https://...`, the form uv takes."""
    name, equals, url = text.strip().partition("=")
    return url if equals and "/" not in name else text.strip()


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            return ""
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _from_netrc(path: str, host: str) -> tuple[str, str] | None:
    try:
        found = netrc.netrc(path).authenticators(host)
    except (OSError, netrc.NetrcParseError):
        return None
    return (found[0], found[2] or "") if found else None
