"""Index, credentials, proxy and CA come from where pip and uv have them, in a documented order."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stackcheck.harvest.interface import HarvestError
from stackcheck.harvest.settings import Settings, read


def never() -> str:
    raise AssertionError("pip's default was asked for")


def settings(tmp_path: Path, index: str = "", **environ: str) -> Settings:
    base = {"HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path / "xdg")}
    return read({**base, **environ}, index=index, prefix=str(tmp_path / "venv"), default=never)


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_order_is_flag_pip_variable_uv_variable_uv_file_pip_file(tmp_path: Path) -> None:
    written(tmp_path / ".config/pip/pip.conf", "[global]\nindex-url = https://pipfile.example/simple/\n")
    assert settings(tmp_path).index == "https://pipfile.example/simple"
    written(tmp_path / ".config/uv/uv.toml", '[[index]]\nurl = "https://uvfile.example/s"\ndefault = true\n')
    assert settings(tmp_path).index == "https://uvfile.example/s"
    uv = {"UV_DEFAULT_INDEX": "corp=https://uv.example/s"}
    assert settings(tmp_path, **uv).index == "https://uv.example/s"
    pip = {**uv, "PIP_INDEX_URL": "https://pip.example/s/"}
    assert settings(tmp_path, **pip).index == "https://pip.example/s"
    assert settings(tmp_path, "https://flag.example/s", **pip).index == "https://flag.example/s"


def test_later_files_of_pip_win(tmp_path: Path) -> None:
    written(
        tmp_path / "xdg/pip/pip.conf", "[global]\nindex-url = https://a.example\nproxy = http://p.example:1\n"
    )
    written(tmp_path / ".pip/pip.conf", "[global]\nindex_url = https://b.example\n")
    written(
        tmp_path / "venv/pip.conf", "[download]\nindex-url = https://c.example\n[global]\ncert = /ca.pem\n"
    )
    found = settings(tmp_path)
    assert (found.index, found.proxy, found.ca) == ("https://c.example", "http://p.example:1", "/ca.pem")
    chosen = written(tmp_path / "mine.conf", "[global]\nindex-url = https://d.example\n")
    assert settings(tmp_path, PIP_CONFIG_FILE=str(chosen)).index == "https://d.example"


def test_no_file_counts_when_pip_is_told_so(tmp_path: Path) -> None:
    written(tmp_path / ".pip/pip.conf", "[global]\nindex-url = https://b.example\n")
    with pytest.raises(AssertionError, match="default"):
        settings(tmp_path, PIP_CONFIG_FILE=os.devnull)


def test_the_default_is_that_of_the_installed_pip() -> None:
    found = read({"HOME": "/nonexistent", "XDG_CONFIG_DIRS": "/nonexistent", "PIP_CONFIG_FILE": os.devnull})
    assert found.index.startswith("https://")
    assert found.origin == "pip's default"


def test_credentials_come_from_the_address_or_netrc_and_for_that_host_only(tmp_path: Path) -> None:
    written(tmp_path / ".netrc", "machine n.example login me password secret\n").chmod(0o600)
    found = settings(tmp_path, "https://you:word@i.example/s")
    assert found.credentials("i.example") == ("you", "word")
    assert found.credentials("n.example") == ("me", "secret")
    assert found.credentials("files.example") is None


@pytest.mark.parametrize("text", ["no section\n", "[global\nindex-url", "\0\1\2"])
def test_a_damaged_file_is_one_line(tmp_path: Path, text: str) -> None:
    written(tmp_path / ".pip/pip.conf", text)
    with pytest.raises(HarvestError, match=r"pip\.conf"):
        settings(tmp_path)
    (tmp_path / ".pip/pip.conf").unlink()
    written(tmp_path / ".config/uv/uv.toml", "[[index\n")
    with pytest.raises(HarvestError, match=r"uv\.toml"):
        settings(tmp_path)


@pytest.mark.parametrize("index", ["file:///opt/simple", "ftp://h/s", "simple"])
def test_an_index_that_is_no_web_address_is_refused(tmp_path: Path, index: str) -> None:
    with pytest.raises(HarvestError, match="no web address"):
        settings(tmp_path, index)
